import { type ChildProcess, spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import { isJsonObject, type JsonObject } from '@drawbridge/shared/json-object.ts'
import { type JsonRpcMessage, parseJsonRpcMessage } from '@drawbridge/shared/mcp/json-rpc.ts'
import { mcpMetaKey, modernRevision } from '@drawbridge/shared/mcp/mcp-protocol.ts'

/** The protocol era of the local client. */
export type LocalEra = 'legacy' | 'modern'

/** The command that starts a bridge. */
export interface BridgeCommand {
  argv: readonly string[]
  environment: Readonly<Record<string, string>>
}

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

const clientInfo = { name: 'conformance-driver', version: '1.0.0' }
const capabilities = { sampling: {}, elicitation: { form: {}, url: {} }, roots: { listChanged: true } }
const answerTimeoutMs = 25_000
const endGraceMs = 3000
const maxRounds = 10

/** Starts a bridge as a client; `onStderr` gets its messages to the user. */
export function startLocalClient(
  era: LocalEra,
  revision: string,
  { argv, environment }: BridgeCommand,
  onStderr: (text: string) => void,
): LocalClient {
  const [command = '', ...rest] = argv
  const child = spawn(command, rest, { env: environment, stdio: ['pipe', 'pipe', 'pipe'] })
  child.stderr.on('data', (chunk: Buffer) => onStderr(chunk.toString()))
  // A bridge that has ended takes no more lines; pending requests learn that from `close`.
  child.stdin.on('error', () => {})
  const waiting = new Map<string, (answer: Answer) => void>()
  const strayLines: string[] = []
  let lastId = 0
  const write = (message: JsonObject): void => void child.stdin.write(`${JSON.stringify(message)}\n`)

  createInterface({ input: child.stdout }).on('line', (line) => {
    const message = readMessage(line)
    if (!message) {
      strayLines.push(line)
    } else if ('method' in message) {
      if ('id' in message)
        write({ jsonrpc: '2.0', id: message.id, result: answerTo(message.method, message.params) })
    } else {
      waiting.get(String(message.id))?.(message as unknown as Answer)
      waiting.delete(String(message.id))
    }
  })
  child.once('close', () => {
    for (const answer of waiting.values()) answer({ error: { code: 0, message: 'the bridge ended' } })
    waiting.clear()
  })

  const ended = new Promise<number | NodeJS.Signals>((resolve) => {
    child.once('close', (code, signal) => resolve(code ?? signal ?? 'SIGKILL'))
  })

  const ask = async (method: string, params: JsonObject): Promise<Answer> => {
    const id = `driver-${(lastId += 1)}`
    const answered = new Promise<Answer>((resolve) => waiting.set(id, resolve))
    write({ jsonrpc: '2.0', id, method, params: era === 'modern' ? withMeta(params) : params })
    const timer = setTimeout(
      () => waiting.get(id)?.({ error: { code: 0, message: `${method} was not answered` } }),
      answerTimeoutMs,
    )
    return answered.finally(() => clearTimeout(timer))
  }

  return {
    strayLines,
    async request(method, params = {}) {
      let answer = await ask(method, params)
      for (let round = 0; round < maxRounds && asksForInput(answer); round += 1) {
        answer = await ask(method, { ...params, ...inputFor(answer.result) })
      }
      return answer
    },
    async open() {
      if (era === 'modern') return ask('server/discover', {})
      const protocolVersion = revision === modernRevision ? '2025-11-25' : revision
      const answer = await ask('initialize', { protocolVersion, capabilities, clientInfo })
      if ('result' in answer) write({ jsonrpc: '2.0', method: 'notifications/initialized' })
      return answer
    },
    close: () => endChild(child),
    signal: (name) => void child.kill(name),
    ended,
  }
}

function withMeta(params: JsonObject): JsonObject {
  const meta = isJsonObject(params['_meta']) ? params['_meta'] : {}
  return {
    ...params,
    _meta: {
      ...meta,
      [mcpMetaKey.protocolVersion]: modernRevision,
      [mcpMetaKey.clientInfo]: clientInfo,
      [mcpMetaKey.clientCapabilities]: capabilities,
    },
  }
}

function readMessage(line: string): JsonRpcMessage | undefined {
  try {
    const parsed = parseJsonRpcMessage(JSON.parse(line))
    return parsed.kind === 'invalid' ? undefined : parsed.message
  } catch {
    return undefined
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

function endChild(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return Promise.resolve()
  const term = setTimeout(() => child.kill('SIGTERM'), endGraceMs)
  const kill = setTimeout(() => child.kill('SIGKILL'), 2 * endGraceMs)
  return new Promise<void>((resolve) => {
    child.once('close', () => resolve())
    child.stdin?.end()
  }).finally(() => {
    clearTimeout(term)
    clearTimeout(kill)
  })
}
