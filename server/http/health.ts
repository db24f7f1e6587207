import { settledWithin, within } from '@drawbridge/shared/async.ts'
import type { Endpoint, EndpointHandler } from './endpoint.ts'
import { json } from './response.ts'

/** Maps the name of each dependency to a check that rejects when it is unavailable. */
export type ReadinessChecks = Readonly<Record<string, () => Promise<unknown>>>

/** Shorter than probes wait, so that they learn which check failed. */
const checkTimeoutMs = 1500
/** However often they are requested, the checks run once in this time. */
const freshMs = 1000

/**
 * `/healthz`: the process responds. `/readyz`: the checks pass; 503 lists the ones that do not, within two seconds. While
 * `isDraining` it is 503 although requests are still served, so that a load balancer stops sending them.
 */
export function createHealthEndpoints(
  basePath: string,
  checks: ReadinessChecks,
  { isDraining = () => false }: { isDraining?: () => boolean } = {},
): Endpoint[] {
  const look = remembered(() => runChecks(checks))
  const [liveness, readiness] = healthPaths(basePath)
  return [
    probed(liveness, () => json({ status: 'ok' })),
    probed(readiness, async () => {
      if (isDraining()) return json({ status: 'draining' }, 503)
      const states = await look()
      const isReady = Object.values(states).every((state) => state === 'ok')
      return json({ status: isReady ? 'ok' : 'unavailable', checks: states }, isReady ? 200 : 503)
    }),
  ]
}

/** Returns the paths of the two endpoints, below the path of the base URL. */
export function healthPaths(basePath: string): readonly [liveness: string, readiness: string] {
  return [`${basePath}/healthz`, `${basePath}/readyz`]
}

/** Answers every probe alike: load balancers ask with the host and the method that they please, some with OPTIONS. */
function probed(path: string, handler: EndpointHandler): Endpoint {
  return { path, cors: 'none', anyHost: true, methods: { GET: handler }, otherMethods: handler }
}

/** Callers during `work`, or within a second after its end, get the same result. */
function remembered<Result>(work: () => Promise<Result>): () => Promise<Result> {
  let last: Promise<Result> | undefined
  let freshUntil = Infinity
  return () => {
    if (!last || performance.now() >= freshUntil) {
      freshUntil = Infinity
      last = work().finally(() => {
        freshUntil = performance.now() + freshMs
      })
    }
    return last
  }
}

const outcomes = { done: 'ok', failed: 'failed', waiting: 'timeout' } as const

async function runChecks(checks: ReadinessChecks): Promise<Record<string, string>> {
  const states = await Promise.all(
    Object.entries(checks).map(
      async ([name, check]) => [name, outcomes[await settledWithin(check(), checkTimeoutMs)]] as const,
    ),
  )
  return Object.fromEntries(states)
}

/** Shorter than `/readyz` waits for a check, so that a slow one returns its last result. */
const patienceMs = 1000
/** A check that fails this fast is tried once more: one broken connection is not an outage. */
const quickFailureMs = 2000
const retryPauseMs = 200

/**
 * Makes the readiness check of a remote service steady: the first call after an outage notices it, and a slow response changes
 * nothing. Resolves when the last result was good. Rejects with the failure of `check` when it failed twice in a row, or once
 * after more than two seconds. While `check` takes longer than a second, its last result stands; before the first result the
 * caller waits as long as it takes. `check` must end by itself.
 */
export function createSteadyCheck(check: () => Promise<unknown>): () => Promise<void> {
  let last: { failure: { error: unknown } | undefined } | undefined
  let looking: Promise<void> | undefined

  async function look(): Promise<void> {
    const startedAt = performance.now()
    let failure = await failureOf(check)
    if (failure && performance.now() - startedAt < quickFailureMs) {
      await new Promise((resolve) => setTimeout(resolve, retryPauseMs))
      failure = await failureOf(check)
    }
    last = { failure }
    looking = undefined
  }

  return async () => {
    looking ??= look()
    await (last ? within(patienceMs, looking) : looking)
    if (last?.failure) throw last.failure.error
  }
}

async function failureOf(check: () => Promise<unknown>): Promise<{ error: unknown } | undefined> {
  try {
    await check()
    return undefined
  } catch (error) {
    return { error }
  }
}
