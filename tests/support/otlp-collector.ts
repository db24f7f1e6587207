import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { once } from 'node:events'
import { expect, vi } from 'vitest'

type Value = string | number | boolean | undefined
type Attributes = Readonly<Record<string, Value>>

/** A span as it arrived; `service` is from its resource. */
export interface CollectedSpan {
  service: Value
  traceId: string
  spanId: string
  parentSpanId: string | undefined
  /** The spans that it is linked to. */
  links: string[]
  name: string
  /** 2 is SERVER, 3 is CLIENT. */
  kind: number
  attributes: Attributes
  events: { name: string; attributes: Attributes }[]
}

/** A log record as it arrived. */
interface CollectedRecord {
  eventName: string
  traceId: string | undefined
  spanId: string | undefined
  attributes: Attributes
}

/** A collector that reads OTLP over HTTP in JSON. */
export interface OtlpCollector {
  /** The variables of a program that sends to it, without delay. */
  environment: Readonly<Record<string, string>>
  spans(): CollectedSpan[]
  /** Waits for the span, which programs send a little later. */
  span(is: (span: CollectedSpan) => boolean): Promise<CollectedSpan>
  records(): CollectedRecord[]
  /** The attributes of every point of a metric. */
  points(metric: string): Attributes[]
  /** Everything that arrived, as text. */
  text(): string
  close(): Promise<void>
}

interface WireAttribute {
  key: string
  value: Record<string, Value>
}

interface WireSpan {
  traceId: string
  spanId: string
  parentSpanId?: string
  name: string
  kind: number
  attributes?: WireAttribute[]
  links?: { spanId: string }[]
  events?: { name: string; attributes?: WireAttribute[] }[]
}

interface WireBatch {
  resourceSpans?: { resource: { attributes: WireAttribute[] }; scopeSpans: { spans: WireSpan[] }[] }[]
  resourceLogs?: {
    scopeLogs: {
      logRecords: { eventName: string; traceId?: string; spanId?: string; attributes: WireAttribute[] }[]
    }[]
  }[]
  resourceMetrics?: {
    scopeMetrics: {
      metrics: { name: string; histogram?: { dataPoints: { attributes: WireAttribute[] }[] } }[]
    }[]
  }[]
}

/** Starts an {@link OtlpCollector}; one that `isSilent` takes connections and never answers. */
export async function startOtlpCollector({ isSilent = false } = {}): Promise<OtlpCollector> {
  const batches: WireBatch[] = []
  let text = ''
  const server = createServer((request, response) => {
    if (isSilent) return
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      const body = Buffer.concat(chunks).toString()
      text += `${request.url} ${body}\n`
      batches.push(JSON.parse(body) as WireBatch)
      response.setHeader('content-type', 'application/json')
      response.end('{}')
    })
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const spans = (): CollectedSpan[] => batches.flatMap(spansOf)
  return {
    environment: {
      OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
      OTEL_BSP_SCHEDULE_DELAY: '50',
      OTEL_BLRP_SCHEDULE_DELAY: '50',
      OTEL_METRIC_EXPORT_INTERVAL: '200',
    },
    spans,
    span: (is) =>
      vi.waitFor(
        () => {
          const found = spans().find(is)
          if (!found) expect(spans().map(({ name }) => name)).toBe('the names of spans, with another one')
          return found as CollectedSpan
        },
        { timeout: 20_000, interval: 20 },
      ),
    records: () =>
      batches
        .flatMap(({ resourceLogs = [] }) => resourceLogs)
        .flatMap(({ scopeLogs }) => scopeLogs)
        .flatMap(({ logRecords }) => logRecords)
        .map(({ eventName, traceId, spanId, attributes }) => ({
          eventName,
          traceId,
          spanId,
          attributes: attributesOf(attributes),
        })),
    points: (name) =>
      batches
        .flatMap(({ resourceMetrics = [] }) => resourceMetrics)
        .flatMap(({ scopeMetrics }) => scopeMetrics)
        .flatMap(({ metrics }) => metrics)
        .flatMap((metric) => (metric.name === name ? (metric.histogram?.dataPoints ?? []) : []))
        .map(({ attributes }) => attributesOf(attributes)),
    text: () => text,
    async close() {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}

function spansOf({ resourceSpans = [] }: WireBatch): CollectedSpan[] {
  return resourceSpans.flatMap(({ resource, scopeSpans }) => {
    const service = attributesOf(resource.attributes)['service.name']
    return scopeSpans.flatMap((scope) => scope.spans.map((span) => spanOf(span, service)))
  })
}

function spanOf(wire: WireSpan, service: Value): CollectedSpan {
  const { traceId, spanId, parentSpanId, name, kind, attributes, links = [], events = [] } = wire
  return {
    service,
    traceId,
    spanId,
    parentSpanId,
    links: links.map((link) => link.spanId),
    name,
    kind,
    attributes: attributesOf(attributes),
    events: events.map((event) => ({ name: event.name, attributes: attributesOf(event.attributes) })),
  }
}

function attributesOf(list: readonly WireAttribute[] = []): Attributes {
  return Object.fromEntries(list.map(({ key, value }) => [key, Object.values(value)[0]]))
}
