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
  const watched = watchedBy(report)
  const spans = new BatchSpanProcessor(watched('traces', new OTLPTraceExporter()))
  const traces = new BasicTracerProvider({ resource, spanProcessors: [spans] })
  const records = new BatchLogRecordProcessor({
    exporter: watched('logs', new OTLPLogExporter()),
    ...numbers({
      maxQueueSize: 'OTEL_BLRP_MAX_QUEUE_SIZE',
      maxExportBatchSize: 'OTEL_BLRP_MAX_EXPORT_BATCH_SIZE',
      scheduledDelayMillis: 'OTEL_BLRP_SCHEDULE_DELAY',
    }),
  })
  const logs = new LoggerProvider({ resource, processors: [records] })
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
      return (await settledWithin(closing, closeWithinMs)) === 'done'
    },
  }
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

/** Returns a wrapper of exporters that reports the first failed batch in a row, of all of them. */
function watchedBy(report: ReportFailure) {
  let isFailing = false
  return <Item>(signal: string, exporter: Exporter<Item>) => ({
    export(items: Item[], done: (result: ExportResult) => void): void {
      exporter.export(items, (result) => {
        const isDelivered = result.code === ExportResultCode.SUCCESS
        if (!isDelivered && !isFailing) report('telemetry_failed', { signal, error: result.error })
        isFailing = !isDelivered
        done(result)
      })
    },
    shutdown: () => exporter.shutdown(),
    forceFlush: async () => {},
  })
}
