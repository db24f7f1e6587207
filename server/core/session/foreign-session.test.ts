import { beforeEach, expect, it } from 'vitest'
import {
  createKeeperFixture,
  grantId,
  type KeeperFixture,
} from '../../../tests/support/server/core/keeper-fixture.ts'
import { providerIssuer } from '../../../tests/support/server/core/rotating-provider.ts'
import { ProviderError } from './session-provider.ts'
import { openProviderSession } from './session-seal.ts'
import { SignOutWorker } from './sign-out-worker.ts'

const hour = 3600
const elsewhere = 'https://elsewhere.example/auth/v1'

let fx: KeeperFixture

beforeEach(async () => {
  fx = createKeeperFixture()
  await fx.connect()
})

/** Returns everything that reached the provider. */
const sent = (): string[] => [...fx.provider.presented, ...fx.provider.probed]

it.each([
  ['while its token lives', 0],
  ['when it is to be probed', 400],
  ['when it is to be refreshed', hour],
])(
  'a session that another provider issued is unavailable for a minute %s, reported once, and nothing is sent',
  async (_when, seconds) => {
    fx.runtime.advance(seconds)
    const keeper = fx.keeper('one', { providerIssuer: elsewhere, checkSeconds: 300 })
    for (let call = 0; call < 3; call += 1) {
      expect(await fx.keep(keeper)).toEqual({ kind: 'unavailable', retryAfterSeconds: 60 })
    }
    expect(sent()).toEqual([])
    expect(fx.reports).toEqual(['grant_of_other_provider'])
    const stored = await fx.stored()
    expect(() => keeper.open(stored)).toThrow(ProviderError)
    // With the setting corrected it continues, as nothing has ended.
    expect(await fx.keep(fx.keeper('two'))).toMatchObject({ kind: 'live' })
  },
)

it('a session names its provider after a refresh, too', async () => {
  fx.runtime.advance(hour)
  await fx.keep(fx.keeper('one'))
  expect(openProviderSession(await fx.stored(), fx.sealer)).toMatchObject({
    refreshToken: 'refresh 2',
    issuer: providerIssuer,
  })
})

it('a session is not signed out at another provider, and waits for its own', async () => {
  const reports: string[] = []
  const workerOf = (issuer: string) =>
    new SignOutWorker({
      store: fx.store,
      provider: fx.provider,
      providerIssuer: issuer,
      sealer: fx.sealer,
      runtime: fx.runtime,
      report: (event) => void reports.push(event),
    })
  await fx.store.endGrant(grantId, 'code_reuse', fx.runtime.now())
  expect(await workerOf(elsewhere).run()).toBe(1)
  expect(fx.provider.active()).toBe('refresh 1')
  fx.runtime.advance(20)
  await workerOf(providerIssuer).run()
  expect(fx.provider.active()).toBeUndefined()
  expect(reports).toEqual(['grant_of_other_provider', 'provider_signed_out'])
})
