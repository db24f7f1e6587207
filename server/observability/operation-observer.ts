import type { Runtime } from '@drawbridge/shared/runtime.ts'
import type { Store } from '../core/store.ts'
import type { Metrics } from './metrics.ts'

/** Receives finished operations: metrics, telemetry or both. */
export type OperationObserver = Pick<Metrics, 'storeCall' | 'outgoingCall'>

/** Joins observers into one; undefined if there is none. */
export function joinObservers(
  ...given: readonly (OperationObserver | undefined)[]
): OperationObserver | undefined {
  const observers = given.filter((each) => each !== undefined)
  if (observers.length < 2) return observers[0]
  return {
    storeCall: (...call) => observers.forEach((each) => each.storeCall(...call)),
    outgoingCall: (...call) => observers.forEach((each) => each.outgoingCall(...call)),
  }
}

/** Wraps `store` to tell `observer` the duration of each operation. Returns `store` itself without one. */
export function observeStore(store: Store, observer: OperationObserver | undefined): Store {
  if (!observer) return store
  const timed = ([operation, call]: [string, unknown]): [string, unknown] => [
    operation,
    typeof call === 'function' ? timedCall(operation, call as Call, observer) : call,
  ]
  return Object.fromEntries(Object.entries(store).map(timed)) as unknown as Store
}

type Call = (...given: unknown[]) => Promise<unknown>

function timedCall(operation: string, call: Call, observer: OperationObserver): Call {
  return async (...given) => {
    const began = performance.now()
    let outcome: 'ok' | 'failed' = 'failed'
    try {
      const result = await call(...given)
      outcome = 'ok'
      return result
    } finally {
      observer.storeCall(operation, outcome, secondsSince(began))
    }
  }
}

/**
 * Wraps `runtime` to tell `observer` the time until each response begins. `targets` names origins; all others are `other`.
 * Returns `runtime` itself without one.
 */
export function observeFetch(
  runtime: Runtime,
  targets: Readonly<Record<string, string>>,
  observer: OperationObserver | undefined,
): Runtime {
  if (!observer) return runtime
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
        observer.outgoingCall(target, status, secondsSince(began), request.method)
      }
    },
  }
}

function secondsSince(began: number): number {
  return (performance.now() - began) / 1000
}
