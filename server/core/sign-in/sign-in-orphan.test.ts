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

it('a session that nothing came of is ended at the provider at once', async () => {
  const ports = portsWith(async (given) => void out.push(given))
  await endUnusedSession(session, ports)
  expect(out).toEqual([session])
  expect(await ports.store.listSealingKeys()).toEqual([])
})

it('a provider that does not answer now: the outbox has it, sealed, and ends it later', async () => {
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

it('a provider that cannot be asked to: nothing is tried again later', async () => {
  const ports = portsWith(() => Promise.reject(new ProviderError('disabled', 'no way')))
  await endUnusedSession(session, ports)
  expect(await ports.store.listSealingKeys()).toEqual([])
})

it('a store that fails as well is said so', async () => {
  const ports = portsWith(() => Promise.reject(down))
  const failed = new StoreUnavailableError('down', { cause: undefined })
  const store = { ...ports.store, addSecondFactor: () => Promise.reject(failed) }
  await expect(endUnusedSession(session, { ...ports, store })).rejects.toBe(failed)
})

it('a fault in the program is not hidden', async () => {
  const ports = portsWith(() => Promise.reject(new RangeError('a bug')))
  await expect(endUnusedSession(session, ports)).rejects.toThrow(RangeError)
})
