import { beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest'
import { loginCredential } from '../../../tests/support/bridge/oauth/login-parts.ts'
import { createTestHttp, oauthConfig } from '../../../tests/support/bridge/oauth/oauth-ports.ts'
import { systemRuntime } from '../../config/system-runtime.ts'
import type { CredentialStore } from '../../credentials/credential-store.ts'
import { refreshTokens } from '../tokens/token-request.ts'
import type { LoginPorts } from './login.ts'
import { LoginRenewal, RefreshPace } from './login-renewal.ts'

const tokens = { accessToken: 'access', refreshToken: 'refresh', issuedAt: 0, expiresAt: 1 }
const credential = loginCredential('http://issuer.example', tokens)

function renewalBy(refresh: LoginPorts['refresh']): LoginRenewal {
  const store = {
    read: async () => credential,
    write: async () => {},
    exclusively: (_name: string, _options: object, work: () => Promise<unknown>) => work(),
  }
  return new LoginRenewal({
    id: 'a'.repeat(64),
    store: store as unknown as CredentialStore,
    runtime: { ...systemRuntime, sleep: async () => {}, randomBytes: (length) => new Uint8Array(length) },
    refresh,
    note() {},
  })
}

describe('a renewal that the server cannot do now', () => {
  let requests = 0
  const unavailable = (retryAfterSeconds?: number, tookMs = 0) =>
    renewalBy(async () => {
      requests += 1
      vi.advanceTimersByTime(tookMs)
      return { kind: 'unavailable', sent: true, cause: new Error('no'), retryAfterSeconds }
    })

  beforeEach(() => {
    requests = 0
    vi.useFakeTimers({ toFake: ['performance'] })
    onTestFinished(() => void vi.useRealTimers())
  })

  it('a failing renewal is given up after five seconds, however short the next pause', async () => {
    const renewed = unavailable(undefined, 2600).renew(credential, 'ended')
    await expect(renewed).rejects.toMatchObject({ fault: 'unavailable' })
    expect(requests).toBe(2)
  })

  it('an early renewal is not repeated before the pause that the server asked for', async () => {
    const renewal = unavailable(60)
    for (const _call of [1, 2, 3]) expect(await renewal.renewEarly(credential)).toBe(credential)
    expect(requests).toBe(1)
    vi.advanceTimersByTime(59_000)
    await renewal.renewEarly(credential)
    expect(requests).toBe(1)
    vi.advanceTimersByTime(1001)
    await renewal.renewEarly(credential)
    expect(requests).toBe(2)
  })
})

it('a renewal without the private key that its client needs fails at once and each time, naming the flag', async () => {
  const context = {
    config: oauthConfig('http://issuer.example/mcp'),
    http: createTestHttp(),
    runtime: systemRuntime,
    signal: AbortSignal.timeout(20_000),
  }
  let tries = 0
  const renewal = renewalBy((used) => {
    tries += 1
    const client = { ...used.client, tokenEndpointAuthMethod: 'private_key_jwt' } as const
    return refreshTokens({ ...used, client }, context)
  })
  for (const _try of [1, 2]) {
    await expect(renewal.renew(credential, 'ended')).rejects.toMatchObject({
      fault: 'client_refused',
      message: 'The client authenticates with a private key, and none is configured.',
      nextStep: 'Name its file with --private-key.',
    })
    expect(tries).toBe(1)
    renewal.pace.failed(60)
  }
})

describe('the pace of renewals', () => {
  it('the pause of renewals doubles with each failure, up to a minute, and resets after a success', () => {
    let now = 0
    const pace = new RefreshPace(
      () => 1,
      () => now,
    )
    const pauses = Array.from({ length: 8 }, () => {
      pace.failed(undefined)
      const pause = pace.pauseMs()
      now += pause
      return pause
    })
    expect(pauses).toEqual([1000, 2000, 4000, 8000, 16_000, 32_000, 60_000, 60_000])
    expect(pace.pauseMs()).toBe(0)
    pace.failed(undefined)
    pace.succeeded()
    expect(pace.pauseMs()).toBe(0)
    pace.failed(undefined)
    expect(pace.pauseMs()).toBe(1000)
  })

  it('the pause of renewals has jitter, unless the server asks for longer', () => {
    const pace = new RefreshPace(
      () => 0,
      () => 0,
    )
    for (const [seconds, pauseMs] of [
      [undefined, 500],
      [120, 120_000],
      [0, 2000],
    ] as const) {
      pace.failed(seconds)
      expect(pace.pauseMs()).toBe(pauseMs)
    }
  })

  /** Returns the times at which a refusal is followed. */
  function followed(times: readonly number[]): number[] {
    let now = 0
    const pace = new RefreshPace(
      () => 0,
      () => now,
    )
    return times.filter((at) => {
      now = at
      if (!pace.mayFollowRefusal()) return false
      pace.followedRefusal()
      return true
    })
  }
  const every = (ms: number, times: number): number[] => Array.from({ length: times }, (_, n) => n * ms)

  it('renewals follow at most five refusals in ten seconds', () => {
    expect(followed([0, 0, 1, 2, 3, 4, 9999, 10_000, 10_000, 10_000])).toEqual([
      0, 0, 1, 2, 3, 10_000, 10_000,
    ])
  })

  it('renewals follow at most twelve refusals a minute, which tokens of five seconds need', () => {
    expect(followed(every(5000, 100))).toHaveLength(100)
    expect(followed(every(4000, 100)).filter((at) => at < 60_000)).toHaveLength(12)
  })
})
