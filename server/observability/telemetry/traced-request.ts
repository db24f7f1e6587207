import {
  type Attributes,
  type Context,
  defaultTextMapGetter,
  defaultTextMapSetter,
  type Link,
  ROOT_CONTEXT,
  type Span,
  SpanKind,
  SpanStatusCode,
  trace,
  type Tracer,
} from '@opentelemetry/api'
import { W3CTraceContextPropagator } from '@opentelemetry/core'
import { isJsonObject } from '@drawbridge/shared/json-object.ts'
import { isKnownRevision } from '@drawbridge/shared/mcp/mcp-protocol.ts'
import { metaOf } from '@drawbridge/shared/mcp/params.ts'
import { logEvents } from '../log-event.ts'
import { redactLine } from '../log-redaction.ts'
import type { TracedMessage } from '@drawbridge/shared/trace-context.ts'
import { type McpOperation, mcpOperation } from './trace-meta.ts'

const propagator = new W3CTraceContextPropagator()
/** Operations before the message is read, such as finding its caller. */
const maxEarly = 50

/** Returns the members or headers that carry a context on. */
export function carrierOf(context: Context): Record<string, string> {
  const carrier: Record<string, string> = {}
  propagator.inject(context, carrier, defaultTextMapSetter)
  return carrier
}

function extract(carrier: object): Context {
  return propagator.extract(ROOT_CONTEXT, carrier, defaultTextMapGetter)
}

/** Milliseconds since the epoch, with fractions. */
export function nowMs(): number {
  return performance.timeOrigin + performance.now()
}

/** The attributes of the metric beside the method. */
export type OperationLabels = Partial<
  Record<'mcp.protocol.version' | 'gen_ai.tool.name' | 'error.type', string>
>

/** Measures one operation. */
export type Measure = (method: string, labels: OperationLabels, seconds: number) => void

/** One request to `/mcp`: its SERVER span, and the CLIENT spans below it. */
export class TracedRequest {
  readonly #tracer: Tracer
  readonly #measure: Measure
  readonly #headers: Headers
  readonly #startMs = nowMs()
  #early: (() => void)[] = []
  #operation: McpOperation | undefined
  #span: Span | undefined
  #context: Context = ROOT_CONTEXT
  #error: string | undefined
  #isListening = false
  #measured: OperationLabels = {}
  #isOfCaller = false

  constructor(tracer: Tracer, measure: Measure, headers: Headers) {
    this.#tracer = tracer
    this.#measure = measure
    this.#headers = headers
  }

  /** The context of its span; the root before there is one. */
  get context(): Context {
    return this.#context
  }

  /** Undefined until the message is read, and for anything but a request or notification. */
  get operation(): McpOperation | undefined {
    return this.#operation
  }

  /** True if its response is a stream that lasts as long as its client. */
  get isListening(): boolean {
    return this.#isListening
  }

  /** Begins the span; with a known caller, its parent is the one that the message names, or else the headers. */
  begin({ message, revision, sub }: TracedMessage): void {
    const single: unknown = Array.isArray(message) ? message[0] : message
    if (!isJsonObject(single) || typeof single['method'] !== 'string') return
    const params = isJsonObject(single['params']) ? single['params'] : {}
    const { name } = params
    this.#operation = mcpOperation(single['method'], typeof name === 'string' ? redactLine(name) : undefined)
    if (revision !== undefined && isKnownRevision(revision)) this.#measured['mcp.protocol.version'] = revision
    this.#isOfCaller = sub !== undefined
    this.#isListening = single['method'] === 'subscriptions/listen'
    const attributes = {
      ...this.#operation.attributes,
      ...(revision !== undefined && { 'mcp.protocol.version': revision }),
      ...(sub !== undefined && { 'enduser.id': sub }),
      'network.protocol.name': 'http',
    }
    this.#start(this.#operation.name, attributes, extract(metaOf(params)))
  }

  /** Records a CLIENT span that has just ended. Without a message, it waits for one. */
  child(name: string, seconds: number, attributes: Attributes, error: string | undefined): void {
    const endMs = nowMs()
    const make = (): void => {
      const options = { kind: SpanKind.CLIENT, startTime: endMs - seconds * 1000, attributes }
      const span = this.#tracer.startSpan(name, options, this.#context)
      fail(span, error)
      span.end(endMs)
    }
    if (this.#span) make()
    else if (this.#early.length < maxEarly) this.#early.push(make)
  }

  /** Takes an event of the request's log: the outcome of a call, or that something was refused. */
  event(name: string, fields: Readonly<Record<string, unknown>>): void {
    const { outcome, tool, unknown, unlisted } = fields
    if (typeof outcome === 'string') {
      if (outcome !== 'ok') this.#error = outcome
      const measured = unknown ? 'other' : unlisted ? 'unlisted' : tool
      if (typeof tool === 'string') this.#measured['gen_ai.tool.name'] = String(measured)
    }
    if (logEvents[name]?.refusal === undefined && !String(outcome).startsWith('refused_')) return
    const words = refusalFields.flatMap((field) => {
      const value = fields[field]
      return typeof value === 'string' || typeof value === 'number' ? [[field, value]] : []
    })
    const attributes = Object.fromEntries(words) as Attributes
    const time = nowMs()
    const add = (): void => void this.#span?.addEvent(name, attributes, time)
    if (this.#span) add()
    else if (this.#early.length < maxEarly) this.#early.push(add)
  }

  /** Ends the span with the status of the HTTP response. A request that was refused unread has one with the name of its endpoint. */
  end(method: string, status: number, rpcError: number | undefined): void {
    if (!this.#span) {
      // 405 is the usual answer to a client that looks for a stream of notifications.
      if (status < 400 || status === 405) return
      this.#start(`${method} /mcp`, { 'http.request.method': method }, ROOT_CONTEXT)
    }
    const error = this.#errorOf(status, rpcError)
    this.#span?.setAttributes({
      'http.response.status_code': status,
      ...(rpcError !== undefined && { 'rpc.response.status_code': String(rpcError) }),
    })
    if (this.#span) fail(this.#span, error)
    this.#span?.end(nowMs())
    const operation = this.#operation?.attributes['mcp.method.name']
    const labels = { ...this.#measured, ...(error !== undefined && { 'error.type': error }) }
    if (operation !== undefined) this.#measure(operation, labels, (nowMs() - this.#startMs) / 1000)
  }

  #errorOf(status: number, rpcError: number | undefined): string | undefined {
    return this.#error ?? rpcError?.toString() ?? (status >= 400 ? String(status) : undefined)
  }

  /**
   * Without a known caller, begins a trace of its own, linked to those that the request names: otherwise anyone could add spans to
   * a trace, or choose not to be sampled.
   */
  #start(name: string, attributes: Attributes, named: Context): void {
    const [traceparent, tracestate] = [this.#headers.get('traceparent'), this.#headers.get('tracestate')]
    const ambient = traceparent === null ? ROOT_CONTEXT : extract({ traceparent, tracestate })
    const given = [named, ambient].filter((context) => trace.getSpanContext(context))
    const parent = (this.#isOfCaller && given[0]) || ROOT_CONTEXT
    const own = trace.getSpanContext(parent)
    const links: Link[] = given.flatMap((each) => {
      const context = trace.getSpanContext(each)
      const isOwn = context?.traceId === own?.traceId && context?.spanId === own?.spanId
      return context && !isOwn ? [{ context }] : []
    })
    const options = { kind: SpanKind.SERVER, startTime: this.#startMs, attributes, links }
    this.#span = this.#tracer.startSpan(name, options, parent)
    this.#context = trace.setSpan(parent, this.#span)
    for (const make of this.#early) make()
    this.#early = []
  }
}

/** Words of closed sets and numbers; texts may say anything. */
const refusalFields = ['outcome', 'reason', 'rule', 'code', 'status']

/** Sets the status of a span that failed. */
export function fail(span: Span, error: string | undefined): void {
  if (error === undefined) return
  span.setAttribute('error.type', error)
  span.setStatus({ code: SpanStatusCode.ERROR })
}
