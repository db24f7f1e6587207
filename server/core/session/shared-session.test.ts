import { beforeEach, describe, expect, it } from 'vitest'
import { start, addSealedGrant, sealerSample } from '../../../tests/support/server/core/grant-sample.ts'
import { providerSample, signInSample } from '../../../tests/support/server/core/sign-in-sample.ts'
import { type FakeRuntime, createFakeRuntime } from '../../../tests/support/server/fake-runtime.ts'
import { openMemoryStore } from '../../store/sqlite/sqlite.ts'
import { type GrantStore, type StoredProviderSession, userIdOf } from './grant.ts'
import { SessionKeeper } from './session-keeper.ts'
import type { KeptSession } from './served-session.ts'
import { ProviderError, type ProviderSession, type SessionProvider } from './session-provider.ts'
import { openProviderSession, sealProviderSession } from './session-seal.ts'
import { shareSessions } from './shared-session.ts'
import { SignOutWorker } from './sign-out-worker.ts'
import type { Store } from '../store.ts'
import { storeIsDown } from '../../../tests/support/server/core/keeper-fixture.ts'

const issuer = 'https://provider'
const hour = 3600
const idToken = `${btoa('{"alg":"RS256"}')}.${btoa('{"sub":"ada"}')}.sig`.replaceAll('=', '')

let runtime: FakeRuntime
let store: Store
let dex: SessionProvider
/** The only valid refresh token of ada. */
let good: string
let issuedTokens: number
let signedOut: string[]
let refreshes: number

/** A provider with one refresh token per user, which changes with every use and every sign-in. */
function issue(): ProviderSession {
  issuedTokens += 1
  good = `refresh ${issuedTokens}`
  return {
    accessToken: `access ${issuedTokens}`,
    refreshToken: good,
    expiresAt: runtime.now() + hour,
    idToken,
  }
}

const sealer = sealerSample()

beforeEach(() => {
  runtime = createFakeRuntime(start)
  store = openMemoryStore()
  issuedTokens = 0
  refreshes = 0
  signedOut = []
  dex = providerSample({
    issuer,
    async socialFinish() {
      const session = issue()
      const identity = { ...signInSample().identity, sub: 'ada' }
      return { kind: 'signed_in', signIn: { session, identity } }
    },
    async refresh({ refreshToken }) {
      refreshes += 1
      await runtime.sleep(5)
      if (refreshToken !== good) throw new ProviderError('terminal', 'replaced')
      return issue()
    },
    signOut: async ({ refreshToken }) => void signedOut.push(refreshToken),
  })
})

const shared = () => shareSessions({ store, provider: dex, sealer, runtime })

function instance(name = 'one'): SessionKeeper {
  return new SessionKeeper({
    store: shared().store,
    provider: dex,
    providerIssuer: issuer,
    sealer,
    runtime,
    owner: name,
    checkSeconds: undefined,
    report: () => {},
  })
}

async function connect(grantId: string): Promise<void> {
  const step = await shared().provider.socialFinish({
    params: new URLSearchParams(),
    secret: '',
    callbackUrl: '',
  })
  if (step.kind !== 'signed_in') throw new Error('A second factor was asked for.')
  const user = { id: userIdOf('ada', issuer), sub: 'ada', email: undefined, name: undefined }
  const grant = { id: grantId, user, createdAt: runtime.now() }
  await addSealedGrant(store, sealer, grantId, { grant, ...step.signIn.session, issuer })
  runtime.advance(1)
}

async function keep(keeper: SessionKeeper, grantId: string): Promise<KeptSession['kind']> {
  const session = await store.findProviderSession(grantId)
  return session ? (await keeper.keep(session)).kind : 'ended'
}

async function tokenOf(grantId: string): Promise<string | undefined> {
  const session = await store.findProviderSession(grantId)
  return session && openProviderSession(session, sealer)?.refreshToken
}

describe('connections of one person that share a session', () => {
  it('connections of one person all have the session of the last sign-in', async () => {
    for (const id of ['a', 'b', 'c']) await connect(id)
    expect(await Promise.all(['a', 'b', 'c'].map(tokenOf))).toEqual([good, good, good])
  })

  it('connections of one person stay live side by side, whichever refreshes, at any instance', async () => {
    for (const id of ['b', 'a', 'c']) await connect(id)
    const keepers = [instance('one'), instance('two')]
    for (const id of ['a', 'b', 'c', 'a', 'c', 'b']) {
      runtime.advance(hour)
      for (const keeper of keepers) expect(await keep(keeper, id)).toBe('live')
      for (const other of ['a', 'b', 'c']) expect(await tokenOf(other)).toBe(good)
    }
    expect(refreshes).toBe(6)
  })

  it('connections of one person that are due at once cost one refresh, however many calls and instances', async () => {
    for (const id of ['a', 'b', 'c']) await connect(id)
    runtime.advance(hour)
    const keepers = [instance('one'), instance('two')]
    const calls = keepers.flatMap((keeper) => ['a', 'b', 'c'].map((id) => [keeper, id] as const))
    const kinds = await Promise.all(
      calls.flatMap((call) => Array.from({ length: 10 }, () => keep(call[0], call[1]))),
    )
    expect(new Set(kinds)).toEqual(new Set(['live']))
    expect(refreshes).toBe(1)
  })

  it('connections of one person stay live when the latest ends, and lose the session with the last one', async () => {
    const { provider } = shared()
    for (const id of ['a', 'b']) await connect(id)
    await store.endGrant('b', 'revoked_by_user', runtime.now())
    const session = openProviderSession(
      (await store.findProviderSession('a')) ?? (undefined as never),
      sealer,
    ) as ProviderSession
    await expect(provider.signOut(session)).rejects.toMatchObject({ failure: 'disabled' })
    runtime.advance(hour)
    expect(await keep(instance(), 'a')).toBe('live')
    await store.endGrant('a', 'revoked_by_user', runtime.now())
    await provider.signOut({ ...session, refreshToken: good })
    expect(signedOut).toEqual([good])
  })

  it('connections of one person keep the session when one that ended is signed out after the access token had expired', async () => {
    const worker = new SignOutWorker({
      ...shared(),
      store,
      providerIssuer: issuer,
      sealer,
      runtime,
      report: (event) => events.push(event),
    })
    const events: string[] = []
    for (const id of ['a', 'b']) await connect(id)
    runtime.advance(hour)
    await store.endGrant('b', 'revoked_by_user', runtime.now())
    await worker.run()
    expect(events).toEqual(['provider_sign_out_skipped'])
    expect(await keep(instance(), 'a')).toBe('live')
    runtime.advance(hour)
    await store.endGrant('a', 'revoked_by_user', runtime.now())
    await worker.run()
    expect(events).toEqual(['provider_sign_out_skipped', 'provider_signed_out'])
    expect(signedOut).toEqual([good])
  })

  it('connections of one person get the session that an ended grant refreshed', async () => {
    for (const id of ['a', 'b']) await connect(id)
    runtime.advance(hour)
    const refresh = dex.refresh
    dex.refresh = async (session) => {
      const refreshed = await refresh(session)
      await store.endGrant('a', 'revoked_by_user', runtime.now())
      return refreshed
    }
    expect(await keep(instance(), 'a')).toBe('ended')
    dex.refresh = refresh
    expect(await tokenOf('b')).toBe(good)
    expect(await keep(instance(), 'b')).toBe('live')
  })

  it('connections of one person survive a sign-in during a refresh', async () => {
    await connect('a')
    runtime.advance(hour)
    const refresh = dex.refresh
    dex.refresh = async (session) => {
      dex.refresh = refresh
      await connect('b')
      return refresh(session)
    }
    expect(await keep(instance(), 'a')).toBe('live')
    expect(await keep(instance(), 'b')).toBe('live')
  })

  it('connections of one person survive a refusal that comes before the sign-in which caused it is stored', async () => {
    await connect('a')
    runtime.advance(hour)
    const { sleep } = runtime
    dex.refresh = () => {
      // From now on, waiting lasts until that sign-in has arrived.
      runtime.sleep = async (ms) => {
        runtime.sleep = sleep
        await connect('b')
        await sleep(ms)
      }
      return Promise.reject(new ProviderError('terminal', 'replaced'))
    }
    expect(await keep(instance(), 'a')).toBe('live')
    expect(await tokenOf('a')).toBe(good)
  })

  it('connections of one person adopt the newest copy without a request after a missed refresh', async () => {
    for (const id of ['a', 'b']) await connect(id)
    const older = await store.findProviderSession('b')
    runtime.advance(hour)
    await keep(instance(), 'a')
    const stored = await store.findProviderSession('b')
    const opened = older && openProviderSession(older, sealer)
    if (!stored || !older || !opened) throw new Error('The grant has ended.')
    // As if the copy had been lost.
    const row = { grantId: 'b', version: stored.version + 1, issuedAt: older.issuedAt }
    await store.saveProviderSession(sealProviderSession(opened, row, sealer))
    expect(await keep(instance(), 'b')).toBe('live')
    expect(await tokenOf('b')).toBe(good)
    expect(refreshes).toBe(1)
  })

  it('connections of one person end one by one when the provider ends the session', async () => {
    for (const id of ['a', 'b']) await connect(id)
    good = 'none'
    runtime.advance(hour)
    expect(await keep(instance('one'), 'a')).toBe('ended')
    expect(await keep(instance('two'), 'b')).toBe('ended')
  })
})

describe("the one right to refresh of a user's connections", () => {
  let [one, two]: GrantStore[] = []
  beforeEach(async () => {
    ;[one, two] = [shared().store, shared().store]
    for (const id of ['a', 'b', 'c']) await connect(id)
  })

  const storedOf = async (grantId: string): Promise<StoredProviderSession> =>
    (await store.findProviderSession(grantId)) ?? (undefined as never)
  const lease = async (
    at: GrantStore | undefined,
    grantId: string,
    owner: string,
  ): Promise<string | undefined> => {
    const { version } = await storedOf(grantId)
    const until = runtime.now() + 60
    return (await at?.leaseProviderSession({ grantId, version, owner, until }, runtime.now()))?.kind
  }
  /** The session of a grant as a refresh of that time leaves it. */
  const renewed = async (grantId: string, issuedAt: number): Promise<StoredProviderSession> => {
    const row = { grantId, version: (await storedOf(grantId)).version + 1, issuedAt }
    return sealProviderSession({ ...issue(), issuer }, row, sealer)
  }

  it.each<[how: string, end: () => Promise<unknown> | undefined]>([
    ['is released', () => one?.releaseProviderSession({ grantId: 'b', owner: 'one', outcomeKnown: true })],
    ['has stored what it got', async () => one?.saveProviderSession(await renewed('b', runtime.now()))],
    [
      'was refused',
      async () => one?.endRefusedSession(await storedOf('b'), 'provider_session_ended', runtime.now()),
    ],
  ])('the right to refresh is held by one connection until it %s', async (_how, end) => {
    expect(await lease(one, 'b', 'one')).toBe('leased')
    for (const [at, id] of [
      [two, 'a'],
      [two, 'b'],
      [two, 'c'],
      [one, 'c'],
    ] as const)
      expect(await lease(at, id, 'two')).toBe('held')
    await end()
    expect(await lease(two, 'c', 'two')).toBe('leased')
  })

  it('the right to refresh is returned by a connection whose own session is leased by another', async () => {
    expect(await lease(store, 'c', 'other')).toBe('leased')
    expect(await lease(one, 'c', 'one')).toBe('held')
    expect(await lease(two, 'b', 'two')).toBe('leased')
  })

  it('the right to refresh belongs to the first live connection', async () => {
    await store.endGrant('a', 'revoked_by_user', runtime.now())
    expect(await lease(one, 'c', 'one')).toBe('leased')
    expect(await lease(two, 'b', 'two')).toBe('held')
    expect(await lease(two, 'a', 'two').catch(() => 'ended')).not.toBe('leased')
  })

  it('the right to refresh is not granted for a copy that was replaced since it was read', async () => {
    const { version } = await storedOf('b')
    await store.saveProviderSession(await renewed('b', runtime.now()))
    const until = runtime.now() + 60
    const late = await one?.leaseProviderSession(
      { grantId: 'b', version, owner: 'one', until },
      runtime.now(),
    )
    expect(late?.kind).toBe('held')
    expect(await lease(two, 'c', 'two')).toBe('held')
    expect(await tokenOf('c')).toBe(good)
    expect(await lease(two, 'c', 'two')).toBe('leased')
  })

  it('a refresh of a shared session does not overwrite a newer copy', async () => {
    const newer = await renewed('b', runtime.now() + 10)
    await store.saveProviderSession(newer)
    expect(await one?.saveProviderSession(await renewed('a', runtime.now()))).toBe(true)
    expect(await storedOf('b')).toEqual(newer)
    expect(await tokenOf('a')).toBe(good)
    expect(await tokenOf('c')).toBe(good)
  })

  it('a store that fails after the session was stored loses nothing, and no other fault is hidden', async () => {
    const failing = (fault: () => Promise<never>): GrantStore =>
      shareSessions({ store: { ...store, findGrant: fault }, provider: dex, sealer, runtime }).store
    expect(await failing(storeIsDown).saveProviderSession(await renewed('a', runtime.now()))).toBe(true)
    expect(await tokenOf('a')).toBe(good)
    const broken = failing(() => Promise.reject(new TypeError('mistake')))
    await expect(broken.saveProviderSession(await renewed('a', runtime.now()))).rejects.toThrow('mistake')
  })
})

it('a session without a known user is signed out: no connection can need it', async () => {
  await connect('a')
  for (const unknown of [undefined, 'no JWT', `${btoa('{}')}.${btoa('{"sub":7}')}.sig`.replaceAll('=', '')]) {
    const session = { ...issue(), idToken: unknown }
    await shared().provider.signOut(session)
    expect(signedOut.at(-1)).toBe(session.refreshToken)
  }
})
