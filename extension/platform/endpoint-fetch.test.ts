import { once } from 'node:events'
import { createServer, type IncomingMessage, type RequestListener, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { EndpointUnreachableError, type EndpointRequest } from '../core/ports.ts'
import { fetchEndpoint } from './endpoint-fetch.ts'

let server: Server | undefined

async function serve(listener: RequestListener): Promise<string> {
  server = createServer(listener).listen(0, '127.0.0.1')
  await once(server, 'listening')
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`
}

afterEach(() => {
  vi.restoreAllMocks()
  server?.closeAllConnections()
  server?.close()
})

const request = (url: string, others: Partial<EndpointRequest> = {}): EndpointRequest => ({
  url,
  method: 'GET',
  headers: {},
  timeoutMs: 5000,
  ...others,
})

describe('a request of the extension', () => {
  it('a request sends what it was given and returns status, headers and body', async () => {
    let seen: IncomingMessage | undefined
    let body = ''
    const url = await serve((incoming, response) => {
      seen = incoming
      incoming.on('data', (part: Buffer) => (body += part.toString()))
      incoming.on('end', () => {
        response
          .writeHead(401, { 'WWW-Authenticate': 'Bearer error="invalid_token"' })
          .end('no: \u00e4\u{1f309}')
      })
    })
    const headers = { authorization: 'Bearer token-of-a-test', 'content-type': 'application/json' }
    const response = await fetchEndpoint(request(url, { method: 'POST', headers, body: '{"id":1}' }))
    expect([seen?.method, seen?.headers.authorization, body]).toEqual([
      'POST',
      'Bearer token-of-a-test',
      '{"id":1}',
    ])
    expect([response.status, response.body]).toEqual([401, 'no: \u00e4\u{1f309}'])
    expect(response.header('www-authenticate')).toBe('Bearer error="invalid_token"')
    expect(response.header('mcp-session-id')).toBeUndefined()
  })

  it('a request carries no cookies, cache or referrer of the browser', async () => {
    const fetch = vi.spyOn(globalThis, 'fetch').mockResolvedValue(new Response(null, { status: 202 }))
    expect((await fetchEndpoint(request('https://mcp.example.com/mcp'))).body).toBe('')
    expect(fetch.mock.calls[0]?.[1]).toMatchObject({
      credentials: 'omit',
      redirect: 'error',
      cache: 'no-store',
      referrerPolicy: 'no-referrer',
    })
  })

  it('a request follows no redirect', async () => {
    const paths: unknown[] = []
    const url = await serve((incoming, response) => {
      paths.push(incoming.url)
      response.writeHead(307, { Location: '/elsewhere' }).end()
    })
    await expect(fetchEndpoint(request(url))).rejects.toThrow(EndpointUnreachableError)
    expect(paths).toEqual(['/mcp'])
  })

  it('a request reads one megabyte and hangs up', async () => {
    let closed: () => void = () => {}
    const isClosed = new Promise<void>((resolve) => (closed = resolve))
    const url = await serve((_incoming, response) => {
      response.on('close', closed)
      const write = (): void => {
        while (!response.destroyed && response.write('x'.repeat(65_536)));
        if (!response.destroyed) response.once('drain', write)
      }
      write()
    })
    const { body } = await fetchEndpoint(request(url))
    expect(body).toHaveLength(1_000_000)
    await isClosed
  })

  it.each<[string, RequestListener]>([
    ['before the head', () => {}],
    ['within the body', (_incoming, response) => void response.writeHead(200).write('data: {')],
  ])('a request ends at its timeout: %s', async (_when, listener) => {
    const url = await serve(listener)
    await expect(fetchEndpoint(request(url, { timeoutMs: 50 }))).rejects.toThrow(EndpointUnreachableError)
  })

  it('the error of a request without a response reveals nothing of it', async () => {
    const url = await serve(() => {})
    server?.close()
    const headers = { authorization: 'Bearer token-of-a-test' }
    const error: unknown = await fetchEndpoint(request(url, { headers })).catch((reason: unknown) => reason)
    expect(error).toBeInstanceOf(EndpointUnreachableError)
    expect(Object.getOwnPropertyNames(error)).not.toContain('cause')
    expect(String((error as Error).stack)).not.toContain('token-of-a-test')
  })

  it('a request with an invalid header is not sent', async () => {
    const headers = { authorization: 'Bearer a\nb' }
    await expect(fetchEndpoint(request('http://127.0.0.1:9', { headers }))).rejects.toThrow(
      EndpointUnreachableError,
    )
  })
})
