import {
  type Attributes,
  defaultTextMapGetter,
  defaultTextMapSetter,
  ROOT_CONTEXT,
  type Span,
  SpanKind,
  SpanStatusCode,
  trace,
} from '@opentelemetry/api'
import { ExportResultCode, W3CTraceContextPropagator } from '@opentelemetry/core'
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http'
import {
  defaultResource,
  detectResources,
  envDetector,
  resourceFromAttributes,
} from '@opentelemetry/resources'
import { BasicTracerProvider, BatchSpanProcessor, type SpanExporter } from '@opentelemetry/sdk-trace-base'
import { settledWithin } from '@drawbridge/shared/async.ts'
import { isJsonObject, parseJsonObject } from '@drawbridge/shared/json-object.ts'
import type { WireMessage } from '@drawbridge/shared/mcp/json-rpc.ts'
import { mcpMetaKey } from '@drawbridge/shared/mcp/mcp-protocol.ts'
import { metaOf } from '@drawbridge/shared/mcp/params.ts'
import { type AnyStep, type Context, intercepted, type Send } from '@drawbridge/shared/mcp/pipeline.ts'
import { mcpOperation, withTraceText } from '@drawbridge/shared/mcp/trace-meta.ts'
import { version } from '../../config/version.ts'

/** The spans of the bridge. */
export interface Tracing {
  /** Makes the SERVER span of a message of the client, which gets its context. */
  readonly fromClient: AnyStep
  /** Makes the CLIENT span of the request that carries a message to the server. */
  readonly toServer: AnyStep
  /** Sends what is left, for half a second at most. */
  close(): Promise<void>
}

const closeWithinMs = 500
/** The error of a longer answer is not looked for. */
const maxAnswerLength = 64 * 1024

/** Creates the {@link Tracing}. The queue has the bounds of the SDK. `note` gets the first failure to deliver in a row. */
export function createTracing(note: (text: string) => void): Tracing {
  const own = resourceFromAttributes({ 'service.name': 'drawbridge', 'service.version': version })
  const resource = defaultResource()
    .merge(own)
    .merge(detectResources({ detectors: [envDetector] }))
  const spans = new BatchSpanProcessor(noting(new OTLPTraceExporter(), note))
  const provider = new BasicTracerProvider({ resource, spanProcessors: [spans] })
  const tracer = provider.getTracer('drawbridge', version)
  const propagator = new W3CTraceContextPropagator()

  /** Passes a request on in a span below the one that its `_meta` names. */
  const step = (kind: SpanKind): AnyStep => ({
    async send<C extends Context>(message: WireMessage, context: C, next: Send<C>): Promise<void> {
      const { envelope } = message
      if (envelope.kind !== 'request') return next(message, context)
      const { name, attributes, meta } = operationOf(message.text, envelope.method)
      const parent = propagator.extract(ROOT_CONTEXT, meta, defaultTextMapGetter)
      const span = tracer.startSpan(name, { kind, attributes }, parent)
      const carrier: Record<string, string> = {}
      propagator.inject(trace.setSpan(parent, span), carrier, defaultTextMapSetter)
      const traced = { text: withTraceText(message.text, carrier), envelope, trace: carrier }
      const watched = intercepted(context, (answer, deliver) => {
        if (answer.envelope.kind === 'response') fail(span, errorOf(answer, envelope.method))
        return deliver(answer)
      })
      try {
        await next(traced, watched)
      } catch (error) {
        fail(span, faultOf(error))
        throw error
      } finally {
        span.end()
      }
    },
  })
  return {
    fromClient: step(SpanKind.SERVER),
    toServer: step(SpanKind.CLIENT),
    async close() {
      await settledWithin(provider.shutdown(), closeWithinMs)
    },
  }
}

function noting(exporter: SpanExporter, note: (text: string) => void): SpanExporter {
  let isFailing = false
  return {
    export: (spans, done) =>
      exporter.export(spans, (result) => {
        const isDelivered = result.code === ExportResultCode.SUCCESS
        if (!isDelivered && !isFailing) note(`the OpenTelemetry collector did not take ${spans.length} spans`)
        isFailing = !isDelivered
        done(result)
      }),
    shutdown: () => exporter.shutdown(),
  }
}

function operationOf(text: string, method: string): { name: string; attributes: Attributes; meta: object } {
  const params = parseJsonObject(text)?.['params']
  if (!isJsonObject(params)) return { ...mcpOperation(method, undefined), meta: {} }
  const meta = metaOf(params)
  const { name, attributes } = mcpOperation(method, params['name'])
  const revision = meta[mcpMetaKey.protocolVersion]
  const version = typeof revision === 'string' ? { 'mcp.protocol.version': revision.slice(0, 20) } : {}
  return { name, attributes: { ...attributes, ...version }, meta }
}

function errorOf(answer: WireMessage, method: string): string | undefined {
  const isError = answer.envelope.kind === 'response' && answer.envelope.isError
  if (!isError && method !== 'tools/call') return undefined
  const message = answer.text.length > maxAnswerLength ? undefined : parseJsonObject(answer.text)
  const { error, result } = message ?? {}
  if (isError) return isJsonObject(error) ? String(error['code']) : '_OTHER'
  return isJsonObject(result) && result['isError'] === true ? 'tool_error' : undefined
}

function faultOf(error: unknown): string {
  return error instanceof Error && 'fault' in error ? String(error.fault) : '_OTHER'
}

function fail(span: Span, error: string | undefined): void {
  if (error === undefined) return
  span.setAttribute('error.type', error)
  span.setStatus({ code: SpanStatusCode.ERROR })
}
