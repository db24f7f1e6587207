import { describe, expect, it } from 'vitest'
import { type ProviderFixture, startProvider } from '../../../tests/support/sandbox/provider-fixture.ts'
import { signUp } from '../provider/api/auth-api.ts'
import { BrowserSessions } from './browser-session.ts'

const NAME = 'sb-localhost-auth-token'

/** Applies `Set-Cookie` values to a browser's jar. */
function jarAfter(setCookies: readonly string[], jar: Map<string, string> = new Map()): Map<string, string> {
  for (const line of setCookies) {
    const [pair = ''] = line.split(';', 1)
    const name = pair.slice(0, pair.indexOf('='))
    if (line.includes('Max-Age=0')) jar.delete(name)
    else jar.set(name, pair.slice(pair.indexOf('=') + 1))
  }
  return jar
}

const requestWith = (jar: Map<string, string>): Request =>
  new Request('http://localhost:8788/', {
    headers: { cookie: [...jar].map(([name, value]) => `${name}=${value}`).join('; ') },
  })

function open(): { sessions: BrowserSessions; provider: ProviderFixture } {
  const provider = startProvider()
  return { sessions: new BrowserSessions(NAME, provider.services), provider }
}

const ada = { email: 'ada@example.com', password: 'correct horse' }

describe('a visitor', () => {
  it('without a cookie is nobody', async () => {
    const { sessions } = open()
    expect(await sessions.visitor(requestWith(new Map()))).toEqual({ kind: 'nobody', setCookies: [] })
  })

  it.each([
    ['JSON without base64', (session: object) => encodeURIComponent(JSON.stringify(session))],
    [
      'a session without a refresh token',
      (session: object) =>
        `base64-${Buffer.from(JSON.stringify({ ...session, refresh_token: undefined })).toString('base64url')}`,
    ],
  ])('with an expired session that the app did not write (%s) is nobody', async (_, write) => {
    const { sessions, provider } = open()
    const value = write(await signUp(provider.services, ada))
    provider.runtime.advance(3600)
    const jar = new Map([[NAME, value]])
    expect((await sessions.visitor(requestWith(jar))).kind).toBe('nobody')
    expect(provider.admin.listSessions(provider.admin.findUser(ada.email)?.id ?? '')).toMatchObject([
      { refreshCounter: 0 },
    ])
  })
})

describe('signing out', () => {
  it('ends the session and removes every part of the cookie, but nothing else', async () => {
    const { sessions, provider } = open()
    const session = await signUp(provider.services, ada)
    const jar = jarAfter(sessions.signIn(requestWith(new Map()), { ...session, padding: 'x'.repeat(9000) }))
    jar.set('other', '1').set(`${NAME}-code-verifier`, '2')
    const after = jarAfter(await sessions.signOut(requestWith(jar)), jar)
    expect([...after.keys()]).toEqual(['other', `${NAME}-code-verifier`])
    expect(provider.admin.listSessions(provider.admin.findUser(ada.email)?.id ?? '')).toEqual([])
  })

  it('works without a session', async () => {
    expect(await open().sessions.signOut(requestWith(new Map()))).toEqual([])
  })
})

it('the cookies carry the attributes of the vendor library', async () => {
  const { sessions, provider } = open()
  const [line] = sessions.signIn(requestWith(new Map()), await signUp(provider.services, ada))
  expect(line).toMatch(/; Max-Age=34560000; Path=\/; SameSite=Lax$/)
})
