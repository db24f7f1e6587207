import type { IncomingMessage, ServerResponse } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { createSelfSignedCertificate } from '../server/self-signed-certificate.ts'

/** A site's response to a request for a page. */
export interface SampleAnswer {
  setCookies?: readonly string[]
  /** Markup in its head. */
  head?: string
  /** Runs in the page. */
  script?: string
}

/** Web apps defined by the tests, over https on every host name that leads to `port`. */
export interface SampleSite {
  port: number
  /**
   * Makes `HOST` a site that answers the requests for a page with these in turn, repeating the last. A site without
   * any is an empty page.
   */
  add(host: string, ...answers: readonly SampleAnswer[]): void
  close(): Promise<void>
}

/** Starts it for host names below `domain`. */
export async function startSampleSite(domain: string): Promise<SampleSite> {
  const sites = new Map<string, SampleAnswer[]>()
  const certificate = createSelfSignedCertificate([`*.${domain}`])
  // Long sessions make long headers.
  const server = createTlsServer({ ...certificate, maxHeaderSize: 256 * 1024 }, answer)
  server.listen(0, '127.0.0.1')
  await new Promise((resolve) => server.once('listening', resolve))

  function answer(request: IncomingMessage, response: ServerResponse): void {
    const path = new URL(request.url ?? '/', 'https://unused').pathname
    if (path !== '/') {
      response.writeHead(404).end()
      return
    }
    const answers = sites.get((request.headers.host ?? '').replace(/:\d+$/, '')) ?? []
    const {
      setCookies = [],
      head = '',
      script = '',
    } = (answers.length > 1 ? answers.shift() : answers[0]) ?? {}
    response.setHeader('content-type', 'text/html; charset=utf-8')
    if (setCookies.length > 0) response.setHeader('set-cookie', [...setCookies])
    response.end(
      `<!doctype html><html lang="en"><title>A web app</title>${head}<h1>A web app</h1><textarea></textarea><script>${script}</script>`,
    )
  }

  return {
    port: (server.address() as AddressInfo).port,
    add: (host, ...answers) => void sites.set(host, [...answers]),
    async close() {
      const closed = new Promise((resolve) => server.close(resolve))
      server.closeAllConnections()
      await closed
    },
  }
}
