import { afterEach, beforeEach, expect, it } from 'vitest'
import { SessionKeeper } from '../../core/session/session-keeper.ts'
import type { SessionKeeperPorts } from '../../core/session/session-refresh.ts'
import { openMemoryStore } from '../../store/sqlite/sqlite.ts'
import { race, addSealedGrant, sealerSample } from '../../../tests/support/server/core/grant-sample.ts'
import { type GotrueFixture, startGotrue } from '../../../tests/support/server/supabase-fixture.ts'

let fixture: GotrueFixture
beforeEach(() => {
  fixture = startGotrue()
})
afterEach(() => fixture.embedded.close())

async function connect() {
  const { provider } = fixture
  const sealer = sealerSample()
  const { session, identity } = await fixture.signInSocially()
  const store = openMemoryStore()
  const { grantId } = await addSealedGrant(store, sealer, 'a', { ...session, issuer: provider.issuer })
  const keeperOf = (owner: string, ports: Pick<SessionKeeperPorts, 'runtime' | 'report'>) =>
    new SessionKeeper({
      store,
      provider,
      providerIssuer: provider.issuer,
      sealer,
      owner,
      checkSeconds: undefined,
      ...ports,
    })
  const stored = async () => {
    const found = await store.findProviderSession(grantId)
    if (!found) throw new Error('The grant has ended.')
    return found
  }
  return { keeperOf, stored, sub: identity.sub }
}

it('fifty calls on two instances at expiry rotate once', async () => {
  const { embedded, runtime } = fixture
  const { keeperOf, stored } = await connect()
  // The provider signs in real time, so wait for the other instance's report rather than for a clock.
  let report = (): void => {}
  const refreshed = new Promise<void>((resolve) => {
    report = resolve
  })
  const ports = { runtime: { now: runtime.now, sleep: () => refreshed }, report: () => report() }
  const keepers = [keeperOf('one', ports), keeperOf('two', ports)] as const
  runtime.advance(3600)
  const session = await stored()
  const kept = await race((index) => keepers[index % 2 === 0 ? 0 : 1].keep(session))
  expect(kept.every(({ kind }) => kind === 'live')).toBe(true)
  expect(embedded.admin.counters.rotations).toBe(1)
  expect(embedded.admin.counters.token.refresh_token).toBe(1)
})

it('four days of hourly refreshes, with every tenth reply lost and every tenth answer a 503', async () => {
  const { embedded, provider, runtime } = fixture
  const { keeperOf, stored, sub } = await connect()
  const ports = { runtime, report: () => {} }
  const keepers = [keeperOf('one', ports), keeperOf('two', ports)] as const
  embedded.admin.setReuseInterval(0)
  for (let hour = 1; hour <= 96; hour += 1) {
    runtime.advance(3600)
    if (hour % 10 === 3) embedded.admin.setFaults({ dropReplyAfterRotation: 1 })
    if (hour % 10 === 7) embedded.admin.setFaults({ failNext: { status: 503, count: 1 } })
    const kept = await keepers[hour % 2 === 0 ? 0 : 1].keep(await stored())
    if (kept.kind !== 'live') throw new Error(`Hour ${hour}: ${kept.kind}.`)
    const token = keepers[0].open(kept.session).accessToken
    expect((await provider.verify(token)).sub).toBe(sub)
  }
  expect(embedded.admin.counters).toMatchObject({ rotations: 96, reuseRevocations: 0 })
  expect(await stored()).toMatchObject({ version: 97 })
})
