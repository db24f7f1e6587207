import { Readable } from 'node:stream'
import { describe, expect, it } from 'vitest'
import { withCookies } from './cookie-jar.ts'
import type { HttpClient, HttpRequest } from './http-client.ts'

/** A client in front of nothing: answers with the `Set-Cookie` lines of `answers` in turn and shows what came. */
function stage(...answers: (string[] | undefined)[]): {
  client: HttpClient
  seen: HttpRequest[]
  later(seconds: number): void
} {
  const seen: HttpRequest[] = []
  let now = 1000
  const inner: HttpClient = {
    send(request) {
      seen.push(request)
      const lines = answers.shift()
      const headers = lines === undefined ? {} : { 'set-cookie': lines }
      return Promise.resolve({ status: 200, headers, body: Readable.from([]) })
    },
    close() {},
  }
  return { client: withCookies(inner, () => now), seen, later: (seconds) => void (now += seconds) }
}

async function cookiesSent(
  stage: { client: HttpClient; seen: HttpRequest[] },
  url: string,
  headers = {},
): Promise<unknown> {
  await stage.client.send({ method: 'GET', url, headers })
  const sent = stage.seen.at(-1)?.headers ?? {}
  return sent['Cookie'] ?? sent['cookie']
}

describe('withCookies', () => {
  it('sends back what it got, to the same origin only', async () => {
    const it = stage(['a=1', 'b=2; Path=/'])
    expect(await cookiesSent(it, 'https://one.example/mcp')).toBeUndefined()
    expect(await cookiesSent(it, 'https://one.example/other')).toBe('a=1; b=2')
    expect(await cookiesSent(it, 'https://one.example:8443/mcp')).toBeUndefined()
    expect(await cookiesSent(it, 'http://one.example/mcp')).toBeUndefined()
    expect(await cookiesSent(it, 'https://sub.one.example/mcp')).toBeUndefined()
  })

  it('does not honour Domain', async () => {
    const it = stage(['a=1; Domain=example; Path=/'])
    await cookiesSent(it, 'https://one.example/')
    expect(await cookiesSent(it, 'https://two.example/')).toBeUndefined()
    expect(await cookiesSent(it, 'https://one.example/')).toBe('a=1')
  })

  it.each([
    ['/mcp', 'https://one.example/mcp', true],
    ['/mcp', 'https://one.example/mcp/deep', true],
    ['/mcp', 'https://one.example/mcp2', false],
    ['/mcp/', 'https://one.example/mcp/deep', true],
    ['/mcp/', 'https://one.example/mcp', false],
    ['/', 'https://one.example/', true],
  ])('Path=%s for %s: %s', async (path, url, sent) => {
    const it = stage([`a=1; Path=${path}`])
    await cookiesSent(it, 'https://one.example/start')
    expect(await cookiesSent(it, url)).toBe(sent ? 'a=1' : undefined)
  })

  it('sends the longer path first, and its own header before', async () => {
    const it = stage(['short=1; Path=/', 'long=2; Path=/mcp'])
    await cookiesSent(it, 'https://one.example/')
    expect(await cookiesSent(it, 'https://one.example/mcp')).toBe('long=2; short=1')
    expect(await cookiesSent(it, 'https://one.example/mcp', { cookie: 'own=0' })).toBe(
      'own=0; long=2; short=1',
    )
    expect(it.seen.at(-1)?.headers).not.toHaveProperty('Cookie')
  })

  it('keeps Secure cookies to https and this computer', async () => {
    for (const [origin, sent] of [
      ['http://one.example', undefined],
      ['http://localhost:1', 'a=1'],
      ['https://one.example', 'a=1'],
    ]) {
      const it = stage(['a=1; Secure; Path=/'])
      await cookiesSent(it, `${origin}/`)
      expect(await cookiesSent(it, `${origin}/`)).toBe(sent)
    }
  })

  it('replaces, expires and removes', async () => {
    const it = stage(
      ['a=1; Path=/; Max-Age=10', 'b=1; Path=/'],
      ['a=2; Path=/; Max-Age=10'],
      ['b=; Path=/; Max-Age=0'],
    )
    await cookiesSent(it, 'https://one.example/')
    expect(await cookiesSent(it, 'https://one.example/')).toBe('a=1; b=1')
    expect(await cookiesSent(it, 'https://one.example/')).toBe('b=1; a=2')
    expect(await cookiesSent(it, 'https://one.example/')).toBe('a=2')
    it.later(10)
    expect(await cookiesSent(it, 'https://one.example/')).toBeUndefined()
  })

  it('keeps a bounded number', async () => {
    const it = stage(Array.from({ length: 60 }, (_, index) => `c${index}=1; Path=/`))
    await cookiesSent(it, 'https://one.example/')
    const sent = String(await cookiesSent(it, 'https://one.example/')).split('; ')
    expect(sent).toHaveLength(50)
    expect(sent).toContain('c59=1')
  })
})
