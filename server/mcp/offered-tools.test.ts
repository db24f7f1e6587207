import { profileSample } from '../../tests/support/server/core/access-sample.ts'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import {
  callsSample,
  callerSample,
  endpointConfigSample,
} from '../../tests/support/server/mcp/tool-fixture.ts'
import { message2026, request, sendMessage } from '../../tests/support/server/mcp/mcp-message.ts'
import {
  type AccessAllowed,
  type AccessRule,
  createAccessPolicy,
  fullAccess,
} from '../core/access/access-rules.ts'
import type { McpEndpoint } from './endpoint-config.ts'
import { createPlainEndpoint } from './plain/plain-endpoint.ts'
import { createSdkEndpoint } from './sdk/sdk-endpoint.ts'
import type { ToolModule } from './tools/tool-module.ts'

let ran: string[] = []

const run = (name: string): string => {
  ran.push(name)
  return name
}

const inputSchema = { type: 'object', properties: { secret: { type: 'string' } } }

const module: ToolModule = {
  scopes: { 'notes:write': 'Change your notes' },
  tools: [
    { name: 'list_notes', inputSchema, call: () => run('list_notes') },
    { name: 'list_admin', inputSchema, call: () => run('list_admin') },
    { name: 'add_note', inputSchema, scope: 'notes:write', call: () => run('add_note') },
    { name: 'no', inputSchema, call: () => ({ content: [{ type: 'text', text: 'No.' }], isError: true }) },
    {
      name: 'throw',
      inputSchema,
      call() {
        throw new Error('broken')
      },
    },
  ],
}

const registering: ToolModule = {
  ...module,
  register(server) {
    server.registerTool('list_more', {}, () => ({ content: [{ type: 'text', text: run('list_more') }] }))
    server.registerTool('fall', {}, () => {
      throw new Error('broken')
    })
    server.registerResource('note', 'note://1', {}, ({ href }) => ({ contents: [{ uri: href, text: 'x' }] }))
    server.registerPrompt('greet', {}, () => ({
      messages: [{ role: 'user', content: { type: 'text', text: 'Hi.' } }],
    }))
  },
}

const endpoints: Record<string, () => McpEndpoint> = {
  plain: () => createPlainEndpoint(endpointConfigSample(module, () => {})),
  SDK: () => createSdkEndpoint(endpointConfigSample(registering, () => {})),
}

let endpoint: McpEndpoint
afterEach(async () => {
  ran = []
  await endpoint.close()
})

function accessBy(
  rule: Omit<Extract<AccessRule, { effect: 'allow' }>, 'effect' | 'conditions'>,
): AccessAllowed {
  const policy = createAccessPolicy([{ effect: 'allow', conditions: {}, ...rule }])
  return policy.decide({ ...profileSample, sub: 'ada' }) as AccessAllowed
}

type Record_ = [event: string, fields: Record<string, unknown>]

/** Sends one request, in the newest revision or an earlier one; the answer, and what was recorded. */
async function send(
  method: string,
  params: Record<string, unknown>,
  access: AccessAllowed,
  revision: string,
): Promise<{
  answer: { result?: Record<string, unknown>; error?: { code: number; message: string } }
  records: Record_[]
}> {
  const records: Record_[] = []
  const caller = { ...callerSample, access }
  const calls = callsSample(caller, (event, fields) => void records.push([event, fields]))
  const newest = message2026(method, params)
  const earlier = { message: request(method, params), headers: {} }
  const { message, headers } = revision === '2026-07-28' ? newest : earlier
  const response = await sendMessage(endpoint, caller, message, { headers, calls })
  return { answer: (await response.json()) as never, records }
}

const revisions = ['2026-07-28', '2025-11-25']
const cases = Object.keys(endpoints).flatMap((kind) => revisions.map((revision) => [kind, revision] as const))

describe.each(cases)('the %s endpoint at %s', (kind, revision) => {
  beforeEach(() => void (endpoint = endpoints[kind]!()))

  const names = async (access: AccessAllowed): Promise<string[]> => {
    const { answer, records } = await send('tools/list', {}, access, revision)
    expect(records).toEqual([])
    return ((answer.result?.['tools'] ?? []) as { name: string }[]).map(({ name }) => name)
  }
  const call = (name: string, access: AccessAllowed = fullAccess): ReturnType<typeof send> =>
    send('tools/call', { name, arguments: { secret: 'argument' } }, access, revision)

  it('an endpoint lists all tools to callers whom no rule limits', async () => {
    expect(await names(fullAccess)).toEqual(expect.arrayContaining(['list_notes', 'list_admin', 'add_note']))
  })

  it('an endpoint neither lists nor calls hidden tools, and answers as if they did not exist', async () => {
    const access = accessBy({ tools: { allow: ['list_*'], deny: ['*_admin'] } })
    expect(await names(access)).toEqual(kind === 'SDK' ? ['list_notes', 'list_more'] : ['list_notes'])
    expect((await call('list_notes', access)).answer.result).toBeDefined()
    for (const hidden of ['list_admin', 'add_note', 'no']) {
      const { answer, records } = await call(hidden, access)
      const unknown = await call('nothing', access)
      expect(answer.error).toEqual({
        ...unknown.answer.error,
        message: unknown.answer.error?.message.replace('nothing', hidden),
      })
      expect(records).toEqual([
        ['tool_called', expect.objectContaining({ tool: hidden, outcome: 'refused_rule' })],
      ])
    }
    expect(ran).toEqual(['list_notes'])
  })

  it('an endpoint neither lists nor calls tools that need a scope which the rule does not give', async () => {
    const access = accessBy({ scopes: ['mcp'] })
    expect(await names(access)).not.toContain('add_note')
    expect((await call('add_note', access)).answer.error?.message).toContain('There is no tool')
    expect(await names(accessBy({ scopes: ['mcp', 'notes:write'] }))).toContain('add_note')
    expect(ran).toEqual([])
  })

  it.each([
    ['list_notes', 'ok'],
    ['no', 'tool_error'],
    ['throw', 'failed'],
  ])(
    'an endpoint records a call of %s as %s, once, and never its arguments or result',
    async (name, outcome) => {
      const { records } = await call(name)
      expect(records).toEqual([
        [
          'tool_called',
          {
            sub: 'ada',
            client_id: 'mcpc_1',
            grant_id: 'grant-1',
            credential: 'access_token',
            tool: name,
            revision: undefined,
            outcome,
            duration_ms: 0,
            request_bytes: 100,
            response_bytes: expect.any(Number) as number,
          },
        ],
      ])
      expect(JSON.stringify(records)).not.toContain('argument')
      expect(records[0]?.[1]['response_bytes']).toBeGreaterThan(20)
    },
  )

  it('an endpoint records a call of an unknown tool as such', async () => {
    const { records } = await call(`nothing ${'x'.repeat(500)}`)
    expect(records).toEqual([['tool_called', expect.objectContaining({ outcome: 'failed', unknown: true })]])
    expect(String(records[0]?.[1]['tool'])).toHaveLength(200)
  })

  it.runIf(kind === 'SDK')(
    'an endpoint records other requests that it answers, and errors that a registered tool throws',
    async () => {
      expect((await call('fall')).records).toEqual([
        ['tool_called', expect.objectContaining({ outcome: 'failed' })],
      ])
      const read = await send('resources/read', { uri: 'note://1' }, fullAccess, revision)
      expect(read.records).toEqual([
        ['resource_read', expect.objectContaining({ resource: 'note://1', outcome: 'ok' })],
      ])
      const missing = await send('resources/read', { uri: 'note://2?token=secret#x' }, fullAccess, revision)
      expect(missing.records).toEqual([
        ['resource_read', expect.objectContaining({ resource: 'note://2', outcome: 'failed' })],
      ])
      const got = await send('prompts/get', { name: 'greet' }, fullAccess, revision)
      expect(got.records).toEqual([
        ['prompt_got', expect.objectContaining({ prompt: 'greet', outcome: 'ok' })],
      ])
    },
  )
})
