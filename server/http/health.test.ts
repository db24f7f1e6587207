import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import type { RequestContext } from './endpoint.ts'
import { toResponse } from '@drawbridge/shared/text-response.ts'
import { createHealthEndpoints, type ReadinessChecks } from './health.ts'

const context: RequestContext = { id: 'r1', address: undefined, report: () => {} }

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

function probe(
  path: '/healthz' | '/readyz',
  checks: ReadinessChecks,
  options?: { isDraining: () => boolean },
): () => Promise<{ status: number; body: unknown }> {
  const handler = createHealthEndpoints('', checks, options).find((row) => row.path === path)?.methods['GET']
  return async () => {
    const response = await handler?.(new Request(`http://localhost${path}`), context)
    return { status: response?.status ?? 0, body: response && (await toResponse(response).json()) }
  }
}

const good = async (): Promise<void> => {}
const bad = (): Promise<void> => Promise.reject(new Error('down'))
const silent = (): Promise<void> => new Promise(() => {})

it('/healthz answers 200 even if checks fail', async () => {
  expect(await probe('/healthz', { store: bad })()).toEqual({ status: 200, body: { status: 'ok' } })
})

describe('/readyz', () => {
  it('/readyz is 200 if every check holds', async () => {
    const body = { status: 'ok', checks: { store: 'ok', keys: 'ok' } }
    expect(await probe('/readyz', { store: good, keys: good })()).toEqual({ status: 200, body })
  })

  it('/readyz is 503 and names the check that fails', async () => {
    const body = { status: 'unavailable', checks: { store: 'failed', keys: 'ok' } }
    expect(await probe('/readyz', { store: bad, keys: good })()).toEqual({ status: 503, body })
  })

  it('/readyz answers within two seconds, also if a check never ends', async () => {
    const answer = probe('/readyz', { store: good, provider: silent })()
    await vi.advanceTimersByTimeAsync(1999)
    const body = { status: 'unavailable', checks: { store: 'ok', provider: 'timeout' } }
    expect(await answer).toEqual({ status: 503, body })
  })

  it('/readyz leaves no timer behind that would delay the end of the process', async () => {
    await probe('/readyz', { store: good, keys: bad })()
    expect(vi.getTimerCount()).toBe(0)
  })

  it('/readyz runs the checks once a second, however often it is requested', async () => {
    let runs = 0
    const ask = probe('/readyz', {
      async store() {
        runs += 1
      },
    })
    await Promise.all([ask(), ask(), ask()])
    await vi.advanceTimersByTimeAsync(999)
    await ask()
    expect(runs).toBe(1)
    await vi.advanceTimersByTimeAsync(1)
    await ask()
    expect(runs).toBe(2)
  })

  it('/readyz is 503 at once while the process ends, without any check', async () => {
    const answer = await probe('/readyz', { store: silent }, { isDraining: () => true })()
    expect(answer).toEqual({ status: 503, body: { status: 'draining' } })
  })
})
