import { createHash } from 'node:crypto'
import { parseWwwAuthenticate } from '@drawbridge/shared/oauth/www-authenticate.ts'
import type { Runtime } from '@drawbridge/shared/runtime.ts'
import { beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest'
import type { CredentialStore } from '../../credentials/credential-store.ts'
import type { Credential } from '../../credentials/credential.ts'
import { systemRuntime } from '../../config/system-runtime.ts'
import type { SignInRequest } from '../login-port.ts'
import { Login, type LoginPorts } from './login.ts'
import { revokeTokens, signOut } from './sign-out.ts'
import type { OAuthConfig } from '../oauth-config.ts'
import {
  call,
  loginConfig,
  loginCredential,
  loginPorts,
} from '../../../tests/support/bridge/oauth/login-parts.ts'
import { createTestHttp } from '../../../tests/support/bridge/oauth/oauth-ports.ts'
import { type OAuthServer, startOAuthServer } from '../../../tests/support/bridge/oauth/oauth-server.ts'
import { openFileStore, usualLoginId } from '../../../tests/support/bridge/credentials/usual-login.ts'
import { temporaryFolder } from '../../../tests/support/temporary-folder.ts'

let home: string
let server: OAuthServer
let store: CredentialStore
let id: string
/** Seconds that the login's clock is ahead. */
let ahead: number
beforeEach(async () => {
  home = temporaryFolder()
  server = await startOAuthServer()
  store = openFileStore(home)
  ahead = 0
  id = usualLoginId(server.serverUrl)
})

let { sleep } = systemRuntime
const runtime: Runtime = {
  ...systemRuntime,
  now: () => systemRuntime.now() + ahead,
  sleep: (...given) => sleep(...given),
}

/** Makes the clock of pauses go on by itself, so that they take no time. */
function skipPauses(): void {
  vi.useFakeTimers({ toFake: ['performance'] })
  sleep = async (ms) => void vi.advanceTimersByTime(ms)
  onTestFinished(() => {
    vi.useRealTimers()
    ;({ sleep } = systemRuntime)
  })
}

function create(changes: { config?: Partial<OAuthConfig>; ports?: Partial<LoginPorts> } = {}): Login {
  const ports = loginPorts({ origin: server.origin, store })
  return new Login(loginConfig(server.origin, changes.config), { ...ports, runtime, ...changes.ports })
}

/** Makes the server refuse token requests that way. */
function fail(status: number, error?: string, headers: Record<string, string> = {}): void {
  server.answers.set('/token', () => ({ status, headers, body: { error } }))
}

const hashOf = (token = ''): string => createHash('sha256').update(token).digest('hex')

async function signedIn({
  without,
  ...changes
}: Partial<Credential> & { without?: 'refreshToken' | 'expiresAt' } = {}): Promise<Credential> {
  const issued = server.issue()
  if (without !== undefined) delete issued[without]
  const credential = loginCredential(server.origin, issued, changes)
  await store.write(id, credential)
  return credential
}

/** Makes a credential look older by `seconds`. */
function aged(credential: Credential, seconds: number): Credential {
  const { tokens } = credential
  if (tokens?.expiresAt === undefined) throw new Error('no lifetime')
  return {
    ...credential,
    tokens: { ...tokens, issuedAt: tokens.issuedAt - seconds, expiresAt: tokens.expiresAt - seconds },
  }
}

async function expired(changes: Partial<Credential> = {}): Promise<Credential> {
  const credential = aged(await signedIn(changes), 3700)
  await store.write(id, credential)
  return credential
}

const calls = (login: Login, times: number): Promise<unknown[]> =>
  Promise.all(Array.from({ length: times }, () => call(server.origin, login)))

describe('a login', () => {
  it('a login has no token before the first sign-in, and asks for one', async () => {
    const login = create()
    expect(await login.authorization()).toBeUndefined()
    expect(await call(server.origin, login)).toBe('sign_in_needed')
    expect(await login.state()).toBeUndefined()
  })

  it('a login uses its stored token while it is valid', async () => {
    const { tokens } = await signedIn()
    const login = create()
    expect(await calls(login, 5)).toEqual(Array(5).fill(200))
    expect(await login.authorization()).toEqual(`Bearer ${tokens?.accessToken}`)
    expect(server.counters.refreshesOk).toBe(0)
    expect(await store.read(id)).toMatchObject({ generation: 1 })
  })

  it('a login uses the ID token if configured', async () => {
    const credential = await signedIn()
    await store.write(id, {
      ...credential,
      tokens: { ...credential.tokens, idToken: 'id' } as Credential['tokens'] & object,
    })
    expect(await create({ config: { useIdToken: true } }).authorization()).toEqual('Bearer id')
  })

  it('a login renews expired tokens once for all calls', async () => {
    await expired()
    server.beforeTokenAnswer = () => systemRuntime.sleep(100)
    expect(await calls(create(), 20)).toEqual(Array(20).fill(200))
    expect(server.counters).toMatchObject({ refreshesOk: 1, refreshesReused: 0, refreshesRefused: 0 })
    const stored = await store.read(id)
    expect(stored).toMatchObject({ generation: 3 })
    expect(stored?.pendingRefresh).toBeUndefined()
  })

  it('a login renews revoked tokens once for all calls', async () => {
    await signedIn()
    const login = create()
    await login.authorization()
    server.revokeAccessTokens()
    server.beforeTokenAnswer = () => systemRuntime.sleep(100)
    expect(await calls(login, 20)).toEqual(Array(20).fill(200))
    expect(server.counters).toMatchObject({ refreshesOk: 1, refreshesReused: 0, refreshesRefused: 0 })
  })

  it('a login stores new tokens before it uses them', async () => {
    await expired()
    const header = await create().authorization()
    expect(header).toBe(`Bearer ${(await openFileStore(home).read(id))?.tokens?.accessToken}`)
  })

  it('a login marks a refresh token as spent before it sends it', async () => {
    const { tokens } = await expired()
    const seen: unknown[] = []
    server.beforeTokenAnswer = async () =>
      void seen.push((await openFileStore(home).read(id))?.pendingRefresh)
    await create().authorization()
    expect(seen).toMatchObject([{ refreshHash: hashOf(tokens?.refreshToken) }])
  })

  it('a login keeps the refresh token, scope and ID token if the response has none', async () => {
    const { tokens } = await expired()
    const ports = loginPorts({ origin: server.origin, store })
    const refresh: LoginPorts['refresh'] = async () => ({
      kind: 'issued',
      tokens: { accessToken: 'new', issuedAt: runtime.now() },
      quirks: { refusesResource: true },
    })
    await create({ ports: { ...ports, refresh } }).authorization()
    const stored = await store.read(id)
    expect(stored?.quirks).toEqual({ refusesResource: true })
    expect(stored?.tokens).toMatchObject({
      accessToken: 'new',
      refreshToken: tokens?.refreshToken,
      scope: 'mcp',
    })
    expect(stored?.tokens?.expiresAt).toBeUndefined()
  })

  it('a renewal waits no longer than its caller', async () => {
    await expired()
    server.beforeTokenAnswer = () => systemRuntime.sleep(500)
    const login = create()
    const reason = new Error('enough')
    await expect(login.authorization(AbortSignal.abort(reason))).rejects.toBe(reason)
    const impatient = new AbortController()
    const waiting = login.authorization(impatient.signal)
    impatient.abort(reason)
    await expect(waiting).rejects.toBe(reason)
    expect(await call(server.origin, login)).toBe(200)
    expect(server.counters.refreshesOk).toBe(1)
  })
})

describe('a renewal that is due while the token is still good', () => {
  const due = async (): Promise<Credential> => {
    const credential = aged(await signedIn(), 3580)
    await store.write(id, credential)
    return credential
  }

  it('an early renewal replaces a token that is still valid', async () => {
    await due()
    expect(await calls(create(), 5)).toEqual(Array(5).fill(200))
    expect(server.counters.refreshesOk).toBe(1)
  })

  it.each([
    [400, 'invalid_grant'],
    [400, 'invalid_request'],
    [429, 'slow_down'],
    [503, 'temporarily_unavailable'],
  ])('an early renewal answered by %i %s changes nothing', async (status, error) => {
    const before = await due()
    fail(status, error)
    const login = create()
    expect(await calls(login, 5)).toEqual(Array(5).fill(200))
    expect(server.requests('/token')).toHaveLength(1)
    expect(await store.read(id)).toMatchObject({ tokens: before.tokens })
    expect(await login.state()).toMatchObject({ state: 'signed_in', renews: true })
  })

  it('an early renewal at a slow server does not hold calls for long', async () => {
    const { tokens } = await due()
    let answer = (): void => {}
    server.beforeTokenAnswer = () => new Promise((resolve) => (answer = resolve))
    const login = create()
    expect(await login.authorization()).toEqual(`Bearer ${tokens?.accessToken}`)
    answer()
    await login.settle()
    expect(await store.read(id)).not.toMatchObject({ tokens })
  })

  it('calls use the valid token if the lock for an early renewal is not available', async () => {
    const { tokens } = await due()
    const busy: CredentialStore = {
      ...store,
      exclusively: (name, options, work) => store.exclusively(name, { ...options, waitMs: 100 }, work),
    }
    await store.exclusively(id, { waitMs: 0 }, async () => {
      const login = create({ ports: { store: busy } })
      expect(await login.authorization()).toEqual(`Bearer ${tokens?.accessToken}`)
    })
    expect(server.counters.refreshesOk).toBe(0)
  })
})

describe('a renewal that the server cannot do now', () => {
  it('a failing renewal keeps the tokens, reports the failure and waits as long as the server asks', async () => {
    const before = await expired()
    fail(429, undefined, { 'retry-after': '30' })
    const login = create()
    for (let round = 0; round < 5; round++) {
      const failed = login.authorization()
      await expect(failed).rejects.toMatchObject({
        name: 'OAuthFailure',
        fault: 'unavailable',
        issuer: server.origin,
        retryAfterSeconds: 30,
      })
    }
    expect(server.requests('/token')).toHaveLength(1)
    expect(await store.read(id)).toMatchObject({ tokens: before.tokens })
    expect((await store.read(id))?.signInNeeded).toBeUndefined()
  })

  it.each<[status: number, error?: string]>([[500], [400, 'slow_down']])(
    'a failing renewal is retried for a while, and then reported: %i %s',
    async (status, error) => {
      skipPauses()
      await expired()
      fail(status, error)
      const failed = create().authorization()
      await expect(failed).rejects.toMatchObject({
        fault: 'unavailable',
        retryAfterSeconds: expect.any(Number),
      })
      expect(server.requests('/token')).toHaveLength(3)
      expect((await store.read(id))?.signInNeeded).toBeUndefined()
    },
  )

  it('a renewal is repeated for waiting calls until the server works', async () => {
    await expired()
    fail(500)
    const asked = calls(create(), 5)
    await expect.poll(() => server.requests('/token').length).toBe(1)
    server.answers.clear()
    expect(await asked).toEqual(Array(5).fill(200))
    expect(server.counters.refreshesOk).toBe(1)
  })

  it('a failing renewal is never taken for a refusal', async () => {
    skipPauses()
    await signedIn()
    const login = create()
    await login.authorization()
    server.revokeAccessTokens()
    fail(500)
    for (let calls = 0; calls < 20 || server.requests('/token').length < 4; calls += 1) {
      await expect(call(server.origin, login)).rejects.toMatchObject({ fault: 'unavailable' })
      await runtime.sleep(100)
    }
    server.answers.clear()
    expect((await store.read(id))?.signInNeeded).toBeUndefined()
    expect(await create().authorization()).toBeDefined()
  })

  it('a refresh that was never sent leaves no mark', async () => {
    skipPauses()
    const credential = await expired()
    await store.write(id, { ...credential, tokenEndpoint: 'http://127.0.0.1:1/token' })
    await expect(create().authorization()).rejects.toMatchObject({ fault: 'unavailable' })
    const stored = await store.read(id)
    expect(stored?.tokens).toEqual(credential.tokens)
    expect(stored?.pendingRefresh).toBeUndefined()
  })

  it('a refresh that was never sent keeps the mark of an earlier one', async () => {
    skipPauses()
    const credential = await expired()
    const pendingRefresh = { refreshHash: hashOf(credential.tokens?.refreshToken), at: 1 }
    await store.write(id, { ...credential, pendingRefresh, tokenEndpoint: 'http://127.0.0.1:1/token' })
    await expect(create().authorization()).rejects.toMatchObject({ fault: 'unavailable' })
    const { refreshHash } = (await store.read(id))?.pendingRefresh ?? {}
    expect(refreshHash).toBe(pendingRefresh.refreshHash)
  })

  it('a refresh counts as unanswered when its port fails', async () => {
    skipPauses()
    await expired()
    const refresh = (): Promise<never> => Promise.reject(new Error('broken'))
    await expect(create({ ports: { refresh } }).authorization()).rejects.toMatchObject({
      fault: 'unavailable',
    })
    expect((await store.read(id))?.pendingRefresh).toBeDefined()
  })

  it('a refresh is not sent if its tokens could not be stored', async () => {
    await expired()
    const full: CredentialStore = { ...store, write: () => Promise.reject(new Error('disk full')) }
    await expect(create({ ports: { store: full } }).authorization()).rejects.toThrow('disk full')
    expect(server.counters.refreshesOk).toBe(0)
  })

  it('new tokens serve this process if the disk is full', async () => {
    await expired()
    let isFull = false
    const filling: CredentialStore = {
      ...store,
      write: (name, credential) =>
        isFull ? Promise.reject(new Error('disk full')) : store.write(name, credential),
    }
    server.beforeTokenAnswer = async () => void (isFull = true)
    const login = create({ ports: { store: filling } })
    expect(await calls(login, 3)).toEqual([200, 200, 200])
    isFull = false
    server.beforeTokenAnswer = async () => undefined
    server.revokeAccessTokens()
    expect(await calls(login, 3)).toEqual([200, 200, 200])
    expect(server.counters).toMatchObject({ refreshesOk: 2, refreshesReused: 0 })
    expect(await call(server.origin, create())).toBe(200)
  })
})

describe('a renewal that is refused', () => {
  it('a refused renewal asks for a sign-in, and keeps the login', async () => {
    const before = await expired()
    server.revokeEverything()
    const login = create()
    expect(await calls(login, 5)).toEqual(Array(5).fill('sign_in_needed'))
    expect(server.requests('/token')).toHaveLength(1)
    const stored = await store.read(id)
    expect(stored).toMatchObject({
      tokens: before.tokens,
      signInNeeded: 'invalid_grant',
      client: before.client,
    })
    expect(await login.state()).toMatchObject({
      state: 'sign_in_needed',
      reason: 'invalid_grant',
      renews: false,
      issuer: server.origin,
      client_id: 'before',
    })
    expect(await call(server.origin, create())).toBe('sign_in_needed')
    expect(server.requests('/token')).toHaveLength(1)
  })

  it('a refused renewal is sent once more if another process may have spent the token', async () => {
    const credential = await expired()
    const pendingRefresh = { refreshHash: hashOf(credential.tokens?.refreshToken), at: 1 }
    await store.write(id, { ...credential, pendingRefresh })
    fail(400, 'invalid_grant')
    const asked = calls(create(), 3)
    await expect.poll(() => server.requests('/token').length).toBe(1)
    server.answers.clear()
    expect(await asked).toEqual([200, 200, 200])
  })

  it('a refused renewal uses the tokens that another process has stored', async () => {
    const credential = await expired()
    server.settings.graceSeconds = 0
    server.beforeTokenAnswer = async () => {
      server.beforeTokenAnswer = async () => undefined
      // Simulates a process that ignores the lock.
      await store.write(id, { ...credential, generation: 9, tokens: server.issue() })
    }
    server.answers.clear()
    const ports = loginPorts({ origin: server.origin, store })
    const refresh: LoginPorts['refresh'] = async (...request) => {
      await ports.refresh(...request)
      return { kind: 'refused', error: 'invalid_grant', description: undefined }
    }
    expect(await call(server.origin, create({ ports: { ...ports, refresh } }))).toBe(200)
    expect(await store.read(id)).toMatchObject({ generation: 9 })
  })

  it('a refused renewal drops its tokens after a sign-in elsewhere', async () => {
    await expired()
    const fresh = loginCredential(server.origin, server.issue(), { generation: 50, signInId: 'second' })
    server.beforeTokenAnswer = () => store.write(id, fresh)
    expect(await create().authorization()).toEqual(`Bearer ${fresh.tokens?.accessToken}`)
    expect(await store.read(id)).toEqual(fresh)
  })

  it('a renewal does not bring back a login that was signed out', async () => {
    await expired()
    server.beforeTokenAnswer = async () => void (await store.remove(id))
    expect(await create().authorization()).toBeUndefined()
    expect(await store.read(id)).toBeUndefined()
  })
})

describe('a refusal', () => {
  const refusal = (header: string | undefined, challenge = 'Bearer', status: 401 | 403 = 401): never =>
    ({
      status,
      used: header,
      challenges: parseWwwAuthenticate(challenge),
    }) as never

  it('a refused new token is replaced: the server may have been restarted', async () => {
    await expired()
    const login = create()
    for (let round = 1; round <= 3; round++) {
      await login.authorization()
      server.revokeAccessTokens()
      expect(await calls(login, 5)).toEqual(Array(5).fill(200))
      expect(server.counters).toMatchObject({ refreshesOk: 1 + round, refreshesReused: 0 })
    }
  })

  it('refused tokens are replaced five times at most, over all processes', async () => {
    await signedIn()
    const login = create()
    const outcomes: string[] = []
    for (let round = 0; round < 7; round++) {
      const kind = await login.refused(refusal(await login.authorization()))
      outcomes.push(kind)
      const stored = await store.read(id)
      if (stored !== undefined) await store.write(id, { ...stored, tokens: server.issue() })
      const header = await create().authorization()
      await login.refused(refusal('Bearer other'))
      expect(await login.authorization()).toEqual(header)
    }
    expect(outcomes).toEqual([...Array(5).fill('retry'), ...Array(2).fill('sign_in_needed')])
    expect(server.counters.refreshesOk).toBe(5)
  })

  it('a refused token that cannot be renewed needs a sign-in', async () => {
    await signedIn({ without: 'refreshToken' })
    const login = create()
    server.revokeAccessTokens()
    expect(await call(server.origin, login)).toBe('sign_in_needed')
  })

  it('a refusal without a token uses the token that another process has stored', async () => {
    const login = create()
    expect(await login.authorization()).toBeUndefined()
    await signedIn()
    expect(await login.refused(refusal(undefined))).toEqual('retry')
    expect(await call(server.origin, login)).toBe(200)
  })

  it('a refusal for scope tells what the next sign-in asks for', async () => {
    const before = await signedIn()
    const requests: SignInRequest[] = []
    const ports = loginPorts({ origin: server.origin, store })
    const flow: LoginPorts['flow'] = (request, ...rest) => {
      requests.push(request)
      return ports.flow(request, ...rest)
    }
    const login = create({ ports: { flow } })
    const used = await login.authorization()
    const challenge =
      'Basic realm=x, Bearer error="insufficient_scope", scope="mcp write", resource_metadata="https://a.test/m"'
    expect(await login.refused(refusal(used, challenge, 403))).toEqual('sign_in_needed')
    expect(server.counters.refreshesOk).toBe(0)
    await login.signIn().done
    await login.signIn().done
    expect(requests).toHaveLength(2)
    expect(requests[0]).toEqual({
      challengeScope: 'mcp write',
      resourceMetadata: 'https://a.test/m',
      previous: before,
      isForced: false,
    })
    expect(requests[1]).toEqual({ previous: expect.anything(), isForced: false })
  })

  it('a refusal for scope uses the scope that another process was granted', async () => {
    const before = await signedIn()
    const login = create()
    const used = await login.authorization()
    await store.write(id, { ...before, generation: 2, signInId: 'second', tokens: server.issue() })
    expect(await login.refused(refusal(used, 'Bearer error="insufficient_scope"', 403))).toEqual('retry')
  })
})

describe('clocks', () => {
  it('a clock that jumps ahead costs one renewal, and back none', async () => {
    await signedIn()
    const login = create()
    ahead = 7200
    expect(await calls(login, 5)).toEqual(Array(5).fill(200))
    expect(server.counters.refreshesOk).toBe(1)
    ahead = -7200
    expect(await calls(login, 5)).toEqual(Array(5).fill(200))
    expect(server.counters.refreshesOk).toBe(1)
  })

  it('a token that cannot be renewed is used whatever the clock says', async () => {
    await signedIn({ without: 'refreshToken' })
    ahead = 7200
    expect(await call(server.origin, create())).toBe(200)
  })
})

type Revoke = Parameters<typeof signOut>[2]
const revokeAtServer: Revoke = (credential) =>
  revokeTokens(credential, loginConfig(server.origin), { http: createTestHttp(), runtime: systemRuntime })
const leave = async (revoke = revokeAtServer): Promise<object> => {
  const { credential: _credential, ...report } = await signOut(store, id, revoke)
  return report
}

it.each<[string, Revoke, boolean | undefined]>([
  ['the server has no way to', async () => undefined, undefined],
  ['the server refuses', async () => false, false],
  ['the server is gone', () => Promise.reject(new Error('gone')), false],
])('signing out forgets the login even when %s', async (_what, revoke, revoked) => {
  await signedIn()
  expect(await leave(revoke)).toEqual({ found: true, readable: true, revoked })
  expect(await store.read(id)).toBeUndefined()
})

it('signing out waits for a renewal under way', async () => {
  await expired()
  server.beforeTokenAnswer = () => systemRuntime.sleep(300)
  const login = create()
  const renewing = login.authorization()
  await expect.poll(() => server.counters.refreshesOk).toBe(1)
  const signedOut = leave()
  expect(await renewing).toMatch(/^Bearer remote-secret-at-/)
  expect(await signedOut).toEqual({ found: true, readable: true, revoked: true })
})

describe('client credentials', () => {
  const alone = { config: { grant: 'client_credentials' as const } }
  let signIns = 0
  beforeEach(() => void (signIns = 0))
  /** Issues tokens without a refresh token, as a server does. */
  const flow: LoginPorts['flow'] = async () => {
    signIns += 1
    const { refreshToken: _none, ...tokens } = server.issue()
    return loginCredential(server.origin, tokens, { generation: 0 })
  }

  it('client credentials need no user', async () => {
    const login = create({ ...alone, ports: { flow } })
    expect(await calls(login, 5)).toEqual(Array(5).fill(200))
    expect(signIns).toBe(1)
    expect(await calls(create({ ...alone, ports: { flow } }), 3)).toEqual([200, 200, 200])
    expect(signIns).toBe(1)
  })

  it('client credentials get new tokens when the old ones expire or are refused', async () => {
    await signedIn({ without: 'refreshToken' })
    const login = create({ ...alone, ports: { flow } })
    await login.authorization()
    server.revokeAccessTokens()
    expect(await calls(login, 5)).toEqual(Array(5).fill(200))
    expect(signIns).toBe(1)
    ahead = 7200
    expect(await calls(login, 5)).toEqual(Array(5).fill(200))
    expect(signIns).toBe(2)
  })

  it('client credentials replace refused tokens five times at most', async () => {
    const login = create({ ...alone, ports: { flow } })
    const refuse = async (): Promise<string> =>
      login.refused({ status: 401, used: await login.authorization(), challenges: [] })
    const outcomes: string[] = []
    for (let round = 0; round < 7; round++) outcomes.push(await refuse())
    expect(outcomes).toEqual([...Array(5).fill('retry'), 'sign_in_needed', 'sign_in_needed'])
  })

  it('refused client credentials are not sent again and again', async () => {
    let asked = 0
    const refusing: LoginPorts['flow'] = async () => {
      asked += 1
      // Until all calls have been refused.
      await systemRuntime.sleep(500)
      throw new Error('no')
    }
    const login = create({ ...alone, ports: { flow: refusing } })
    const outcomes = await Promise.allSettled(Array.from({ length: 20 }, () => call(server.origin, login)))
    expect(outcomes.every(({ status }) => status === 'rejected')).toBe(true)
    expect(asked).toBe(1)
  })
})
