import { beforeEach, describe, expect, it } from 'vitest'
import { start, addSealedGrant, sealerSample } from '../../../tests/support/server/core/grant-sample.ts'
import { providerSample, signInSample } from '../../../tests/support/server/core/sign-in-sample.ts'
import { type FakeRuntime, createFakeRuntime } from '../../../tests/support/server/fake-runtime.ts'
import { openMemoryStore } from '../../store/sqlite/sqlite.ts'
import { userIdOf } from './grant.ts'
import { SessionKeeper } from './session-keeper.ts'
import type { KeptSession } from './served-session.ts'
import { ProviderError, type ProviderSession, type SessionProvider } from './session-provider.ts'
import { openProviderSession, sealProviderSession } from './session-seal.ts'
import { shareSessions } from './shared-session.ts'
import { SignOutWorker } from './sign-out-worker.ts'
import type { Store } from '../store.ts'

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
  it('all have the session of the last sign-in', async () => {
    for (const id of ['a', 'b', 'c']) await connect(id)
    expect(await Promise.all(['a', 'b', 'c'].map(tokenOf))).toEqual([good, good, good])
  })

  it('live on side by side, whichever of them refreshes, at any instance', async () => {
    for (const id of ['b', 'a', 'c']) await connect(id)
    const keepers = [instance('one'), instance('two')]
    for (const id of ['a', 'b', 'c', 'a', 'c', 'b']) {
      runtime.advance(hour)
      for (const keeper of keepers) expect(await keep(keeper, id)).toBe('live')
      for (const other of ['a', 'b', 'c']) expect(await tokenOf(other)).toBe(good)
    }
    expect(refreshes).toBe(6)
  })

  it('that are due at once cost one refresh, however many calls and instances', async () => {
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

  it('live on when the one that came last ends, and the session with the last of them', async () => {
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

  it('do not lose it to the sign-out of one that ended when the access token was over', async () => {
    const worker = new SignOutWorker({
      store,
      provider: shared().endingProvider,
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

  it('get what a grant refreshed that ended meanwhile', async () => {
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

  it('survive a refresh that a sign-in overtakes', async () => {
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

  it('survive a refusal that comes before the sign-in which caused it is stored', async () => {
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

  it('one that missed a refresh takes the newest copy over, and asks nothing', async () => {
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

  it('end one by one when the provider ends the session', async () => {
    for (const id of ['a', 'b']) await connect(id)
    good = 'none'
    runtime.advance(hour)
    expect(await keep(instance('one'), 'a')).toBe('ended')
    expect(await keep(instance('two'), 'b')).toBe('ended')
  })
})
