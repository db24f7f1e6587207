import type { Runtime } from '@drawbridge/shared/runtime.ts'
import type { Store } from '../core/store.ts'
import type { Metrics } from './metrics.ts'

/** Wraps `store` to record the duration of each operation in `metrics`. Returns `store` itself without metrics. */
export function observeStore(store: Store, metrics: Pick<Metrics, 'storeCall'> | undefined): Store {
  if (!metrics) return store
  const timed = ([operation, call]: [string, unknown]): [string, unknown] => [
    operation,
    typeof call === 'function' ? timedCall(operation, call as Call, metrics) : call,
  ]
  return Object.fromEntries(Object.entries(store).map(timed)) as unknown as Store
}

type Call = (...given: unknown[]) => Promise<unknown>

function timedCall(operation: string, call: Call, metrics: Pick<Metrics, 'storeCall'>): Call {
  return async (...given) => {
    const began = performance.now()
    let outcome: 'ok' | 'failed' = 'failed'
    try {
      const result = await call(...given)
      outcome = 'ok'
      return result
    } finally {
      metrics.storeCall(operation, outcome, secondsSince(began))
    }
  }
}

/**
 * Wraps `runtime` to record the time until each response begins in `metrics`. `targets` names origins; all others are `other`.
 * Returns `runtime` itself without metrics.
 */
export function observeFetch(
  runtime: Runtime,
  targets: Readonly<Record<string, string>>,
  metrics: Pick<Metrics, 'outgoingCall'> | undefined,
): Runtime {
  if (!metrics) return runtime
  return {
    ...runtime,
    async fetch(request, options) {
      const target = targets[new URL(request.url).origin] ?? 'other'
      const began = performance.now()
      let status: number | undefined
      try {
        const response = await runtime.fetch(request, options)
        status = response.status
        return response
      } finally {
        metrics.outgoingCall(target, status, secondsSince(began))
      }
    },
  }
}

function secondsSince(began: number): number {
  return (performance.now() - began) / 1000
}
