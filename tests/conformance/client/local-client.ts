import { isJsonObject, type JsonObject } from '@drawbridge/shared/json-object.ts'
import { modernRevision } from '@drawbridge/shared/mcp/mcp-protocol.ts'
import type { BridgeChild } from '../../support/bridge/process/bridge-child.ts'

/** The protocol era of the local client. */
export type LocalEra = 'legacy' | 'modern'

/** The response to a request. */
export type Answer = { result: JsonObject } | { error: { code: number; message: string } }

/** A client at the other end of a bridge's stdio, which answers every server request. */
export interface LocalClient {
  request(method: string, params?: JsonObject): Promise<Answer>
  /** Opens as the era requires: `initialize`, or `server/discover`. */
  open(): Promise<Answer>
  /** Lines on stdout that are not messages. */
  strayLines: readonly string[]
  /** Closes stdin and waits for the process to end. */
  close(): Promise<void>
  signal(name: NodeJS.Signals): void
  /** Resolves with the bridge's exit code, or the signal that killed it. */
  readonly ended: Promise<number | NodeJS.Signals>
}

const capabilities = { sampling: {}, elicitation: { form: {}, url: {} }, roots: { listChanged: true } }
const maxRounds = 10

/** Returns a client of that era for the stdio of a bridge. */
export function localClient(bridge: BridgeChild, era: LocalEra, revision = modernRevision): LocalClient {
  bridge.answerWith(answerTo)
  if (era === 'modern') bridge.speakModern(capabilities)
  /** A failure is an answer, too: the bridge may have ended on purpose. */
  const answer = (asked: Promise<JsonObject>): Promise<Answer> =>
    asked.catch((error: unknown) => ({ error: { code: 0, message: String(error) } })) as Promise<Answer>
  const ask = (method: string, params: JsonObject): Promise<Answer> => answer(bridge.ask(method, params))
  return {
    strayLines: bridge.strayLines,
    async request(method, params = {}) {
      let last = await ask(method, params)
      for (let round = 0; round < maxRounds && asksForInput(last); round += 1) {
        last = await ask(method, { ...params, ...inputFor(last.result) })
      }
      return last
    },
    async open() {
      if (era === 'modern') return ask('server/discover', {})
      const protocolVersion = revision === modernRevision ? '2025-11-25' : revision
      return answer(bridge.initialize(capabilities, protocolVersion))
    },
    close: bridge.close,
    signal: bridge.kill,
    ended: bridge.over.then(({ code, signal }) => code ?? signal ?? 'SIGKILL'),
  }
}

function asksForInput(answer: Answer): answer is { result: JsonObject } {
  return 'result' in answer && answer.result['resultType'] === 'input_required'
}

/** Returns the additions to the repeated request: a response to every input request, and the unchanged state. */
function inputFor(result: JsonObject): JsonObject {
  const asked = isJsonObject(result['inputRequests']) ? result['inputRequests'] : {}
  const responses = Object.entries(asked).map(([key, request]) => {
    const { method, params } = request as { method: string; params?: JsonObject }
    return [key, answerTo(method, params)]
  })
  return {
    inputResponses: Object.fromEntries(responses) as JsonObject,
    ...('requestState' in result && { requestState: result['requestState'] }),
  }
}

function answerTo(method: string, params: JsonObject = {}): JsonObject {
  switch (method) {
    case 'elicitation/create':
      return params['mode'] === 'url'
        ? { action: 'accept' }
        : { action: 'accept', content: defaultsOf(params['requestedSchema']) }
    case 'sampling/createMessage':
      return {
        role: 'assistant',
        content: { type: 'text', text: 'sampled' },
        model: 'driver',
        stopReason: 'endTurn',
      }
    case 'roots/list':
      return { roots: [{ uri: 'file:///driver', name: 'driver' }] }
    default:
      return {}
  }
}

/** Fills in a form: the schema's defaults, and a value of the right type for the rest. */
function defaultsOf(schema: unknown): JsonObject {
  const properties = isJsonObject(schema) && isJsonObject(schema['properties']) ? schema['properties'] : {}
  return Object.fromEntries(
    Object.entries(properties).map(([name, property]) => [name, sampleOf(property as JsonObject)]),
  )
}

/** Returns a value that fits a simple schema. */
export function sampleOf(schema: JsonObject): unknown {
  if ('default' in schema) return schema['default']
  if (Array.isArray(schema['enum'])) return schema['enum'][0]
  switch (schema['type']) {
    case 'string':
      return 'sample'
    case 'number':
    case 'integer':
      return 5
    case 'boolean':
      return true
    case 'array':
      return []
    default:
      return {}
  }
}
