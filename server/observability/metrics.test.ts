import { beforeEach, describe, expect, it } from 'vitest'
import { openMemoryStore } from '../store/sqlite/sqlite.ts'
import { createFakeRuntime } from '../../tests/support/server/fake-runtime.ts'
import { observeFetch, observeStore } from './operation-observer.ts'
import { createMetrics, createMetricsEndpoint, type Metrics, metricTable } from './metrics.ts'

let metrics: Metrics
beforeEach(async () => {
  metrics = await createMetrics('0.1.0')
})

/** Returns the samples whose name and labels start with `prefix`, without comments. */
async function samples(prefix: string): Promise<string[]> {
  const { text } = await metrics.render()
  return text.split('\n').filter((line) => line.startsWith(prefix))
}

describe('the metrics', () => {
  it('the metrics are those of the table, beside those of the process', async () => {
    const { text, contentType } = await metrics.render()
    for (const [name, { type, help }] of Object.entries(metricTable)) {
      expect(text).toContain(`# HELP ${name} ${help}\n# TYPE ${name} ${type}\n`)
    }
    expect(text).toContain('process_resident_memory_bytes')
    expect(text).toContain('nodejs_eventloop_lag_seconds')
    expect(contentType).toMatch(/^text\/plain; version=0\.0\.4/)
  })

  it('the metrics count requests by endpoint and status class, and those in flight', async () => {
    metrics.requestStarted()
    metrics.requestStarted()
    metrics.requestEnded('/mcp', 401, 0.003)
    expect(await samples('drawbridge_http_requests_in_flight')).toEqual([
      'drawbridge_http_requests_in_flight 1',
    ])
    const [count] = await samples('drawbridge_http_request_duration_seconds_count')
    expect(count).toBe('drawbridge_http_request_duration_seconds_count{endpoint="/mcp",status="4xx"} 1')
  })

  it('the metrics count events from zero, each with its detail', async () => {
    const line = 'drawbridge_events_total{event="signed_in",detail=""}'
    expect(await samples(line)).toEqual([`${line} 0`])
    metrics.event('signed_in', { client_id: 'c', sub: 'ada' })
    expect(await samples(line)).toEqual([`${line} 1`])
    metrics.event('grant_ended', { reason: 'refresh_token_reuse' })
    const ended = 'drawbridge_events_total{event="grant_ended",detail="refresh_token_reuse"}'
    expect(await samples(ended)).toEqual([`${ended} 1`])
  })

  it('the metrics are bounded: unknown events and further details are counted as other', async () => {
    for (let n = 0; n < 200; n += 1) {
      metrics.event(`made up ${n}`, {})
      metrics.event('sign_in_failed', { failure: `failure ${n}` })
    }
    expect(await samples('drawbridge_events_total{event="other"')).toEqual([
      'drawbridge_events_total{event="other",detail=""} 200',
    ])
    const details = await samples('drawbridge_events_total{event="sign_in_failed"')
    expect(details).toHaveLength(51)
    expect(details.at(-1)).toBe('drawbridge_events_total{event="sign_in_failed",detail="other"} 150')
  })

  it('the metrics time operations of the store, failed or not, and pass their results on', async () => {
    const store = observeStore(
      { ...openMemoryStore(), findGrant: () => Promise.reject(new Error('down')) },
      metrics,
    )
    expect(await store.findClient('nobody')).toBeUndefined()
    await expect(store.findGrant('g')).rejects.toThrow('down')
    const name = 'drawbridge_store_operation_duration_seconds_count'
    expect(await samples(name)).toEqual([
      `${name}{operation="findClient",outcome="ok"} 1`,
      `${name}{operation="findGrant",outcome="failed"} 1`,
    ])
  })

  it('the metrics time outgoing requests by target, those without a response too', async () => {
    const runtime = {
      ...createFakeRuntime(),
      fetch: (request: Request) =>
        request.url.endsWith('/down')
          ? Promise.reject(new Error('refused'))
          : Promise.resolve(new Response(null, { status: 204 })),
    }
    const observed = observeFetch(runtime, { 'https://ref.supabase.co': 'provider' }, metrics)
    await observed.fetch(new Request('https://ref.supabase.co/auth/v1/token'))
    await observed.fetch(new Request('https://elsewhere.example/'))
    await expect(observed.fetch(new Request('https://ref.supabase.co/down'))).rejects.toThrow('refused')
    const name = 'drawbridge_outgoing_request_duration_seconds_count'
    expect(await samples(name)).toEqual([
      `${name}{target="provider",status="2xx"} 1`,
      `${name}{target="other",status="2xx"} 1`,
      `${name}{target="provider",status="failed"} 1`,
    ])
  })

  it('the metrics wrap neither store nor runtime while they are off', () => {
    const store = openMemoryStore()
    const runtime = createFakeRuntime()
    expect(observeStore(store, undefined)).toBe(store)
    expect(observeFetch(runtime, {}, undefined)).toBe(runtime)
  })
})

describe('the endpoint of the metrics', () => {
  const ask = (path: string, method = 'GET'): Promise<Response> =>
    createMetricsEndpoint(metrics)(new Request(`http://127.0.0.1:9464${path}`, { method }))

  it('the endpoint of the metrics answers GET /metrics', async () => {
    const response = await ask('/metrics')
    expect([response.status, response.headers.get('content-type')]).toEqual([
      200,
      expect.stringMatching(/^text\/plain/),
    ])
    expect(await response.text()).toContain('drawbridge_build_info{version=')
  })

  it.each([
    ['/', 'GET', 404],
    ['/mcp', 'GET', 404],
    ['/metrics/', 'GET', 404],
    ['/metrics', 'POST', 405],
  ])('the endpoint of the metrics answers nothing else: %s by %s is %i', async (path, method, status) => {
    expect((await ask(path, method)).status).toBe(status)
  })
})
