import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createPerson } from '../e2e/person.ts'
import { postMcp, registerPlainClient } from '../e2e/plain-client.ts'
import { type ServerProcess, startServer } from '../e2e/server-process.ts'
import { message2026 } from '../support/server/mcp/mcp-message.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

const plain = `export const tools = [{ name: 'echo', inputSchema: { type: 'object', additionalProperties: true }, call: (input) => JSON.stringify(input) }]
export const start = () => {}
`
const registering = `${plain}
export function register(server, context, { ResourceTemplate, completable, fromJsonSchema }) {
  server.registerPrompt('greet', {}, () => ({ messages: [] }))
  server.registerResource('note', 'note://1', {}, () => ({ contents: [{ uri: 'note://1', text: 'one' }] }))
  const complete = { id: () => ['1', '2'] }
  const template = new ResourceTemplate('note://{id}/x', { list: undefined, complete })
  server.registerResource('notes', template, {}, () => ({ contents: [] }))
}
`

interface Answer {
  result?: Record<string, unknown>
  error?: { code: number; message: string }
}

type Ask = (method: string, params: unknown) => Promise<Answer>

/** Reads the first response of a body in JSON or of an event stream, and leaves the rest. */
async function answerOf(response: Response): Promise<Answer> {
  const isStream = response.headers.get('content-type')?.startsWith('text/event-stream')
  if (!isStream) return (await response.json()) as Answer
  let text = ''
  for await (const chunk of response.body ?? []) {
    text += Buffer.from(chunk as Uint8Array).toString()
    const data = /^data: (\{.*"(?:result|error)":.*)$/m.exec(text)?.[1]
    if (data !== undefined) return JSON.parse(data) as Answer
    if (text.includes('subscriptions/acknowledged')) return { result: {} }
  }
  throw new Error(`There is no response in ${text}`)
}

const servers: ServerProcess[] = []
afterAll(async () => {
  for (const server of servers) await server.close()
})

/** Starts a server with a module, and signs a user in. */
async function open(module: string): Promise<{ earlier: Ask; later: Ask }> {
  const TOOLS = join(temporaryFolder(afterAll), 'tools.mjs')
  writeFileSync(TOOLS, module)
  const server = await startServer({ TOOLS })
  servers.push(server)
  const { access_token: token } = await (
    await registerPlainClient(server)
  ).connect(await createPerson(server))
  const authorization = `Bearer ${token}`
  return {
    earlier: async (method, params) =>
      answerOf(
        await postMcp(server, { id: 1, method, ...(params !== undefined && { params }) }, { authorization }),
      ),
    later: async (method, params) => {
      const { message, headers } = message2026(method, params as Record<string, unknown>)
      return answerOf(await postMcp(server, message as { method: string }, { authorization, ...headers }))
    },
  }
}

type Row = [endpoint: 'both' | 'registering', method: string, params: unknown]

const client = { name: 'c', version: '1' }
const opening = { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: client }
const ref = { type: 'ref/resource', uri: 'note://{id}/x' }
const argument = { name: 'id', value: '' }

const nulls: Record<'earlier' | 'later', Row[]> = {
  earlier: [
    ['both', 'initialize', { ...opening, clientInfo: { ...client, title: null, websiteUrl: null } }],
    ['both', 'initialize', { ...opening, capabilities: { sampling: null, roots: { listChanged: null } } }],
    ['both', 'initialize', { ...opening, _meta: null }],
    ['both', 'ping', null],
    ['both', 'ping', { _meta: null }],
    ['both', 'tools/list', null],
    ['both', 'tools/list', { cursor: null, _meta: { progressToken: null } }],
    ['both', 'tools/call', { name: 'echo', arguments: null }],
    ['both', 'tools/call', { name: 'echo', arguments: {}, _meta: null, task: null }],
    ['both', 'tools/call', { name: 'echo', _meta: { progressToken: null, traceparent: null } }],
    ['registering', 'prompts/list', { cursor: null }],
    ['registering', 'prompts/get', { name: 'greet', arguments: null }],
    ['registering', 'prompts/get', { name: 'greet', arguments: { style: null } }],
    ['registering', 'resources/list', { cursor: null }],
    ['registering', 'resources/templates/list', null],
    ['registering', 'resources/read', { uri: 'note://1', _meta: null }],
    ['registering', 'completion/complete', { ref, argument, context: null }],
    ['registering', 'completion/complete', { ref, argument, context: { arguments: null } }],
  ],
  later: [
    ['both', 'server/discover', { cursor: null }],
    ['both', 'tools/list', { cursor: null, _meta: { progressToken: null } }],
    ['both', 'tools/call', { name: 'echo', arguments: null, requestState: null, inputResponses: null }],
    ['both', 'tools/call', { name: 'echo', _meta: { 'io.modelcontextprotocol/logLevel': null } }],
    ['both', 'tools/call', { name: 'echo', inputResponses: { k: { action: 'decline', content: null } } }],
    [
      'both',
      'tools/list',
      { _meta: { 'io.modelcontextprotocol/clientInfo': { name: 'c', version: '1', title: null } } },
    ],
    ['both', 'tools/list', { _meta: { 'io.modelcontextprotocol/clientCapabilities': { sampling: null } } }],
    [
      'both',
      'subscriptions/listen',
      { notifications: { toolsListChanged: true, promptsListChanged: null, resourceSubscriptions: null } },
    ],
    ['registering', 'prompts/get', { name: 'greet', arguments: null }],
    ['registering', 'resources/read', { uri: 'note://1', requestState: null }],
    ['registering', 'completion/complete', { ref, argument, context: null }],
  ],
}

const wrong: Record<'earlier' | 'later', Row[]> = {
  earlier: [
    ['both', 'initialize', { capabilities: {}, clientInfo: client }],
    ['both', 'initialize', { ...opening, clientInfo: null }],
    ['both', 'initialize', undefined],
    ['both', 'ping', { _meta: 7 }],
    ['both', 'tools/list', { cursor: 7 }],
    ['both', 'tools/call', undefined],
    ['both', 'tools/call', {}],
    ['both', 'tools/call', { name: null }],
    ['both', 'tools/call', { name: 7 }],
    ['both', 'tools/call', { name: 'echo', _meta: 'x' }],
    ['both', 'tools/call', { name: 'echo', arguments: 'x' }],
    ['both', 'tools/call', { name: 'echo', arguments: [] }],
    ['registering', 'prompts/list', { cursor: {} }],
    ['registering', 'prompts/get', { name: 'greet', arguments: { a: 7 } }],
    ['registering', 'prompts/get', {}],
    ['registering', 'resources/list', { cursor: true }],
    ['registering', 'resources/templates/list', { cursor: 1 }],
    ['registering', 'resources/read', { uri: 7 }],
    ['registering', 'resources/read', {}],
    ['registering', 'completion/complete', { ref: { type: 'ref/none' }, argument }],
    ['registering', 'completion/complete', { ref, argument: { name: 'id' } }],
  ],
  later: [
    ['both', 'tools/list', { cursor: 7 }],
    ['both', 'tools/call', { name: 'echo', arguments: 'x' }],
    ['both', 'subscriptions/listen', {}],
    ['both', 'subscriptions/listen', { notifications: { toolsListChanged: 'yes' } }],
    ['registering', 'prompts/list', { cursor: {} }],
    ['registering', 'prompts/get', { name: 'greet', arguments: { a: 7 } }],
    ['registering', 'resources/templates/list', { cursor: 1 }],
    ['registering', 'completion/complete', { ref, argument: { name: 'id' } }],
  ],
}

describe.each([
  ['plain tools', 'both', plain],
  ['a module that registers', 'registering', registering],
])('%s', (_, kind, module) => {
  let ask: { earlier: Ask; later: Ask }
  beforeAll(async () => {
    ask = await open(module)
  })

  const rowsOf = (table: Record<'earlier' | 'later', Row[]>) =>
    (['earlier', 'later'] as const).flatMap((revision) =>
      table[revision]
        .filter(([of]) => of === 'both' || of === kind)
        .map(
          ([, method, params]) => [revision, method, JSON.stringify(params) ?? 'nothing', params] as const,
        ),
    )

  it.each(rowsOf(nulls))(
    'JSON-RPC 2.0 4.2, %s: null is as absent in %s with %s',
    async (revision, method, _text, params) => {
      expect(await ask[revision](method, params)).toMatchObject({ result: {} })
    },
  )

  it.each(rowsOf(wrong))(
    'JSON-RPC 2.0 5.1, %s: -32602 in words for %s with %s',
    async (revision, method, _text, params) => {
      const { error } = await ask[revision](method, params)
      expect(error?.code).toBe(-32_602)
      expect(error?.message).toMatch(/^[A-Z][^\n{}[\]]{10,200}$/)
    },
  )

  it.each(['earlier', 'later'] as const)(
    '%s: null in arguments is a value, which the tool gets',
    async (revision) => {
      const input = { a: null, b: [null, { c: null }] }
      const { result } = await ask[revision]('tools/call', { name: 'echo', arguments: input })
      expect(result?.['content']).toEqual([{ type: 'text', text: JSON.stringify(input) }])
    },
  )
})
