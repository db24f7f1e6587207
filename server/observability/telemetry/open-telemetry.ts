import { AsyncLocalStorage } from 'node:async_hooks'
import { type Context, type Meter, SpanKind, trace, type Tracer } from '@opentelemetry/api'
import type { AnyValueMap } from '@opentelemetry/api-logs'
import { isJsonObject, type JsonObject, parseJsonObject } from '@drawbridge/shared/json-object.ts'
import { withTrace, withTraceText } from './trace-meta.ts'
import { isEventStream, type Reply } from '@drawbridge/shared/text-response.ts'
import { createBoundedLabel, maxToolLabels } from '../metrics.ts'
import { openProviders } from './providers.ts'
import type { ServingContext } from '@drawbridge/shared/trace-context.ts'
import type { OutgoingAnswer, OutgoingMessage, ReportFailure, Telemetry } from './telemetry.ts'
import { carrierOf, fail, type Measure, nowMs, TracedRequest } from './traced-request.ts'

/** Seconds, as the conventions advise for `mcp.server.operation.duration`. */
const buckets = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60, 120, 300]
/** Upstreams choose the codes of their errors. */
const maxErrors = 50
/** Longer answers are not searched for the code of an error. */
const maxErrorLength = 16 * 1024

/** Creates the {@link Telemetry}. Spans are found by the request that is being served. */
export function createTelemetry(
  program: { version: string; store: string },
  report: ReportFailure,
): Telemetry {
  const { tracer, meter, logger, close } = openProviders(program.version, report)
  const measure = createMeasure(meter)
  const serving = new AsyncLocalStorage<TracedRequest>()
  /** Contexts of requests under way, by their ids. */
  const contexts = new Map<unknown, Context>()
  return {
    async serve(request, context, handle) {
      const traced = new TracedRequest(tracer, measure, request.headers)
      return serving.run(traced, () => serveWatched(request.method, context, traced, contexts, handle))
    },
    upstream(sent) {
      const request = serving.getStore()
      return request?.operation ? spanOfUpstream(tracer, request, sent) : { request: sent, answered() {} }
    },
    storeCall(operation, outcome, seconds) {
      const attributes = { 'db.system.name': program.store, 'db.operation.name': operation }
      serving
        .getStore()
        ?.child(`store ${operation}`, seconds, attributes, outcome === 'ok' ? undefined : outcome)
    },
    outgoingCall(target, status, seconds, method) {
      const attributes = {
        ...(method !== undefined && { 'http.request.method': method }),
        ...(status !== undefined && { 'http.response.status_code': status }),
      }
      const error = status === undefined ? 'no_answer' : errorOf(status)
      serving.getStore()?.child(`${method ?? 'HTTP'} ${target}`, seconds, attributes, error)
    },
    write(line) {
      const { time, level, event, ...fields } = JSON.parse(line) as AuditLine
      const context = contexts.get(fields['request_id'])
      logger.emit({
        eventName: `drawbridge.${event}`,
        body: event,
        timestamp: new Date(time),
        ...severities[level],
        attributes: fields,
        ...(context && { context }),
      })
    },
    close,
  }
}

/** Creates the {@link Measure}. The process holds and sends each series for as long as it runs, so every label is bounded. */
function createMeasure(meter: Meter): Measure {
  const durations = meter.createHistogram('mcp.server.operation.duration', {
    unit: 's',
    description: 'Duration of MCP requests and notifications.',
    advice: { explicitBucketBoundaries: buckets },
  })
  const toolLabel = createBoundedLabel(maxToolLabels)
  const errorLabel = createBoundedLabel(maxErrors, '_OTHER')
  return (method, { 'gen_ai.tool.name': tool, 'error.type': error, ...labels }, seconds) =>
    durations.record(seconds, {
      'mcp.method.name': method,
      ...labels,
      ...(tool !== undefined && { 'gen_ai.tool.name': toolLabel(tool) }),
      ...(error !== undefined && { 'error.type': errorLabel(error) }),
    })
}

/** Serves one request, and watches its events, the message in it, and when its answer is over. */
async function serveWatched<Watched extends ServingContext>(
  method: string,
  context: Watched,
  traced: TracedRequest,
  contexts: Map<unknown, Context>,
  handle: (watched: Watched) => Promise<Reply> | Reply,
): Promise<Reply> {
  let answered: Reply | undefined
  let isOver = false
  const end = (status: number, error?: number): void => {
    contexts.delete(context.id)
    traced.end(method, status, error)
  }
  const watched: Watched = {
    ...context,
    report(event, fields = {}) {
      traced.event(event, fields)
      context.report(event, fields)
    },
    trace(incoming) {
      traced.begin(incoming)
      const { message } = incoming
      if (!traced.operation) return message
      const carrier = carrierOf(traced.context)
      contexts.set(context.id, traced.context)
      context.trace?.({ ...incoming, ...carrier })
      return isRequest(message) ? withTrace(message, carrier) : message
    },
    callsOver() {
      isOver = true
      if (answered) end(answered.status)
    },
  }
  try {
    const answer = await handle(watched)
    if (isOver || traced.isListening || !isEventStream(answer)) end(answer.status, errorCodeOf(answer))
    else answered = answer
    return answer
  } catch (error) {
    end(500)
    throw error
  }
}

/** Begins the span of a request to the upstream, and passes its context on. */
function spanOfUpstream<Sent extends OutgoingMessage>(
  tracer: Tracer,
  { operation, context }: TracedRequest,
  sent: Sent,
): { request: Sent; answered: (answer: OutgoingAnswer | undefined) => void } {
  const { name = '', attributes = {} } = operation ?? {}
  const span = tracer.startSpan(name, { kind: SpanKind.CLIENT, startTime: nowMs(), attributes }, context)
  const carrier = carrierOf(trace.setSpan(context, span))
  return {
    request: {
      ...sent,
      headers: { ...sent.headers, ...carrier },
      body: sent.body && withTraceText(sent.body, carrier),
    },
    answered(answer) {
      if (answer) span.setAttribute('http.response.status_code', answer.statusCode)
      fail(span, answer ? errorOf(answer.statusCode) : 'no_answer')
      if (!answer || sent.mayBeSilent) span.end(nowMs())
      else answer.body.once('close', () => span.end(nowMs()))
    },
  }
}

interface AuditLine extends AnyValueMap {
  time: string
  level: number
  event: string
}

/** Severities by the level numbers of the log. */
const severities: Readonly<Record<number, { severityNumber: number; severityText: string }>> = {
  20: { severityNumber: 5, severityText: 'DEBUG' },
  30: { severityNumber: 9, severityText: 'INFO' },
  40: { severityNumber: 13, severityText: 'WARN' },
  50: { severityNumber: 17, severityText: 'ERROR' },
}

function isRequest(message: unknown): message is JsonObject {
  return isJsonObject(message) && message['id'] !== undefined
}

/** Returns the code of a JSON-RPC error in an answer that is text. */
function errorCodeOf(answer: Reply): number | undefined {
  const body = answer instanceof Response ? null : answer.body
  if (!body?.includes('"error"') || body.length > maxErrorLength) return undefined
  const message = parseJsonObject(body)
  const error = message?.['error']
  const code = isJsonObject(error) ? error['code'] : undefined
  return typeof code === 'number' ? code : undefined
}

function errorOf(status: number): string | undefined {
  return status >= 400 ? String(status) : undefined
}
