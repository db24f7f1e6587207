import { expect, it } from 'vitest'
import { SignOutWorker } from '../session/sign-out-worker.ts'
import { ProviderError, type ProviderSession } from '../session/session-provider.ts'
import { endUnusedSession } from './sign-in-orphan.ts'
import { StoreUnavailableError } from '../store-unavailable.ts'
import {
  providerSample,
  signInPortsSample,
  signInSample,
} from '../../../tests/support/server/core/sign-in-sample.ts'

const { session } = signInSample()
const out: ProviderSession[] = []
const down = new ProviderError('transient', 'down')

function portsWith(signOut: (given: ProviderSession) => Promise<void>): ReturnType<typeof signInPortsSample> {
  out.length = 0
  return signInPortsSample(providerSample({ signOut }))
}

it('an unused session is ended at the provider at once', async () => {
  const ports = portsWith(async (given) => void out.push(given))
  await endUnusedSession(session, ports)
  expect(out).toEqual([session])
  expect(await ports.store.listSealingKeys()).toEqual([])
})

it('an unused session is left in the outbox, sealed, if the provider does not answer', async () => {
  let answers = false
  const ports = portsWith(async (given) => {
    if (!answers) throw down
    out.push(given)
  })
  await endUnusedSession(session, ports)
  const now = ports.runtime.now()
  const [claimed] = await ports.store.claimSignOuts({ limit: 10, until: now }, now)
  expect(JSON.stringify(claimed)).not.toContain(session.accessToken)
  answers = true
  const { store, provider, sealer, runtime } = ports
  const worker = new SignOutWorker({
    store,
    provider,
    providerIssuer: provider.issuer,
    sealer,
    runtime,
    report: () => {},
  })
  await worker.run()
  expect(out).toEqual([session])
})

it('an unused session is not signed out again if the provider cannot end sessions', async () => {
  const ports = portsWith(() => Promise.reject(new ProviderError('disabled', 'no way')))
  await endUnusedSession(session, ports)
  expect(await ports.store.listSealingKeys()).toEqual([])
})

it('an unused session that cannot be stored for its sign-out is reported', async () => {
  const ports = portsWith(() => Promise.reject(down))
  const failed = new StoreUnavailableError('down', { cause: undefined })
  const store = { ...ports.store, addSecondFactor: () => Promise.reject(failed) }
  await expect(endUnusedSession(session, { ...ports, store })).rejects.toBe(failed)
})

it('the end of an unused session does not hide a fault in the program', async () => {
  const ports = portsWith(() => Promise.reject(new RangeError('a bug')))
  await expect(endUnusedSession(session, ports)).rejects.toThrow(RangeError)
})
