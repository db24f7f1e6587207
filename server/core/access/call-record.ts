import { isJsonObject } from '@drawbridge/shared/json-object.ts'

/** `failed`: neither the tool nor a rule refused it, for example because it threw or its arguments were not an object. */
export type CallOutcome =
  | 'ok'
  | 'tool_error'
  | 'refused_scope'
  | 'refused_rule'
  | 'refused_limit'
  | 'cancelled'
  | 'failed'

type CallEvent =
  | 'tool_called' // or refused
  | 'resource_read'
  | 'prompt_got'

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
  /** As the client sent it; a URI without query and fragment, which may contain anything. */
  name: string
}

export const maxNameLength = 200

/** Returns the call in a JSON-RPC message; undefined for every other message. */
export function callOf(message: unknown): Call | undefined {
  if (!isJsonObject(message) || message['id'] === undefined) return undefined
  const { method, params } = message
  const kind = typeof method === 'string' && Object.hasOwn(recorded, method) ? recorded[method] : undefined
  if (!kind) return undefined
  const { event, field, parameter } = kind
  const given = isJsonObject(params) ? params[parameter] : undefined
  const whole = typeof given === 'string' ? given : ''
  const name = field === 'resource' ? whole.replace(/[?#].*$/s, '') : whole
  return { event, field, name }
}

/** Returns the calls in a body that the record names, in their order. Anything else in it is left out. */
export function callsOf(body: unknown): Call[] {
  const messages: readonly unknown[] = Array.isArray(body) ? body : [body]
  return messages.flatMap((message) => callOf(message) ?? [])
}

/** The end of a call in its record. Sizes are bytes of JSON. */
export interface CallEnd {
  outcome: CallOutcome
  /** False: the name comes from the client only. Undefined: the server has not listed its items yet. */
  isKnown: boolean | undefined
  responseBytes?: number
}

/** The caller of a request's calls, and the listeners for their ends. */
export interface IncomingCallsPorts {
  caller: {
    user: { sub: string } | undefined
    clientId: string | undefined
    grantId: string | undefined
    workspace: { id: string } | undefined
    credential: string
  }
  revision: string | undefined
  requestBytes: number
  report: (event: CallEvent, fields: Record<string, unknown>) => void
  /** Monotonic milliseconds. */
  nowMs: () => number
  /** Called with the name of each known tool whose call was not refused, when the call ends. */
  called?: (tool: string) => void
  /** Called once when no call is in progress any more. */
  over?: () => void
}

/** The calls of one HTTP request. Records the end of each, never arguments or the contents of results. */
export class IncomingCalls {
  readonly #ports: IncomingCallsPorts
  #isOver = false

  constructor(ports: IncomingCallsPorts) {
    this.#ports = ports
  }

  begin(call: Call): (end: CallEnd) => void {
    const begunAt = this.#ports.nowMs()
    return (end) => this.#record(call, end, this.#ports.nowMs() - begunAt)
  }

  refuse(call: Call, end: CallEnd): void {
    this.#record(call, end, 0)
  }

  /** Called when the response is complete, or the client has disconnected. */
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
    const { caller, revision, requestBytes, report, called } = this.#ports
    if (event === 'tool_called' && isKnown === true && !outcome.startsWith('refused_')) called?.(name)
    report(event, {
      sub: caller.user?.sub,
      client_id: caller.clientId,
      grant_id: caller.grantId,
      workspace: caller.workspace?.id,
      credential: caller.credential,
      [field]: name.slice(0, maxNameLength),
      ...(isKnown === false && { unknown: true }),
      ...(isKnown === undefined && { unlisted: true }),
      revision,
      outcome,
      duration_ms: Math.round(durationMs * 10) / 10,
      request_bytes: requestBytes,
      response_bytes: responseBytes,
    })
  }
}
