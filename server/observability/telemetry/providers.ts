import type { Meter, Tracer } from '@opentelemetry/api'
import type { Logger } from '@opentelemetry/api-logs'
import { type ExportResult, ExportResultCode, getNumberFromEnv } from '@opentelemetry/core'
import { OTLPLogExporter } from '@opentelemetry/exporter-logs-otlp-http'
import { OTLPMetricExporter } from '@opentelemetry/exporter-metrics-otlp-http'
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http'
import {
  defaultResource,
  detectResources,
  envDetector,
  type Resource,
  resourceFromAttributes,
} from '@opentelemetry/resources'
import { BatchLogRecordProcessor, LoggerProvider } from '@opentelemetry/sdk-logs'
import { MeterProvider, PeriodicExportingMetricReader } from '@opentelemetry/sdk-metrics'
import { BasicTracerProvider, BatchSpanProcessor } from '@opentelemetry/sdk-trace-base'
import { settledWithin } from '@drawbridge/shared/async.ts'
import type { ReportFailure } from './telemetry.ts'

const closeWithinMs = 1500
const scope = 'drawbridge'

/** The SDK of opentelemetry-js, with exporters by OTLP over HTTP in JSON. */
export interface Providers {
  tracer: Tracer
  meter: Meter
  logger: Logger
  close(): Promise<boolean>
}

/** Opens the {@link Providers}. Queues have the bounds of the SDK: 2048 spans and records each, unless its variables say otherwise. */
export function openProviders(version: string, report: ReportFailure): Providers {
  const resource = resourceOf(version)
  const losses = new Losses(report)
  const spans = new BatchSpanProcessor(losses.watched('traces', new OTLPTraceExporter()))
  // A span that is not sampled is not sent, and not lost.
  const ended = {
    onEnd: (span: { spanContext(): { traceFlags: number } }) =>
      losses.made(span.spanContext().traceFlags & 1),
  }
  const traces = new BasicTracerProvider({ resource, spanProcessors: [spans, { ...idle, ...ended }] })
  const records = new BatchLogRecordProcessor({
    exporter: losses.watched('logs', new OTLPLogExporter()),
    ...numbers({
      maxQueueSize: 'OTEL_BLRP_MAX_QUEUE_SIZE',
      maxExportBatchSize: 'OTEL_BLRP_MAX_EXPORT_BATCH_SIZE',
      scheduledDelayMillis: 'OTEL_BLRP_SCHEDULE_DELAY',
    }),
  })
  const logs = new LoggerProvider({
    resource,
    processors: [records, { ...idle, onEmit: () => losses.made(1) }],
  })
  const reader = new PeriodicExportingMetricReader({
    exporter: new OTLPMetricExporter(),
    ...numbers({ exportIntervalMillis: 'OTEL_METRIC_EXPORT_INTERVAL' }),
  })
  const metrics = new MeterProvider({ resource, readers: [reader] })
  return {
    tracer: traces.getTracer(scope, version),
    meter: metrics.getMeter(scope, version),
    logger: logs.getLogger(scope, version),
    async close() {
      const closing = Promise.allSettled([traces, logs, metrics].map((provider) => provider.shutdown()))
      const settled = await settledWithin(closing, closeWithinMs)
      losses.close()
      return settled === 'done'
    },
  }
}

const idle = {
  onStart() {},
  async forceFlush() {},
  async shutdown() {},
}

function resourceOf(version: string): Resource {
  const own = resourceFromAttributes({ 'service.name': 'drawbridge-server', 'service.version': version })
  return defaultResource()
    .merge(own)
    .merge(detectResources({ detectors: [envDetector] }))
}

/** Reads variables that the SDK leaves to its caller. */
function numbers<Name extends string>(variables: Record<Name, string>): Partial<Record<Name, number>> {
  const given = Object.entries<string>(variables).map(([name, variable]) => [
    name,
    getNumberFromEnv(variable),
  ])
  return Object.fromEntries(given.filter(([, value]) => Number(value ?? 0) > 0)) as Partial<
    Record<Name, number>
  >
}

interface Exporter<Item> {
  export(items: Item[], done: (result: ExportResult) => void): void
  shutdown(): Promise<void>
}

/** Counts spans and records that were not delivered. Reports the first failure in a row, and the loss at the end. */
class Losses {
  readonly #report: ReportFailure
  #waiting = 0
  #isFailing = false

  constructor(report: ReportFailure) {
    this.#report = report
  }

  made(count: number): void {
    this.#waiting += count
  }

  watched<Item>(signal: string, exporter: Exporter<Item>): Exporter<Item> & { forceFlush(): Promise<void> } {
    return {
      export: (items, done) =>
        exporter.export(items, (result) => {
          const isDelivered = result.code === ExportResultCode.SUCCESS
          if (isDelivered) this.#waiting -= items.length
          else if (!this.#isFailing) this.#report('telemetry_failed', { signal, error: result.error })
          this.#isFailing = !isDelivered
          done(result)
        }),
      shutdown: () => exporter.shutdown(),
      forceFlush: async () => {},
    }
  }

  close(): void {
    if (this.#waiting > 0) this.#report('telemetry_failed', { signal: 'all', lost: this.#waiting })
  }
}
