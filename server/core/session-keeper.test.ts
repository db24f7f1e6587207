import { beforeEach, describe, expect, it } from 'vitest'
import { createMemoryStore } from '../store/memory.ts'
import { createFakeRuntime, type FakeRuntime } from '../testing/fake-runtime.ts'
import { addGrant, grantSample, race, start } from '../testing/grant-sample.ts'
import {
  createRotatingProvider,
  failing,
  lostReply,
  type RotatingProvider,
} from '../testing/rotating-provider.ts'
import type { StoredProviderSession } from './grant.ts'
import { createSealer, type Sealer } from './seal.ts'
import {
  createSessionKeeper,
  type KeptSession,
  sealProviderSession,
  type SessionKeeper,
  type SessionKeeperPorts,
} from './session-keeper.ts'
import { ProviderError } from './session-provider.ts'
import type { Store } from './store.ts'

const hour = 3600

let runtime: FakeRuntime
let store: Store
let provider: RotatingProvider
let sealer: Sealer
let reports: string[]

beforeEach(() => {
  runtime = createFakeRuntime(start)
  store = createMemoryStore()
  provider = createRotatingProvider(runtime)
  sealer = createSealer([{ kid: 'k', key: new Uint8Array(32).fill(1) }], runtime.randomBytes)
  reports = []
})

/** A keeper of its own instance; all share store and provider. */
function keeperOf(owner: string, overrides: Partial<SessionKeeperPorts> = {}): SessionKeeper {
  return createSessionKeeper({
    store,
    provider,
    sealer,
    runtime,
    owner,
    report: (event) => void reports.push(event),
    ...overrides,
  })
}

/** A grant whose provider session was issued now. */
async function connect(id = 'grant a'): Promise<StoredProviderSession> {
  const sample = grantSample(id, { id })
  const row = { grantId: id, version: 1, issuedAt: runtime.now() }
  const session = sealProviderSession(provider.signedIn(), row, sealer)
  await addGrant(store, { ...sample, session })
  return session
}

async function stored(grantId = 'grant a'): Promise<StoredProviderSession> {
  const session = await store.findProviderSession(grantId)
  if (!session) throw new Error('The grant has ended.')
  return session
}

/** What `/mcp` does: the stored session is read, then kept. */
async function keep(keeper: SessionKeeper, grantId = 'grant a'): Promise<KeptSession> {
  return keeper.keep(await stored(grantId))
}

const opened = (session: StoredProviderSession): unknown =>
  JSON.parse(sealer.open(session.sealed, `provider session ${session.grantId} ${session.version}`) ?? 'null')

describe('sealProviderSession', () => {
  it('seals both tokens for one row and version', () => {
    const row = { grantId: 'g', version: 3, issuedAt: start }
    const session = sealProviderSession(provider.signedIn(), row, sealer)
    expect(session).toEqual({ ...row, expiresAt: start + hour, sealed: session.sealed })
    expect(session.sealed).not.toContain('access')
    expect(opened(session)).toEqual({ accessToken: 'access 1', refreshToken: 'refresh 1' })
    expect(opened({ ...session, version: 4 })).toBeNull()
    expect(opened({ ...session, grantId: 'other' })).toBeNull()
  })
})

describe('when a token is refreshed', () => {
  /** Seconds left at which `keep` first asks the provider. */
  async function margin(grantId: string, lifetime: number): Promise<number> {
    provider.setTtl(lifetime)
    const session = await connect(grantId)
    const keeper = keeperOf('one')
    for (let left = lifetime; left >= 0; left -= 1) {
      await keeper.keep(session)
      if (provider.presented.length > 0) return left
      runtime.advance(1)
    }
    return -1
  }

  it.each(['-', '0', '9', 'A', 'M', 'Z', '_', 'a', 'm', 'z'])(
    'an hour: 90 to 150 seconds before its end, for a grant whose id begins with %s',
    async (id) => {
      const left = await margin(id, hour)
      expect(left).toBeGreaterThanOrEqual(90)
      expect(left).toBeLessThanOrEqual(150)
    },
  )

  it('spreads the grants of one moment', async () => {
    const margins = new Set<number>()
    for (const id of 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz') {
      provider = createRotatingProvider(runtime)
      margins.add(await margin(id, hour))
    }
    expect(margins.size).toBeGreaterThan(40)
    expect(Math.max(...margins) - Math.min(...margins)).toBeGreaterThan(40)
  })

  it.each([
    [300, 60],
    [60, 12],
    [10, 2],
    [5, 1],
    [4, 0],
    [1, 0],
  ])('a token of %i s: a fifth of its life, %i s before its end', async (lifetime, left) => {
    expect(await margin('grant a', lifetime)).toBe(left)
  })

  it('otherwise nobody is asked, not even the store', async () => {
    const session = await connect()
    const keeper = keeperOf('one', { store: {} as Store })
    runtime.advance(hour - 151)
    expect(await keeper.keep(session)).toEqual({ kind: 'live', session })
    expect(provider.presented).toEqual([])
  })
})

describe('a refresh', () => {
  beforeEach(async () => {
    await connect()
    runtime.advance(hour)
  })

  it('stores the new tokens before anyone sees them', async () => {
    const keeper = keeperOf('one')
    const kept = await keep(keeper)
    expect(kept).toEqual({ kind: 'live', session: await stored() })
    expect(await stored()).toMatchObject({
      version: 2,
      issuedAt: start + hour,
      expiresAt: start + 2 * hour,
    })
    expect(opened(await stored())).toEqual({ accessToken: 'access 2', refreshToken: 'refresh 2' })
    expect(keeper.accessToken(await stored())).toBe('access 2')
    expect(reports).toEqual(['provider_refreshed'])
  })

  it('fifty callers at the moment of expiry cause exactly one', async () => {
    const keeper = keeperOf('one')
    const kept = await race(() => keep(keeper))
    expect(provider.presented).toEqual(['refresh 1'])
    expect(kept).toEqual(kept.map(() => ({ kind: 'live', session: expect.objectContaining({ version: 2 }) })))
  })

  it('fifty callers of five instances cause exactly one', async () => {
    const keepers = Array.from({ length: 5 }, (_, index) => keeperOf(`instance ${index}`))
    const session = await stored()
    // While the winner waits for the provider the others come, see the lease and wait.
    provider.play({ before: () => runtime.sleep(50) })
    const kept = await race((index) => (keepers[index % 5] ?? keeperOf('none')).keep(session))
    expect(provider.presented).toEqual(['refresh 1'])
    expect(kept).toEqual(kept.map(() => ({ kind: 'live', session: expect.objectContaining({ version: 2 }) })))
  })

  it('holds a lease of fifteen seconds, longer than any call to the provider, and gives it back', async () => {
    const leases: number[] = []
    const leaseProviderSession: Store['leaseProviderSession'] = (lease, now) => {
      leases.push(lease.until - now)
      return store.leaseProviderSession(lease, now)
    }
    await keep(keeperOf('one', { store: { ...store, leaseProviderSession } }))
    expect(leases).toEqual([15])
    const next = { grantId: 'grant a', version: 2, owner: 'two', until: runtime.now() + 15 }
    expect(await store.leaseProviderSession(next, runtime.now())).toBe(true)
  })

  it('every grant has its own', async () => {
    const ids = ['grant a', 'grant b', 'grant c']
    for (const id of ids.slice(1)) await connect(id)
    runtime.advance(hour)
    const separate = { refresh: (token: string) => createRotatingProvider(runtime).refresh(token) }
    const keeper = keeperOf('one', { provider: separate })
    const kept = await Promise.all(ids.flatMap((id) => [keep(keeper, id), keep(keeper, id)]))
    expect(kept.map(({ kind }) => kind)).toEqual(Array.from({ length: 6 }, () => 'live'))
    expect(reports).toEqual(['provider_refreshed', 'provider_refreshed', 'provider_refreshed'])
  })

  it('is repeated for every generation, with the newest token each time', async () => {
    const keeper = keeperOf('one')
    for (let generation = 1; generation <= 5; generation += 1) {
      await keep(keeper)
      runtime.advance(hour)
    }
    expect(provider.presented).toEqual([1, 2, 3, 4, 5].map((generation) => `refresh ${generation}`))
  })

  it('that yields a token which is due at once is not repeated for ever', async () => {
    provider.setTtl(0)
    expect(await keep(keeperOf('one'))).toEqual({ kind: 'unavailable', retryAfterSeconds: 5 })
    expect(provider.presented).toHaveLength(1)
    expect(await stored()).toMatchObject({ version: 2 })
  })
})

describe('a token that is due and still valid', () => {
  beforeEach(async () => {
    await connect()
    runtime.advance(hour - 60)
  })

  it('is refreshed in good time', async () => {
    expect(await keep(keeperOf('one'))).toMatchObject({ kind: 'live', session: { version: 2 } })
  })

  it('is served while another instance refreshes it', async () => {
    const holder = { grantId: 'grant a', version: 1, owner: 'other', until: runtime.now() + 15 }
    await store.leaseProviderSession(holder, runtime.now())
    expect(await keep(keeperOf('one'))).toMatchObject({ kind: 'live', session: { version: 1 } })
    expect(provider.presented).toEqual([])
    expect(runtime.now()).toBe(start + hour - 60)
  })

  it('is served during an outage until its end, after that nothing is', async () => {
    provider.play(...Array.from({ length: 100 }, () => failing('transient')))
    const keeper = keeperOf('one')
    expect(await keep(keeper)).toMatchObject({ kind: 'live', session: { version: 1 } })
    runtime.advance(60)
    expect(await keep(keeper)).toMatchObject({ kind: 'unavailable' })
    expect(await store.findAccessToken('access grant a 1', start)).toBeDefined()
  })
})

describe('the failure matrix', () => {
  beforeEach(async () => {
    await connect()
    runtime.advance(hour)
  })

  it('a holder that died before its request left: the lease ends, the next caller refreshes', async () => {
    const dead = { grantId: 'grant a', version: 1, owner: 'dead', until: runtime.now() + 15 }
    await store.leaseProviderSession(dead, runtime.now())
    const keeper = keeperOf('one')
    // Waiting has an end before the lease has one.
    expect(await keep(keeper)).toEqual({ kind: 'unavailable', retryAfterSeconds: 1 })
    expect(runtime.now() - start - hour).toBeGreaterThanOrEqual(10)
    expect(runtime.now() - start - hour).toBeLessThan(15)
    expect(provider.presented).toEqual([])
    runtime.advance(5)
    expect(await keep(keeper)).toMatchObject({ kind: 'live', session: { version: 2 } })
  })

  it('the provider rotated and its reply was lost: the same token brings the active one', async () => {
    provider.play(lostReply)
    expect(await keep(keeperOf('one'))).toMatchObject({ kind: 'live', session: { version: 2 } })
    expect(provider.presented).toEqual(['refresh 1', 'refresh 1'])
    expect(provider.rotations()).toBe(1)
    expect(opened(await stored())).toMatchObject({ refreshToken: provider.active() })
  })

  it('a crash after the provider rotated, before anything was stored: a restart heals it at any later time', async () => {
    await provider.refresh('refresh 1')
    runtime.advance(20 * 86_400)
    expect(await keep(keeperOf('restarted'))).toMatchObject({ kind: 'live', session: { version: 2 } })
    expect(opened(await stored())).toMatchObject({ refreshToken: provider.active() })
  })

  it('lease overrun: two instances refresh, both get the same child, the later write is discarded', async () => {
    const [slow, fast] = [keeperOf('slow'), keeperOf('fast')]
    let other: KeptSession | undefined
    provider.play({
      async after() {
        runtime.advance(16)
        other = await keep(fast)
      },
    })
    const kept = await keep(slow)
    expect(other).toEqual(kept)
    expect(kept).toEqual({ kind: 'live', session: await stored() })
    expect(await stored()).toMatchObject({ version: 2 })
    expect(reports).toEqual(['provider_refreshed'])
    expect(provider.presented).toEqual(['refresh 1', 'refresh 1'])
    expect(opened(await stored())).toMatchObject({ refreshToken: provider.active() })
  })

  it('a holder stalls while another advances two generations: its write is rejected, its token never used', async () => {
    const [stalled, fast] = [keeperOf('stalled'), keeperOf('fast')]
    provider.play({
      async after() {
        runtime.advance(16)
        await keep(fast)
        runtime.advance(hour)
        await keep(fast)
      },
    })
    expect(await keep(stalled)).toMatchObject({ kind: 'live', session: { version: 3 } })
    expect(opened(await stored())).toMatchObject({ refreshToken: provider.active() })
    runtime.advance(hour)
    expect(await keep(stalled)).toMatchObject({ kind: 'live', session: { version: 4 } })
    expect(provider.active()).toBe('refresh 4')
  })

  it('the store fails once the provider has rotated: the write is tried three times', async () => {
    let failures = 2
    const flaky = {
      ...store,
      saveProviderSession(session: StoredProviderSession) {
        failures -= 1
        return failures >= 0 ? Promise.reject(new Error('disk full')) : store.saveProviderSession(session)
      },
    }
    expect(await keep(keeperOf('one', { store: flaky }))).toMatchObject({
      kind: 'live',
      session: { version: 2 },
    })
    expect(provider.presented).toEqual(['refresh 1'])
  })

  it('the store keeps failing: the caller learns it, and a later call heals it through the parent token', async () => {
    const broken = { ...store, saveProviderSession: () => Promise.reject(new Error('disk full')) }
    await expect(keep(keeperOf('one', { store: broken }))).rejects.toThrow('disk full')
    expect(await stored()).toMatchObject({ version: 1 })
    // At once, by another instance: the lease was given back.
    expect(await keep(keeperOf('two'))).toMatchObject({ kind: 'live', session: { version: 2 } })
    expect(provider.presented).toEqual(['refresh 1', 'refresh 1'])
    expect(opened(await stored())).toMatchObject({ refreshToken: provider.active() })
  })

  it('a fault in the program is not taken for a refusal, and the next call starts afresh', async () => {
    provider.play({
      before() {
        throw new RangeError('a bug')
      },
    })
    const keeper = keeperOf('one')
    await expect(keep(keeper)).rejects.toThrow(RangeError)
    expect(await keep(keeper)).toMatchObject({ kind: 'live' })
  })
})

describe('definitive and passing refusals', () => {
  beforeEach(async () => {
    await connect()
    runtime.advance(hour)
  })

  it('a definitive one ends the grant, once for fifty callers', async () => {
    provider.play(failing('terminal'))
    const keeper = keeperOf('one')
    const session = await stored()
    expect(await race(() => keeper.keep(session))).toEqual(
      Array.from({ length: 50 }, () => ({ kind: 'ended' })),
    )
    expect(await store.findRefreshToken('refresh grant a 1')).toMatchObject({
      endReason: 'provider_session_ended',
    })
    expect(reports).toEqual(['provider_session_ended'])
    expect(await keeper.keep(session)).toEqual({ kind: 'ended' })
    expect(provider.presented).toHaveLength(1)
  })

  it('a definitive one about a token that another instance has replaced ends nothing', async () => {
    const fast = keeperOf('fast')
    provider.play({
      async before() {
        runtime.advance(16)
        await keep(fast)
        runtime.advance(hour)
        await keep(fast)
      },
    })
    // By now the token in flight is a grandparent, and the provider refuses it for good.
    expect(await keep(keeperOf('stalled'))).toMatchObject({ kind: 'live', session: { version: 3 } })
    expect(provider.active()).toBeUndefined()
    expect(await store.findRefreshToken('refresh grant a 1')).toMatchObject({ endReason: undefined })
    expect(reports).not.toContain('provider_session_ended')
  })

  it.each([
    'transient',
    'protocol',
    'rate_limited',
    'disabled',
    'expired',
    'denied',
    'invalid_token',
    'invalid_credentials',
    'email_unconfirmed',
  ] as const)('%s never ends a grant', async (failure) => {
    provider.play(failing(failure), failing(failure))
    const keeper = keeperOf('one')
    expect(await keep(keeper)).toEqual({ kind: 'unavailable', retryAfterSeconds: 5 })
    expect(provider.presented).toHaveLength(2)
    expect(reports).toEqual(['provider_refresh_failed'])
    runtime.advance(5)
    expect(await keep(keeper)).toMatchObject({ kind: 'live', session: { version: 2 } })
  })

  it('one failure is tried again at once', async () => {
    provider.play(failing('transient'))
    expect(await keep(keeperOf('one'))).toMatchObject({ kind: 'live', session: { version: 2 } })
    expect(provider.presented).toHaveLength(2)
    expect(reports).toEqual(['provider_refreshed'])
  })

  it('after a failure the provider is left alone for five seconds, whoever calls', async () => {
    provider.play(failing('transient'), failing('transient'))
    const keeper = keeperOf('one')
    const failedAt = runtime.now()
    await keep(keeper)
    runtime.advance(failedAt + 4 - runtime.now())
    expect(await race(() => keep(keeper))).toEqual(
      Array.from({ length: 50 }, () => ({ kind: 'unavailable', retryAfterSeconds: 1 })),
    )
    expect(provider.presented).toHaveLength(2)
    runtime.advance(1)
    await keep(keeper)
    expect(provider.presented).toHaveLength(3)
  })

  it.each([
    [30, 30],
    [60, 60],
    [86_400, 60],
  ])('a provider that asks for %i s is left alone for %i s, without a second try', async (asked, pause) => {
    provider.play(failing('rate_limited', asked))
    const keeper = keeperOf('one')
    expect(await keep(keeper)).toEqual({ kind: 'unavailable', retryAfterSeconds: pause })
    runtime.advance(pause - 1)
    expect(await keep(keeper)).toEqual({ kind: 'unavailable', retryAfterSeconds: 1 })
    expect(provider.presented).toHaveLength(1)
    runtime.advance(1)
    expect(await keep(keeper)).toMatchObject({ kind: 'live' })
  })

  it('the lease is given back, so that another instance may try at once', async () => {
    provider.play(failing('transient'), failing('transient'))
    await keep(keeperOf('one'))
    expect(await keep(keeperOf('two'))).toMatchObject({ kind: 'live', session: { version: 2 } })
  })
})

describe('attempts that take their time', () => {
  const timeout = {
    async before(): Promise<void> {
      await runtime.sleep(8000)
      throw new ProviderError('transient', 'No answer within eight seconds.')
    },
  }

  it('a token that ended meanwhile is not served', async () => {
    await connect()
    runtime.advance(hour - 10)
    provider.play(timeout, timeout)
    expect(await keep(keeperOf('one'))).toEqual({ kind: 'unavailable', retryAfterSeconds: 5 })
  })

  it('the pause counts from the end of the last one', async () => {
    await connect()
    runtime.advance(hour - 85)
    provider.play(timeout, timeout)
    const keeper = keeperOf('one')
    expect(await keep(keeper)).toMatchObject({ kind: 'live', session: { version: 1 } })
    runtime.advance(4)
    await keep(keeper)
    expect(provider.presented).toHaveLength(2)
    runtime.advance(1)
    expect(await keep(keeper)).toMatchObject({ kind: 'live', session: { version: 2 } })
  })
})

describe('the key ring', () => {
  beforeEach(async () => {
    await connect()
  })
  const other = { kid: 'other', key: new Uint8Array(32).fill(2) }

  it('a missing key is an outage, never the end of a grant, and blocks no other instance', async () => {
    runtime.advance(hour)
    const lost = keeperOf('lost', { sealer: createSealer([other], runtime.randomBytes) })
    expect(await keep(lost)).toEqual({ kind: 'unavailable', retryAfterSeconds: 5 })
    expect(provider.presented).toEqual([])
    expect(reports).toEqual(['provider_session_unreadable'])
    expect(await keep(keeperOf('sound'))).toMatchObject({ kind: 'live', session: { version: 2 } })
  })

  it('a missing key is told to whoever needs the token', async () => {
    const lost = keeperOf('lost', { sealer: createSealer([other], runtime.randomBytes) })
    expect(await keep(lost)).toMatchObject({ kind: 'live' })
    const session = await stored()
    expect(() => lost.accessToken(session)).toThrow(TypeError)
  })

  it('a session moved to another row does not open', async () => {
    const session = await stored()
    expect(() => keeperOf('one').accessToken({ ...session, grantId: 'grant b' })).toThrow(TypeError)
  })

  it('a refresh seals anew under the first key, so an old key can be retired', async () => {
    runtime.advance(hour)
    const old = { kid: 'k', key: new Uint8Array(32).fill(1) }
    const rotated = createSealer([other, old], runtime.randomBytes)
    await keep(keeperOf('one', { sealer: rotated }))
    const retired = createSealer([other], runtime.randomBytes)
    expect(keeperOf('one', { sealer: retired }).accessToken(await stored())).toBe('access 2')
  })
})

describe('an ended grant', () => {
  it('is ended, and the provider is not asked', async () => {
    const session = await connect()
    runtime.advance(hour)
    await store.endGrant('grant a', 'code_reuse', runtime.now())
    expect(await keeperOf('one').keep(session)).toEqual({ kind: 'ended' })
    expect(provider.presented).toEqual([])
  })

  it('that ended while the provider answered is ended', async () => {
    await connect()
    runtime.advance(hour)
    provider.play({ after: () => store.endGrant('grant a', 'refresh_token_reuse', runtime.now()) })
    expect(await keep(keeperOf('one'))).toEqual({ kind: 'ended' })
  })
})
