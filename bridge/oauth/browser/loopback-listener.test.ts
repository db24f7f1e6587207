import { request as httpRequest } from 'node:http'
import { connect, createServer, type Server } from 'node:net'
import { networkInterfaces } from 'node:os'
import { afterEach, describe, expect, it } from 'vitest'
import {
  type LoopbackListener,
  type LoopbackListenerConfig,
  openLoopbackListener,
} from './loopback-listener.ts'
import { isReachable, visit } from '../../../tests/support/bridge/oauth/scripted-browser.ts'

const open: LoopbackListener[] = []
const others: Server[] = []

afterEach(async () => {
  await Promise.all(open.splice(0).map((listener) => listener.close()))
  await Promise.all(others.splice(0).map((server) => new Promise((resolve) => server.close(resolve))))
})

async function listen(
  changes: Partial<LoopbackListenerConfig['callback']> = {},
  more: Partial<LoopbackListenerConfig> = {},
): Promise<LoopbackListener> {
  const listener = await openLoopbackListener({
    callback: { host: '127.0.0.1', port: undefined, path: '/oauth/callback', ...changes },
    preferredPort: undefined,
    state: 'right',
    ...more,
  })
  open.push(listener)
  return listener
}

/** Occupies a port and returns it. */
async function occupy(host: string, port = 0): Promise<number> {
  const server = createServer((socket) => socket.destroy())
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, host, resolve)
  })
  others.push(server)
  const address = server.address()
  return typeof address === 'object' ? (address?.port ?? 0) : 0
}

const portOf = ({ redirectUri }: LoopbackListener): number => Number(new URL(redirectUri).port)
const hasIpv6 = Object.values(networkInterfaces()).some((addresses) =>
  addresses?.some(({ address }) => address === '::1'),
)

/** Returns whether the listener has its response. */
async function isAnswered(listener: LoopbackListener): Promise<boolean> {
  const nothing = new URLSearchParams('nothing')
  return (await Promise.race([listener.response, Promise.resolve(nothing)])) !== nothing
}

/** Sends a request that no browser would. */
function send(
  url: string,
  options: { method?: string; host?: string } = {},
): Promise<{ status: number | undefined }> {
  return new Promise((resolve, reject) => {
    const { method = 'GET', host } = options
    const request = httpRequest(url, { method, ...(host === undefined ? {} : { headers: { host } }) })
    request.on('response', (response) => {
      response.resume()
      resolve({ status: response.statusCode })
    })
    request.on('error', reject).end()
  })
}

describe('the address of the listener', () => {
  it.each(['127.0.0.1', '::1'])('the listener binds %s only', async (host) => {
    if (host === '::1' && !hasIpv6) return
    const listener = await listen({ host })
    const shown = host === '::1' ? '[::1]' : host
    expect(listener.redirectUri).toBe(`http://${shown}:${portOf(listener)}/oauth/callback`)
    expect(await isReachable(host, portOf(listener))).toBe(true)
    expect(await isReachable(host === '::1' ? '127.0.0.1' : '::1', portOf(listener))).toBe(false)
  })

  it('the listener binds both addresses for localhost', async () => {
    const listener = await listen({ host: 'localhost' })
    expect(listener.redirectUri).toBe(`http://localhost:${portOf(listener)}/oauth/callback`)
    expect(await isReachable('127.0.0.1', portOf(listener))).toBe(true)
    expect(await isReachable('::1', portOf(listener))).toBe(hasIpv6)
  })

  it('the listener avoids a port of localhost in use on the other address', async () => {
    if (!hasIpv6) return
    const port = await occupy('::1')
    await expect(listen({ host: 'localhost', port })).rejects.toMatchObject({ fault: 'no_callback_port' })
    await expect.poll(() => isReachable('127.0.0.1', port)).toBe(false)
  })

  it('the listener fails on a configured port in use, with the next step', async () => {
    const port = await occupy('127.0.0.1')
    const opened = listen({ port })
    await expect(opened).rejects.toMatchObject({ name: 'OAuthFailure', fault: 'no_callback_port' })
    await expect(opened).rejects.toThrow(new RegExp(`Port ${port} of .* is in use`))
  })

  it('the listener takes the preferred port if it is free, or another one', async () => {
    const first = await listen()
    const second = await listen({}, { preferredPort: portOf(first) })
    expect(portOf(second)).not.toBe(portOf(first))
    await first.close()
    expect(portOf(await listen({}, { preferredPort: portOf(first) }))).toBe(portOf(first))
  })

  it('the listener closes even if a browser waits', async () => {
    const listener = await listen()
    const arriving = visit(`${listener.redirectUri}?state=right&code=1`)
    arriving.catch(() => undefined)
    await listener.response
    await listener.close()
    await expect(arriving).rejects.toThrow()
    await expect.poll(() => isReachable('127.0.0.1', portOf(listener))).toBe(false)
  })
})

describe('the answers of the listener', () => {
  it.each([
    ['a forged state', '?state=wrong&code=1'],
    ['a state that is longer', '?state=right2&code=1'],
    ['no state', '?code=1'],
    ['two states', '?state=right&state=right&code=1'],
    ['a forged error', '?error=access_denied'],
    ['nothing', ''],
  ])('the listener answers %s with 400, and keeps waiting', async (_name, query) => {
    const listener = await listen()
    // Accepted responses get their page only at the end; without the race this would wait for it.
    const taken = listener.response.then(() => ({ status: 'taken for the answer' }))
    const arrival = await Promise.race([visit(listener.redirectUri + query), taken])
    expect(arrival.status).toBe(400)
    expect(await isAnswered(listener)).toBe(false)

    const arriving = visit(`${listener.redirectUri}?state=right&code=1`)
    expect((await listener.response).get('code')).toBe('1')
    await listener.finish({ kind: 'signed_in' })
    expect((await arriving).status).toBe(200)
  })

  it.each<[string, options: { method?: string; host?: string }, path: string, status: number]>([
    ['another path', {}, '/favicon.ico', 404],
    ['a path below', {}, '/oauth/callback/more', 404],
    ['a POST', { method: 'POST' }, '/oauth/callback', 405],
    ['a HEAD', { method: 'HEAD' }, '/oauth/callback', 405],
    ['another name', { host: 'rebound.example' }, '/oauth/callback', 421],
    ['another name of this machine', { host: 'localhost' }, '/oauth/callback', 421],
    ['another port', { host: '127.0.0.1:1' }, '/oauth/callback', 421],
  ])('the listener answers %s with an error, and keeps waiting', async (_name, options, path, status) => {
    const listener = await listen()
    const { origin } = new URL(listener.redirectUri)
    expect(await send(`${origin}${path}?state=right&code=1`, options)).toEqual({ status })
    expect(await isAnswered(listener)).toBe(false)
  })

  it('the listener answers the browser at the end only, without its parameters', async () => {
    const listener = await listen()
    let isOver = false
    const arriving = visit(`${listener.redirectUri}?state=right&code=c0de&iss=i55`)
    void arriving.then(() => (isOver = true))
    await listener.response
    await new Promise((resolve) => setImmediate(resolve))
    expect(isOver).toBe(false)
    await listener.finish({ kind: 'signed_in' })
    const { status, html, headers } = await arriving
    expect(status).toBe(200)
    expect(html).toContain('You are signed in')
    expect(html).not.toMatch(/c0de|i55|right|<script/)
    expect(headers.get('content-security-policy')).toContain("default-src 'none'")
    expect(headers.get('referrer-policy')).toBe('no-referrer')
    expect(headers.get('cache-control')).toBe('no-store')
  })

  it('the listener answers a second callback with the same page, and takes the first', async () => {
    const listener = await listen()
    const first = visit(`${listener.redirectUri}?state=right&code=1`)
    const response = await listener.response
    const second = visit(`${listener.redirectUri}?state=right&code=2`)
    await expect.poll(() => isReachable('127.0.0.1', portOf(listener))).toBe(true)
    await listener.finish({ kind: 'signed_in' })
    const third = await visit(`${listener.redirectUri}?state=right&code=3`)
    expect(response.get('code')).toBe('1')
    for (const { status, html } of [await first, await second, third]) {
      expect(status).toBe(200)
      expect(html).toContain('You are signed in')
    }
  })

  it('the listener does not wait for a browser that has disconnected', async () => {
    const listener = await listen()
    const socket = connect(portOf(listener), '127.0.0.1')
    socket.write(
      `GET /oauth/callback?state=right&code=1 HTTP/1.1\r\nHost: 127.0.0.1:${portOf(listener)}\r\n\r\n`,
    )
    await listener.response
    socket.destroy()
    const before = performance.now()
    await listener.finish({ kind: 'signed_in' })
    expect(performance.now() - before).toBeLessThan(900)
  })

  it('the listener redirects a browser to the second attempt, and answers later ones with the previous state', async () => {
    const target = await listen({ path: '/authorize' }, { state: 'x' })
    await target.finish({ kind: 'signed_in' })
    const listener = await listen()
    const first = visit(`${listener.redirectUri}?state=right&error=invalid_client`)
    await listener.response
    const again = listener.askAgain('second', target.redirectUri)
    expect((await first).url).toBe(target.redirectUri)
    expect((await visit(`${listener.redirectUri}?state=right&code=1`)).url).toBe(target.redirectUri)
    const taken = again.then(() => ({ status: 'taken for the answer' }))
    const forged = await Promise.race([visit(`${listener.redirectUri}?state=wrong&code=1`), taken])
    expect(forged.status).toBe(400)
    const arriving = visit(`${listener.redirectUri}?state=second&code=2`)
    expect((await again).get('code')).toBe('2')
    await listener.finish({ kind: 'signed_in' })
    expect((await arriving).html).toContain('You are signed in')
    expect((await visit(`${listener.redirectUri}?state=right&code=1`)).html).toContain('You are signed in')
  })
})
