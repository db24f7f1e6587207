import { beforeEach, describe, expect, it } from 'vitest'
import {
  createKeeperFixture,
  grantId,
  type KeeperFixture,
} from '../../../tests/support/server/core/keeper-fixture.ts'
import { failing } from '../../../tests/support/server/core/rotating-provider.ts'
import type { SessionKeeper } from './session-keeper.ts'
import type { SessionKeeperPorts } from './session-refresh.ts'
import { ProviderError, type SessionLife } from './session-provider.ts'

const checkSeconds = 300

let fx: KeeperFixture
let keeper: SessionKeeper

beforeEach(async () => {
  fx = createKeeperFixture()
  await fx.connect()
  keeper = checking('one')
})

/** Creates a keeper that probes. */
function checking(owner: string, overrides: Partial<SessionKeeperPorts> = {}): SessionKeeper {
  return fx.keeper(owner, { checkSeconds, ...overrides })
}

const version = (number: number) => ({ kind: 'live', session: { version: number } })

const outage = (): never => {
  throw new ProviderError('transient', 'No answer.')
}

it('a session is probed on use, once the last proof is older than checkSeconds', async () => {
  fx.runtime.advance(0.9 * checkSeconds - 1)
  await fx.keep(keeper)
  expect(fx.provider.probed).toEqual([])
  fx.runtime.advance(checkSeconds)
  await fx.keep(keeper)
  expect(fx.provider.probed).toEqual(['access 1'])
  expect(fx.provider.presented).toEqual([])
})

it('a session is not probed for as long after a refresh, which is proof, too', async () => {
  fx.runtime.advance(3600)
  expect(await fx.keep(keeper)).toMatchObject(version(2))
  fx.runtime.advance(0.9 * checkSeconds - 1)
  await fx.keep(keeper)
  expect(fx.provider.probed).toEqual([])
  fx.runtime.advance(checkSeconds)
  await fx.keep(keeper)
  expect(fx.provider.probed).toEqual(['access 2'])
})

describe('an ended session', () => {
  beforeEach(() => fx.runtime.advance(checkSeconds))

  it('a session that ended at the provider ends the grant, long before its token expires', async () => {
    fx.provider.end()
    expect(await fx.keep(keeper)).toEqual({ kind: 'ended' })
    expect(await fx.endReason()).toBe('provider_session_ended')
    expect(fx.reports).toEqual(['provider_session_ended'])
    expect(fx.provider.presented).toEqual([])
  })

  it('a session that another instance replaced during the probe ends nothing', async () => {
    const other = fx.keeper('other')
    fx.provider.playProbe(async (): Promise<SessionLife> => {
      fx.runtime.advance(3600)
      await fx.keep(other)
      return 'ended'
    })
    expect(await fx.keep(keeper)).toMatchObject(version(2))
    expect(await fx.endReason()).toBeUndefined()
    expect(fx.reports).toEqual(['provider_refreshed'])
  })

  it('a session of a grant that ended during the probe is ended, and reported once', async () => {
    fx.provider.playProbe(async (): Promise<SessionLife> => {
      await fx.store.endGrant(grantId, 'code_reuse', fx.runtime.now())
      return 'ended'
    })
    expect(await fx.keep(keeper)).toEqual({ kind: 'ended' })
    expect(fx.reports).toEqual([])
  })
})

describe('a token that the provider refuses before its time', () => {
  const refuse = (): SessionLife => 'token_refused'

  beforeEach(() => fx.runtime.advance(checkSeconds))

  it('a token after an early refusal is not probed early, which would loop', async () => {
    fx.provider.playProbe(refuse, refuse, refuse)
    await fx.keep(keeper)
    for (let call = 0; call < 10; call += 1) expect(await fx.keep(keeper)).toMatchObject(version(2))
    expect(fx.provider.probed).toHaveLength(1)
    expect(fx.provider.presented).toHaveLength(1)
  })

  it('a token that the provider refuses early is not served while it cannot be refreshed, and is refreshed once that works', async () => {
    fx.provider.playProbe(refuse)
    fx.provider.play(failing('transient'), failing('transient'))
    expect(await fx.keep(keeper)).toEqual({ kind: 'unavailable', retryAfterSeconds: 5 })
    fx.runtime.advance(5)
    expect(await fx.keep(keeper)).toMatchObject(version(2))
    expect(fx.provider.probed).toHaveLength(1)
  })

  it('a token that the provider refuses early is not served while another instance refreshes it', async () => {
    const holder = { grantId, version: 1, owner: 'other', until: fx.runtime.now() + 15 }
    await fx.store.leaseProviderSession(holder, fx.runtime.now())
    fx.provider.playProbe(refuse)
    expect(await fx.keep(keeper)).toEqual({ kind: 'unavailable', retryAfterSeconds: 1 })
    expect(fx.provider.presented).toEqual([])
  })
})

describe('a provider that gives no answer', () => {
  beforeEach(async () => {
    await fx.connect('grant b')
    fx.runtime.advance(checkSeconds)
  })

  it('a session is served while the provider gives no answer, and none is probed for thirty seconds', async () => {
    fx.provider.playProbe(outage)
    expect(await fx.keep(keeper)).toMatchObject(version(1))
    expect(fx.reports).toEqual(['provider_probe_failed'])
    fx.runtime.advance(29)
    expect(await fx.keep(keeper, 'grant b')).toMatchObject(version(1))
    expect(fx.provider.probed).toHaveLength(1)
  })

  it('a token that expires during an unanswered probe is not served', async () => {
    const session = await fx.stored()
    fx.provider.playProbe(async (): Promise<SessionLife> => {
      await fx.runtime.sleep(3_300_000)
      return outage()
    })
    expect(await keeper.keep(session)).toMatchObject({ kind: 'unavailable' })
  })
})
