import { isJsonObject } from '@drawbridge/shared/json-object.ts'
import type { Caller } from './caller.ts'

/** How a call ended. `failed`: neither the tool nor a rule said no, as when it threw or its arguments were no object. */
export type CallOutcome =
  | 'ok'
  | 'tool_error'
  | 'refused_scope'
  | 'refused_rule'
  | 'refused_limit'
  | 'cancelled'
  | 'failed'

/** The event that records a call. */
export type CallEvent =
  | 'tool_called' // or refused
  | 'resource_read'
  | 'prompt_got'

/** What is recorded as a call: the event, the field that names what was called, and the parameter that does. */
const recorded: Readonly<Record<string, { event: CallEvent; field: CallField; parameter: string }>> = {
  'tools/call': { event: 'tool_called', field: 'tool', parameter: 'name' },
  'resources/read': { event: 'resource_read', field: 'resource', parameter: 'uri' },
  'prompts/get': { event: 'prompt_got', field: 'prompt', parameter: 'name' },
}

type CallField = 'tool' | 'resource' | 'prompt'

/** One request of a message or batch that is recorded as a call. */
export interface Call {
  event: CallEvent
  field: CallField
  /** As the client gave it, cut to 200 characters; of a URI without query and fragment, which may hold anything. */
  name: string
}

const maxNameLength = 200

/** The call that a JSON-RPC message makes; undefined for every other message. */
export function callOf(message: unknown): Call | undefined {
  if (!isJsonObject(message) || message['id'] === undefined) return undefined
  const { method, params } = message
  const kind = typeof method === 'string' && Object.hasOwn(recorded, method) ? recorded[method] : undefined
  if (!kind) return undefined
  const { event, field, parameter } = kind
  const given = isJsonObject(params) ? params[parameter] : undefined
  const whole = typeof given === 'string' ? given : ''
  const name = field === 'resource' ? whole.replace(/[?#].*$/s, '') : whole
  return { event, field, name: name.slice(0, maxNameLength) }
}

/** The calls of a message or batch. */
export function callsOf(body: unknown): Call[] {
  const messages: readonly unknown[] = Array.isArray(body) ? body : [body]
  return messages.flatMap((message) => callOf(message) ?? [])
}

/** What the record of a call says about how it ended. Sizes are bytes of JSON. */
export interface CallEnd {
  outcome: CallOutcome
  /** Whether the server has what was called. Names that it does not have come from the client alone. */
  isKnown: boolean
  responseBytes?: number
}

/** What {@link IncomingCalls} need. */
export interface IncomingCallsPorts {
  caller: Caller
  /** Undefined when the message does not say. */
  revision: string | undefined
  requestBytes: number
  report: (event: CallEvent, fields: Record<string, unknown>) => void
  /** Monotonic milliseconds. */
  nowMs: () => number
  /** Called once when none of the calls is under way any more. */
  over?: () => void
}

/** The calls of one HTTP request. Each is recorded when it ends: who called what, and how that went; never arguments or results. */
export class IncomingCalls {
  readonly #ports: IncomingCallsPorts
  #isOver = false

  constructor(ports: IncomingCallsPorts) {
    this.#ports = ports
  }

  /** Begins a call; the result is called with its end. */
  begin(call: Call): (end: CallEnd) => void {
    const begunAt = this.#ports.nowMs()
    return (end) => this.#record(call, end, this.#ports.nowMs() - begunAt)
  }

  /** Records a call that is not made. */
  refuse(call: Call, end: CallEnd): void {
    this.#record(call, end, 0)
  }

  /** The response is complete, or nobody waits for it any more. */
  over(): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#ports.over?.()
  }

  #record(
    { event, field, name }: Call,
    { outcome, isKnown, responseBytes }: CallEnd,
    durationMs: number,
  ): void {
    const { caller, revision, requestBytes, report } = this.#ports
    report(event, {
      sub: caller.user?.sub,
      client_id: caller.clientId,
      grant_id: caller.grantId,
      credential: caller.credential,
      [field]: name,
      ...(!isKnown && { unknown: true }),
      revision,
      outcome,
      duration_ms: Math.round(durationMs * 10) / 10,
      request_bytes: requestBytes,
      response_bytes: responseBytes,
    })
  }
}
