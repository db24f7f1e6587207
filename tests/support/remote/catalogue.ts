import { setTimeout as sleep } from 'node:timers/promises'
import { isJsonObject, type JsonObject } from '@drawbridge/shared/json-object.ts'
import { jsonRpcCode, jsonRpcError, type JsonRpcId } from '@drawbridge/shared/mcp/json-rpc.ts'
import { count, type RemoteCounters } from './remote-counters.ts'

/** Actions available to a method. */
export interface CallContext {
  counters: RemoteCounters
  params: JsonObject
  signal: AbortSignal
  /** Sends a notification that belongs to this request. */
  notify(method: string, params: JsonObject): void
  /** Asks the client, in the legacy era. Rejects with {@link RpcFailure} where that is impossible. */
  ask(method: string, params: JsonObject): Promise<unknown>
  /** The caller, from the token; empty without authorization. */
  caller: { clientId: string; scope: string }
  /** Tools added by `changeTools`. */
  extraTools: string[]
  /** Those of `RemoteSettings`. */
  replacedTools: JsonObject[] | undefined
}

/** An error response. */
export class RpcFailure extends Error {
  readonly code: number
  readonly data: unknown

  constructor(code: number, message: string, data?: unknown) {
    super(message)
    this.code = code
    this.data = data
  }
}

/** Returns the error response for what {@link answerMethod} threw. */
export function errorOf(id: JsonRpcId, error: unknown): JsonObject {
  const { code, message, data } =
    error instanceof RpcFailure ? error : new RpcFailure(jsonRpcCode.internalError, String(error))
  return { ...jsonRpcError(id, code, message, data) }
}

/** Capabilities of both eras. */
export const capabilities = {
  tools: { listChanged: true },
  resources: { listChanged: true, subscribe: true },
  prompts: { listChanged: true },
  logging: {},
  completions: {},
}

/** Name and version of the remote. */
export const serverInfo = { name: 'remote', version: '1.0.0' }

/** Instructions for the model. */
export const instructions = 'Call echo.'

/** Returns the result of a method that is the same in both eras. Throws {@link RpcFailure}. */
export async function answerMethod(method: string, context: CallContext): Promise<JsonObject> {
  switch (method) {
    case 'tools/list':
      return { tools: listTools(context) }
    case 'tools/call':
      return callTool(context)
    case 'resources/list':
      return { resources: uris.map((uri) => ({ uri, name: uri.slice('note://'.length) })) }
    case 'resources/templates/list':
      return { resourceTemplates: [{ uriTemplate: 'note://{name}', name: 'note' }] }
    case 'prompts/list':
      return { prompts: [{ name: 'greet', arguments: [{ name: 'who', required: true }] }] }
    default:
      throw new RpcFailure(jsonRpcCode.methodNotFound, 'Method not found')
  }
}

const uris = ['note://one', 'note://two']

function text(value: string): JsonObject {
  return { content: [{ type: 'text', text: value }] }
}

function asText(value: unknown, otherwise: string): string {
  return typeof value === 'string' ? value : otherwise
}

type Tool = [
  description: string,
  properties: JsonObject,
  run: (args: JsonObject, context: CallContext) => unknown,
]

const string = { type: 'string' }
const number = { type: 'number' }

/** Results: text, or a whole result. All take `key`, under which the call is counted. */
const tools: Record<string, Tool> = {
  echo: ['Says `text` again.', { text: string }, ({ text }) => asText(text, '')],
  slow: [
    'Answers after `ms`.',
    { ms: number, text: string },
    async ({ ms, text }, { signal }) => {
      await sleep(Number(ms), undefined, { signal })
      return asText(text, 'done')
    },
  ],
  progress: [
    'Reports progress `n` times, every `ms`.',
    { n: number, ms: number },
    async ({ n, ms }, { params, notify, signal }) => {
      const meta = isJsonObject(params['_meta']) ? params['_meta'] : {}
      const progressToken = meta['progressToken']
      for (let progress = 1; progress <= Number(n); progress++) {
        if (progressToken !== undefined) {
          notify('notifications/progress', { progressToken, progress, total: Number(n) })
        }
        if (Number(ms ?? 0) > 0) await sleep(Number(ms), undefined, { signal })
      }
      return 'done'
    },
  ],
  roots: ['Asks for the roots.', {}, async (_args, { ask }) => JSON.stringify(await ask('roots/list', {}))],
  whoami: ['Who calls, by the token.', {}, (_args, { caller }) => JSON.stringify(caller)],
  admin: ['Wants the scope `mcp:admin`.', {}, () => 'you may'],
}

function listTools({ extraTools, replacedTools }: CallContext): JsonObject[] {
  if (replacedTools !== undefined) return replacedTools
  const listed = Object.entries(tools).map(([name, [description, properties]]) => ({
    name,
    description,
    inputSchema: { type: 'object', properties: { ...properties, key: string } },
  }))
  const extra = extraTools.map((name) => ({ name, description: name, inputSchema: { type: 'object' } }))
  return [...listed, ...extra]
}

async function callTool(context: CallContext): Promise<JsonObject> {
  const { params, counters, extraTools, replacedTools } = context
  const name = String(params['name'])
  const args = isJsonObject(params['arguments']) ? params['arguments'] : {}
  count(counters.calls, typeof args['key'] === 'string' ? args['key'] : name)
  if (replacedTools !== undefined) return text(JSON.stringify(params['arguments'] ?? null))
  if (extraTools.includes(name)) return text(name)
  const tool = Object.hasOwn(tools, name) ? tools[name] : undefined
  if (tool === undefined) throw new RpcFailure(jsonRpcCode.invalidParams, `Unknown tool: ${name}`)
  const result = await tool[2](args, context)
  return typeof result === 'string' ? text(result) : (result as JsonObject)
}
