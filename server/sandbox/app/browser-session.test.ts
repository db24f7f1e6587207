import { describe, expect, it } from 'vitest'
import { type AuthClient, AuthRefusal, type ProviderSession, type User } from './auth-client.ts'
import { BrowserSessions } from './browser-session.ts'

const NAME = 'sb-localhost-auth-token'
const NOW = 1_800_000_000

const jwt = (exp: number): string =>
  [{ alg: 'ES256' }, { exp }]
    .map((part) => Buffer.from(JSON.stringify(part)).toString('base64url'))
    .join('.') + '.c2ln'

function session(exp: number, extra: object = {}): ProviderSession {
  const user = { id: 'u', ...extra }
  const whole = {
    access_token: jwt(exp),
    refresh_token: `refresh-${exp}`,
    expires_at: exp,
    expires_in: 3600,
    user,
  }
  return whole
}

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

function open(user?: User): {
  sessions: BrowserSessions
  calls: string[]
} {
  const calls: string[] = []
  const auth: Pick<AuthClient, 'user' | 'refresh' | 'signOut'> = {
    async user(token) {
      calls.push(`user ${token}`)
      if (user) return user
      throw new AuthRefusal('bad_jwt')
    },
    async refresh(token) {
      calls.push(`refresh ${token}`)
      throw new AuthRefusal('bad_jwt')
    },
    async signOut(token) {
      calls.push(`signOut ${token}`)
    },
  }
  const ports = { auth, runtime: { now: () => NOW } }
  return { sessions: new BrowserSessions(NAME, ports), calls }
}

const ADA: User = { id: 'u', email: 'ada@example.com' }

describe('a visitor', () => {
  it('without a cookie is nobody, and costs no call', async () => {
    const { sessions, calls } = open()
    expect(await sessions.visitor(requestWith(new Map()))).toEqual({ kind: 'nobody', setCookies: [] })
    expect(calls).toEqual([])
  })

  it.each([
    { what: 'JSON without base64', value: encodeURIComponent(JSON.stringify(session(NOW))) },
    {
      what: 'a session without a refresh token',
      value: `base64-${Buffer.from(JSON.stringify({ access_token: jwt(NOW) })).toString('base64url')}`,
    },
  ])('with an expired session that the app did not write ($what) is nobody', async ({ value }) => {
    const { sessions, calls } = open(ADA)
    expect((await sessions.visitor(requestWith(new Map([[NAME, value]])))).kind).toBe('nobody')
    expect(calls).toEqual([])
  })
})

describe('signing out', () => {
  it('tells the provider and removes every part of the cookie, but nothing else', async () => {
    const { sessions, calls } = open(ADA)
    const jar = jarAfter(
      sessions.signIn(requestWith(new Map()), session(NOW + 1, { padding: 'x'.repeat(9000) })),
    )
    jar.set('other', '1').set(`${NAME}-code-verifier`, '2')
    const after = jarAfter(await sessions.signOut(requestWith(jar)), jar)
    expect([...after.keys()]).toEqual(['other', `${NAME}-code-verifier`])
    expect(calls.at(-1)).toBe(`signOut ${jwt(NOW + 1)}`)
  })

  it('works without a session', async () => {
    const { sessions, calls } = open()
    expect(await sessions.signOut(requestWith(new Map()))).toEqual([])
    expect(calls).toEqual([])
  })
})

describe('the cookies', () => {
  it('carry the attributes of the vendor library', () => {
    const [line] = open().sessions.signIn(requestWith(new Map()), session(NOW))
    expect(line).toMatch(/; Max-Age=34560000; Path=\/; SameSite=Lax$/)
  })
})
