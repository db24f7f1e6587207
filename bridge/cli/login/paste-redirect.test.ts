import { PassThrough } from 'node:stream'
import { describe, expect, it, vi } from 'vitest'
import { serveHttp, testClient } from '../../../tests/support/bridge/http/server-fixture.ts'
import type { HttpClient } from '../../http/http-client.ts'
import { createSignal } from '@drawbridge/shared/async.ts'
import { pasteRedirect } from './paste-redirect.ts'

const authorize = (redirectUri: string): string =>
  `https://as.example/authorize?response_type=code&redirect_uri=${encodeURIComponent(redirectUri)}`

/** Pastes a line; returns the URL that is called for it. */
async function calledFor(authorizationUrl: string, pasted: string): Promise<string | undefined> {
  let called: string | undefined
  const send: HttpClient['send'] = async ({ url }) => {
    called = url
    throw new Error('Nothing listens there.')
  }
  const { given, give: isTold } = createSignal()
  const input = new PassThrough()
  input.end(`${pasted.trim()}\n`)
  pasteRedirect(
    authorizationUrl,
    { ...testClient(), send },
    { input, note: (text) => void (/^(?:That|The)/.test(text) && isTold()) },
    new Promise(() => {}),
  )
  await given
  return called
}

describe('a pasted address', () => {
  const url = authorize('http://127.0.0.1:4711/oauth/callback')

  it.each([
    [
      ' http://127.0.0.1:4711/oauth/callback?code=a&state=b\n',
      'http://127.0.0.1:4711/oauth/callback?code=a&state=b',
    ],
    [
      'http://127.0.0.1:4711/oauth/callback?error=access_denied',
      'http://127.0.0.1:4711/oauth/callback?error=access_denied',
    ],
    [
      'http://localhost:4712/other?code=a&iss=https%3A%2F%2Fas.example#x',
      'http://127.0.0.1:4711/oauth/callback?code=a&iss=https%3A%2F%2Fas.example',
    ],
    ['https://evil.example/?code=a', 'http://127.0.0.1:4711/oauth/callback?code=a'],
    ['http://127.0.0.1:4711/oauth/callback', undefined],
    ['http://127.0.0.1:4711/oauth/callback?state=b', undefined],
    ['code', undefined],
  ])('the pasted address %s is requested as %s', async (pasted, called) => {
    expect(await calledFor(url, pasted)).toBe(called)
  })

  it.each(['https://as.example/authorize', 'nonsense'])(
    'a pasted address is ignored if the sign-in has no redirect URI: %s',
    async (authorizationUrl) => {
      expect(await calledFor(authorizationUrl, 'http://127.0.0.1:1/?code=a')).toBeUndefined()
    },
  )

  it('a pasted address is passed to the listener of the sign-in until that ends', async () => {
    const seen: string[] = []
    const { origin } = await serveHttp((request, response) => {
      seen.push(request.url ?? '')
      if (seen.length === 1) response.writeHead(400).end()
      else response.writeHead(303, { location: 'https://as.example/authorize?state=two' }).end()
    })
    const redirectUri = `${origin}/cb`
    const input = new PassThrough()
    const notes: string[] = []
    const { given: done, give: finish } = createSignal()
    pasteRedirect(
      authorize(redirectUri),
      testClient(),
      { input, note: (text) => void notes.push(text) },
      done,
    )
    input.write(`nonsense\n\n${redirectUri}?code=a\n`)
    await vi.waitFor(() => expect(notes).toContain('That address does not belong to this sign-in.'))
    expect(notes).toContain('That is not the address at which the browser ends.')
    input.write(`${redirectUri}?code=b\n`)
    await vi.waitFor(() => expect(seen).toEqual(['/cb?code=a', '/cb?code=b']))
    await vi.waitFor(() => expect(notes).toContain('Continue here: https://as.example/authorize?state=two'))
    finish()
    await done
    input.write(`${redirectUri}?code=c\n`)
    await new Promise((resolve) => setImmediate(resolve))
    expect(seen).toHaveLength(2)
  })
})
