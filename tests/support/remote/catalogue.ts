import { setTimeout as sleep } from 'node:timers/promises'
import { isJsonObject, type JsonObject } from '@drawbridge/shared/json-object.ts'
import { jsonRpcCode } from '@drawbridge/shared/mcp/json-rpc.ts'
import { count, type RemoteCounters } from './remote-counters.ts'
import type { RemoteSettings } from './remote-settings.ts'

/** Actions available to a method. */
export interface CallContext {
  settings: RemoteSettings
  counters: RemoteCounters
  params: JsonObject
  signal: AbortSignal
  /** Sends a notification that belongs to this request. */
  notify(method: string, params: JsonObject): void
  /**
   * Asks the client; several questions at once under their keys. Rejects with {@link RpcFailure} where that is
   * impossible.
   */
  ask(questions: Record<string, { method: string; params: JsonObject }>): Promise<Record<string, unknown>>
  /** The caller, from the token; empty without authorization. */
  caller: { clientId: string; scope: string }
  /** Notifies all interested clients. */
  broadcast(method: string, params: JsonObject): void
  /** Tools added by `change`. */
  extraTools: string[]
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
  const { params } = context
  switch (method) {
    case 'tools/list':
      return { tools: listTools(context) }
    case 'tools/call':
      return callTool(context)
    case 'resources/list':
      return { resources: uris.map((uri) => ({ uri, name: uri.slice('note://'.length) })) }
    case 'resources/templates/list':
      return { resourceTemplates: [{ uriTemplate: 'note://{name}', name: 'note' }] }
    case 'resources/read': {
      const uri = String(params['uri'])
      if (!uris.includes(uri)) throw new RpcFailure(-32_002, 'no such resource')
      return { contents: [{ uri, mimeType: 'text/plain', text: `This is ${uri}` }] }
    }
    case 'prompts/list':
      return { prompts: [{ name: 'greet', arguments: [{ name: 'who', required: true }] }] }
    case 'prompts/get':
      if (params['name'] !== 'greet') throw new RpcFailure(jsonRpcCode.invalidParams, 'no such prompt')
      return { messages: [{ role: 'user', content: { type: 'text', text: 'Hello' } }] }
    case 'completion/complete':
      return { completion: { values: ['one', 'two'], hasMore: false } }
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
  big: ['Answers with that many bytes of text.', { bytes: number }, ({ bytes }) => 'x'.repeat(Number(bytes))],
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
  log: [
    'Logs a line.',
    { level: string },
    ({ level }, { notify }) => {
      notify('notifications/message', { level: asText(level, 'info'), data: 'a line' })
      return 'logged'
    },
  ],
  elicit: [
    'Asks for a name.',
    {},
    async (_args, { ask }) => {
      const requestedSchema = { type: 'object', properties: { name: string }, required: ['name'] }
      const params = { mode: 'form', message: 'Your name?', requestedSchema }
      const answers = await ask({ answer: { method: 'elicitation/create', params } })
      return JSON.stringify(answers['answer'])
    },
  ],
  elicit_url: [
    'Asks to open a link.',
    { url: string },
    async ({ url }, { ask }) => {
      const params = { mode: 'url', message: 'Open it', url: asText(url, 'https://example.com/') }
      return JSON.stringify((await ask({ answer: { method: 'elicitation/create', params } }))['answer'])
    },
  ],
  sample: [
    'Asks the model.',
    {},
    async (_args, { ask }) => {
      const messages = [{ role: 'user', content: { type: 'text', text: 'Say hi' } }]
      const params = { messages, maxTokens: 10 }
      return JSON.stringify((await ask({ answer: { method: 'sampling/createMessage', params } }))['answer'])
    },
  ],
  roots: [
    'Asks for the roots.',
    {},
    async (_args, { ask }) =>
      JSON.stringify((await ask({ answer: { method: 'roots/list', params: {} } }))['answer']),
  ],
  fail: [
    'Fails: with an error answer for `kind` "error", with a result that says so otherwise.',
    { kind: string },
    ({ kind }) => {
      if (kind === 'error')
        throw new RpcFailure(jsonRpcCode.internalError, 'failed as asked', { why: 'asked' })
      return { ...text('failed as asked'), isError: true }
    },
  ],
  count: [
    'How often it was called with this `key`.',
    {},
    ({ key }, { counters }) => String(counters.calls[String(key)]),
  ],
  whoami: ['Who calls, by the token.', {}, (_args, { caller }) => JSON.stringify(caller)],
  admin: ['Wants the scope `mcp:admin`.', {}, () => 'you may'],
  region: [
    'Has an argument that travels in a header.',
    {
      region: { ...string, 'x-mcp-header': 'Region' },
      urgent: { type: 'boolean', 'x-mcp-header': 'Urgent' },
    },
    ({ region, urgent }) => JSON.stringify({ region, urgent }),
  ],
  change: [
    'Adds a tool and tells so.',
    {},
    (_args, { extraTools, broadcast }) => {
      extraTools.push(`extra_${extraTools.length + 1}`)
      broadcast('notifications/tools/list_changed', {})
      return 'changed'
    },
  ],
  touch: [
    'Tells those who subscribed to `uri` that it changed.',
    { uri: string },
    ({ uri }, { broadcast }) => {
      broadcast('notifications/resources/updated', { uri: asText(uri, 'note://one') })
      return 'touched'
    },
  ],
}

/** Returns the `x-mcp-header` arguments of a tool: header suffix by property. */
export function headerArguments(tool: string): Record<string, string> {
  return tool === 'region' ? { region: 'Region', urgent: 'Urgent' } : {}
}

function listTools({ extraTools }: CallContext): JsonObject[] {
  const listed = Object.entries(tools).map(([name, [description, properties]]) => ({
    name,
    description,
    inputSchema: { type: 'object', properties: { ...properties, key: string } },
  }))
  const extra = extraTools.map((name) => ({ name, description: name, inputSchema: { type: 'object' } }))
  return [...listed, ...extra]
}

async function callTool(context: CallContext): Promise<JsonObject> {
  const { params, counters, extraTools } = context
  const name = String(params['name'])
  const args = isJsonObject(params['arguments']) ? params['arguments'] : {}
  // Questions are answered by calling again (2026-07-28): that is one call, not two.
  if (!('inputResponses' in params))
    count(counters.calls, typeof args['key'] === 'string' ? args['key'] : name)
  if (extraTools.includes(name)) return text(name)
  const tool = Object.hasOwn(tools, name) ? tools[name] : undefined
  if (tool === undefined) throw new RpcFailure(jsonRpcCode.invalidParams, `Unknown tool: ${name}`)
  const result = await tool[2](args, context)
  return typeof result === 'string' ? text(result) : (result as JsonObject)
}
