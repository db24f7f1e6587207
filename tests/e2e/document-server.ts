import { createServer as createPlainServer, type RequestListener } from 'node:http'
import { createServer as createSecureServer } from 'node:https'
import type { AddressInfo } from 'node:net'

/** A client developer's web site: JSON documents at an address on loopback. */
export interface DocumentServer {
  origin: string
  publish(path: string, document: object): void
  /** Stops responding from now on. */
  close(): Promise<void>
}

/** Starts a {@link DocumentServer} on a free port; with a certificate over TLS, as `localhost`. */
export async function startDocumentServer(tls?: { key: string; cert: string }): Promise<DocumentServer> {
  const documents = new Map<string, string>()
  const answer: RequestListener = (request, response) => {
    const document = documents.get(request.url ?? '')
    response.writeHead(document === undefined ? 404 : 200, { 'content-type': 'application/json' })
    response.end(document)
  }
  const server = tls ? createSecureServer(tls, answer) : createPlainServer(answer)
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve)
  })
  const { port } = server.address() as AddressInfo
  return {
    origin: tls ? `https://localhost:${port}` : `http://127.0.0.1:${port}`,
    publish: (path, document) => void documents.set(path, JSON.stringify(document)),
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}
