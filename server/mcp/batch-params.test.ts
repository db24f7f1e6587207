import { afterAll, describe, expect, it } from 'vitest'
import { initialize, readMessages, request, sendMessage } from '../../tests/support/server/mcp/mcp-message.ts'
import {
  callerSample,
  callsSample,
  endpointConfigSample,
} from '../../tests/support/server/mcp/tool-fixture.ts'
import type { ModuleEndpoint } from './endpoint-config.ts'
import { createPlainEndpoint } from './plain/plain-endpoint.ts'
import { createSdkEndpoint } from './sdk/sdk-endpoint.ts'
import type { ToolModule } from './tools/tool-module.ts'

interface Answer {
  id: number
  result?: unknown
  error?: { code: number; message: string }
}

const tools: ToolModule['tools'] = [{ name: 'tool', call: () => 'done' }]
const sdkModule: ToolModule = {
  tools,
  asksClient: true,
  register(server) {
    server.registerPrompt('prompt', {}, () => ({ messages: [] }))
    server.registerResource('resource', 'test://a', {}, () => ({ contents: [] }))
  },
}

const wrong: [method: string, params: object][] = [
  ['tools/list', { cursor: 1 }],
  ['tools/call', { name: 1 }],
  ['tools/call', { name: 'tool', arguments: 'none' }],
  ['prompts/list', { cursor: 1 }],
  ['prompts/get', {}],
  ['resources/list', { cursor: 1 }],
  ['resources/templates/list', { cursor: 1 }],
  ['resources/read', { uri: 1 }],
  ['resources/subscribe', {}],
  ['resources/unsubscribe', {}],
  ['completion/complete', { ref: 1 }],
  ['logging/setLevel', { level: 'loud' }],
]

/** A member of the answer to a single request, or of each answer to a batch, by id. */
async function answersOf(endpoint: ModuleEndpoint, body: unknown): Promise<Answer[]> {
  const response = await sendMessage(endpoint, callerSample, body)
  expect(response.headers.get('content-type')).toBe('application/json')
  const answer = (await response.json()) as Answer | Answer[]
  return [answer].flat().toSorted((a, b) => a.id - b.id)
}

describe.each([
  ['plain tools', createPlainEndpoint(endpointConfigSample({ tools }))],
  ['a module with resources and prompts', createSdkEndpoint(endpointConfigSample(sdkModule))],
] as const)('a batch to %s', (name, endpoint) => {
  afterAll(() => endpoint.close())

  it.each(wrong)(
    'JSON-RPC 2.0 5.1: a batch refuses %s with %j as alone, and serves the rest',
    async (method, params) => {
      const [alone] = await answersOf(endpoint, request(method, params, 2))
      const batch = [request('ping', {}, 1), request(method, params, 2), request('tools/list', {}, 3)]
      const [first, refused, last] = await answersOf(endpoint, batch)
      // What plain tools do not have is unknown, whatever its parameters are.
      const isKnown = name !== 'plain tools' || method.startsWith('tools/')
      expect(refused).toEqual(alone)
      expect(refused?.error?.code).toBe(isKnown ? -32602 : -32601)
      if (isKnown) expect(refused?.error?.message).toMatch(/^The parameters of [\w/]+ are wrong\. \S/)
      expect(first?.result).toEqual({})
      expect(last?.result).toHaveProperty('tools')
    },
  )

  it('a batch in which every request is wrong is answered', async () => {
    const batch = [request('tools/call', {}, 1), request('tools/list', { cursor: 1 }, 2)]
    const answers = await answersOf(endpoint, batch)
    expect(answers.map(({ error }) => error?.code)).toEqual([-32602, -32602])
  })

  it('a refused call of a batch is recorded as failed, and one that runs as ok', async () => {
    const outcomes = new Set<unknown>()
    const calls = callsSample(callerSample, (_event, { outcome }) => void outcomes.add(outcome))
    const batch = [request('tools/call', { name: 1 }, 1), request('tools/call', { name: 'tool' }, 2)]
    await (await sendMessage(endpoint, callerSample, batch, { calls })).text()
    expect(outcomes).toEqual(new Set(['failed', 'ok']))
  })
})

it('a session refuses a wrong request in a batch', async () => {
  const endpoint = createSdkEndpoint(endpointConfigSample(sdkModule))
  const opened = await sendMessage(endpoint, callerSample, initialize())
  await opened.text()
  const headers = { 'mcp-session-id': opened.headers.get('mcp-session-id') ?? '' }
  const batch = [request('tools/call', {}, 1), request('ping', {}, 2)]
  const answers = await readMessages(await sendMessage(endpoint, callerSample, batch, { headers })).rest()
  const codes = new Map(answers.map(({ message }) => [message.id, message.error?.code]))
  expect(codes).toEqual(
    new Map([
      [1, -32602],
      [2, undefined],
    ]),
  )
  await endpoint.close()
})
