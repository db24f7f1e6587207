import { logEvents } from './log-event.ts'

/** Counters and timings of the server, if they are collected. */
export interface Metrics {
  /** Counts an event of the log, at any log level. */
  event(name: string, fields: Readonly<Record<string, unknown>>): void
  requestStarted(): void
  /** `endpoint` is one of a closed set of paths. */
  requestEnded(endpoint: string, status: number, seconds: number): void
  storeCall(operation: string, outcome: 'ok' | 'failed', seconds: number): void
  /** `status` is undefined without a response. `method` is the HTTP method. */
  outgoingCall(target: string, status: number | undefined, seconds: number, method?: string): void
  /** Returns the response of `GET /metrics` in the text format of Prometheus. */
  render(): Promise<{ contentType: string; text: string }>
}

/** One row of the documentation: a metric, its labels, and its meaning. */
export interface MetricRow {
  type: 'counter' | 'gauge' | 'histogram'
  labels: readonly string[]
  help: string
}

/** Every metric of our own, by name. Process and Node metrics are collected as well. */
export const metricTable = {
  drawbridge_http_request_duration_seconds: {
    type: 'histogram',
    labels: ['endpoint', 'status'],
    help: 'Requests by endpoint and status class, until their response begins; unknown paths are other.',
  },
  drawbridge_http_requests_in_flight: {
    type: 'gauge',
    labels: [],
    help: 'Requests whose response has not begun.',
  },
  drawbridge_events_total: {
    type: 'counter',
    labels: ['event', 'detail'],
    help: 'Events of the table above, logged or not.',
  },
  drawbridge_store_operation_duration_seconds: {
    type: 'histogram',
    labels: ['operation', 'outcome'],
    help: 'Operations of the store, waiting for a connection included; outcome is ok or failed.',
  },
  drawbridge_outgoing_request_duration_seconds: {
    type: 'histogram',
    labels: ['target', 'status'],
    help: 'Requests of this server to provider, app, upstream or other, by status class; failed is without a response.',
  },
  drawbridge_tool_calls_total: {
    type: 'counter',
    labels: ['tool', 'outcome'],
    help: 'Calls of tools, as in the event tool_called; unknown names are other, names that an upstream has not listed yet are unlisted.',
  },
  drawbridge_tool_call_duration_seconds: {
    type: 'histogram',
    labels: ['tool'],
    help: 'Duration of tool calls, without refused ones.',
  },
  drawbridge_build_info: { type: 'gauge', labels: ['version', 'node'], help: 'Always 1.' },
} satisfies Record<string, MetricRow>

const maxDetails = 50
const buckets = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]

/**
 * Creates the {@link Metrics}. Loads their library, so that a server without metrics pays nothing for it. Every label has a bounded
 * number of values, whatever is requested.
 */
export async function createMetrics(version: string): Promise<Metrics> {
  const { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } = await import('prom-client')
  const registry = new Registry()
  collectDefaultMetrics({ register: registry })
  const options = (name: keyof typeof metricTable) => ({
    name,
    help: metricTable[name].help,
    labelNames: [...metricTable[name].labels],
    registers: [registry],
  })
  const requests = new Histogram({ ...options('drawbridge_http_request_duration_seconds'), buckets })
  const inFlight = new Gauge(options('drawbridge_http_requests_in_flight'))
  const events = new Counter(options('drawbridge_events_total'))
  const storeCalls = new Histogram({ ...options('drawbridge_store_operation_duration_seconds'), buckets })
  const outgoing = new Histogram({ ...options('drawbridge_outgoing_request_duration_seconds'), buckets })
  new Gauge(options('drawbridge_build_info')).set({ version, node: process.versions.node }, 1)
  const toolCalls = new Counter(options('drawbridge_tool_calls_total'))
  const toolCallTimes = new Histogram({ ...options('drawbridge_tool_call_duration_seconds'), buckets })
  const toolLabel = createBoundedLabel(maxToolLabels)

  function toolCalled(fields: Readonly<Record<string, unknown>>): void {
    const { tool, unknown, unlisted, outcome, duration_ms: ms } = fields
    const label = toolLabel(unknown === true ? 'other' : unlisted === true ? 'unlisted' : String(tool))
    toolCalls.inc({ tool: label, outcome: String(outcome) })
    if (!String(outcome).startsWith('refused')) toolCallTimes.observe({ tool: label }, Number(ms) / 1000)
  }

  const detailOf = createDetails()
  // Rates can only be computed for series that exist before the first event.
  for (const [event, { detail }] of Object.entries(logEvents)) {
    if (detail === undefined) events.inc({ event, detail: '' }, 0)
  }
  return {
    event(name, fields) {
      events.inc(detailOf(name, fields))
      if (name === 'tool_called') toolCalled(fields)
    },
    requestStarted: () => inFlight.inc(),
    requestEnded(endpoint, status, seconds) {
      inFlight.dec()
      requests.observe({ endpoint, status: statusClass(status) }, seconds)
    },
    storeCall: (operation, outcome, seconds) => storeCalls.observe({ operation, outcome }, seconds),
    outgoingCall: (target, status, seconds) =>
      outgoing.observe({ target, status: status === undefined ? 'failed' : statusClass(status) }, seconds),
    render: async () => ({ contentType: registry.contentType, text: await registry.metrics() }),
  }
}

/** Returns the labels of an event. An event missing from the table, and a detail beyond the fiftieth, is `other`. */
function createDetails(): (
  name: string,
  fields: Readonly<Record<string, unknown>>,
) => { event: string; detail: string } {
  const labels = new Map<string, (value: string) => string>()
  return (name, fields) => {
    const row = logEvents[name]
    const value = fields[row?.detail ?? '']
    if (typeof value !== 'string') return { event: row ? name : 'other', detail: '' }
    const label = labels.get(name) ?? createBoundedLabel(maxDetails)
    labels.set(name, label)
    return { event: name, detail: label(value) }
  }
}

function statusClass(status: number): string {
  return `${Math.floor(status / 100)}xx`
}

/** Serves `GET /metrics` only. Needs its own listener that only the collector reaches: it does not authenticate. */
export function createMetricsEndpoint(
  metrics: Pick<Metrics, 'render'>,
): (request: Request) => Promise<Response> {
  return async (request) => {
    if (new URL(request.url).pathname !== '/metrics') return new Response('Not found\n', { status: 404 })
    if (request.method !== 'GET') return new Response('Use GET\n', { status: 405, headers: { allow: 'GET' } })
    const { contentType, text } = await metrics.render()
    return new Response(text, { headers: { 'content-type': contentType, 'cache-control': 'no-store' } })
  }
}

/**
 * Creates a function that returns the first `max` different values as they are, and `other` for every one after them: so many series
 * does a label make, whatever clients and upstreams send.
 */
export function createBoundedLabel(max: number, other = 'other'): (value: string) => string {
  const values = new Set<string>()
  return (value) => {
    if (values.size < max) values.add(value)
    return values.has(value) ? value : other
  }
}

/** More tools than servers usually offer; a module may register others for each caller. */
export const maxToolLabels = 500
