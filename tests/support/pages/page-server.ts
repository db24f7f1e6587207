import { createServer } from 'node:http'

/** A document to serve, with its Content-Security-Policy in production. */
export interface ServedPage {
  document: string
  contentSecurityPolicy: string
}

/** Address of the pages, and a way to stop serving them. */
export interface PageServer {
  urlOf: (name: string) => string
  close: () => Promise<void>
}

/** Serves each page at `/NAME` on a free loopback port, with the policy header, so that a browser enforces it. */
export async function servePages(pages: ReadonlyMap<string, ServedPage>): Promise<PageServer> {
  const server = createServer((request, response) => {
    const page = pages.get((request.url ?? '').slice(1))
    if (page === undefined) {
      response.writeHead(404).end()
      return
    }
    response.writeHead(200, {
      'content-type': 'text/html; charset=utf-8',
      'content-security-policy': page.contentSecurityPolicy,
      'referrer-policy': 'no-referrer',
    })
    response.end(page.document)
  })
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve)
  })
  const address = server.address()
  if (address === null || typeof address === 'string') throw new TypeError('not listening on a port')
  return {
    urlOf: (name) => `http://127.0.0.1:${address.port}/${name}`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}
