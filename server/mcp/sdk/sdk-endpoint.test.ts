import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { z } from 'zod/v4'
import type { SignedInCaller } from '../../core/tokens/caller.ts'
import { createFakeRuntime, type FakeRuntime } from '../../../tests/support/server/fake-runtime.ts'
import {
  initialize,
  readMessages,
  send2026,
  sendMessage,
  toolCall,
} from '../../../tests/support/server/mcp/mcp-message.ts'
import {
  callerSample,
  endpointConfigSample,
  type WaitingCall,
  waitingTool,
} from '../../../tests/support/server/mcp/tool-fixture.ts'
import type { ModuleEndpoint } from '../endpoint-config.ts'
import { createSdkEndpoint } from './sdk-endpoint.ts'
import type { ToolModule } from '../tools/tool-module.ts'

const start = 1_000_000
let runtime: FakeRuntime
let endpoint: ModuleEndpoint
let calls: WaitingCall[]

const ada = (): SignedInCaller => ({ ...callerSample, expiresAt: start + 600 })

const createModule = (): ToolModule => ({
  tools: [waitingTool(calls)],
  start() {},
  register(server, _context, { inputRequired, inputResponse, sealState }) {
    server.server.registerCapabilities({ resources: { subscribe: true } })
    server.registerResource('watched', 'test://watched', {}, ({ href }) => ({
      contents: [{ uri: href, text: 'x' }],
    }))
    server.registerTool('rounds', { inputSchema: z.object({ for: z.string() }) }, (_input, { mcpReq }) => {
      if (inputResponse(mcpReq.inputResponses, 'sure').kind === 'elicit')
        return { content: [{ type: 'text', text: String(mcpReq.requestState()) }] }
      const requestedSchema = { type: 'object' as const, properties: {} }
      return inputRequired({
        inputRequests: { sure: inputRequired.elicit({ message: 'Sure?', requestedSchema }) },
        requestState: sealState('sealed'),
      })
    })
  },
})

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
  calls = []
  runtime = createFakeRuntime(start)
  endpoint = createSdkEndpoint(
    { ...endpointConfigSample(createModule()), runtime },
    { sessions: { total: 1, perUser: 1, idleSeconds: 1 }, subscriptions: { total: 3, perUser: 2 } },
  )
})
afterEach(async () => {
  await endpoint.close()
  vi.useRealTimers()
})

async function settled(): Promise<void> {
  for (let turn = 0; turn < 5; turn += 1) await new Promise((resolve) => setImmediate(resolve))
}

it('MCP transport Subscriptions: subscriptions/listen acknowledges first, then sends the requested notifications, each with the id of the request', async () => {
  const notifications = { toolsListChanged: true, resourceSubscriptions: ['test://watched'] }
  const stream = readMessages(await send2026(endpoint, ada(), 'subscriptions/listen', { notifications }))
  const meta = { 'io.modelcontextprotocol/subscriptionId': 1 }
  expect((await stream.next())?.message).toMatchObject({
    method: 'notifications/subscriptions/acknowledged',
    params: { _meta: meta, notifications: { toolsListChanged: true } },
  })
  endpoint.notify.promptsChanged()
  endpoint.notify.resourcesChanged()
  endpoint.notify.resourceUpdated('test://other')
  endpoint.notify.resourceUpdated('test://watched')
  endpoint.notify.toolsChanged()
  expect((await stream.next())?.message).toMatchObject({
    method: 'notifications/resources/updated',
    params: { uri: 'test://watched', _meta: meta },
  })
  expect((await stream.next())?.message).toMatchObject({
    method: 'notifications/tools/list_changed',
    params: { _meta: meta },
  })
})

it('a call of an earlier revision without a session ends with its client, and leaves nothing waiting', async () => {
  const client = new AbortController()
  const answer = sendMessage(endpoint, ada(), toolCall('wait'), { signal: client.signal })
  await expect.poll(() => calls.length, { interval: 2 }).toBe(1)
  client.abort()
  expect((await answer).status).toBe(499)
  await settled()
  expect(calls[0]?.aborted).toBe(true)
  // One whose client is gone already is not waited for.
  const late = await sendMessage(endpoint, ada(), toolCall('wait'), { signal: AbortSignal.abort() })
  expect(late.status).toBe(499)
})

describe('input_required (MCP 2026-07-28 multi round-trip requests)', () => {
  const capabilities = { elicitation: { form: {} } }
  const round = (params: object, caller = ada(), at = endpoint): Promise<Response> =>
    send2026(
      at,
      caller,
      'tools/call',
      { name: 'rounds', arguments: { for: 'a' }, ...params },
      { capabilities },
    )
  const answers = { inputResponses: { sure: { action: 'accept', content: {} } } }

  async function ask(): Promise<string> {
    const { result } = (await (await round({})).json()) as { result: { requestState: string } }
    return result.requestState
  }

  it('a request with input_required goes on with the state that was sealed, at another instance too', async () => {
    const requestState = await ask()
    const other = createSdkEndpoint({ ...endpointConfigSample(createModule()), runtime })
    const response = await round({ ...answers, requestState }, ada(), other)
    expect(await response.json()).toMatchObject({ result: { content: [{ text: 'sealed' }] } })
    await other.close()
  })

  it("MCP transport MRTR: a request with input_required refuses another user's state", async () => {
    const requestState = await ask()
    const eve = { ...ada(), user: { ...ada().user, id: 'https://provider#eve' } }
    expect(await (await round({ ...answers, requestState }, eve)).json()).toMatchObject({
      error: { code: -32_602, message: expect.stringContaining('requestState') as string },
    })
  })
})

describe('what is announced', () => {
  it('MCP transport Discovery: the announced capabilities are true: without sessions there are no notices and no logs up to 2025-11-25', async () => {
    const { result } = (await (await sendMessage(endpoint, ada(), initialize())).json()) as {
      result: { capabilities: object }
    }
    expect(result.capabilities).toEqual({
      tools: { listChanged: false },
      resources: { listChanged: false, subscribe: false },
    })
    expect(endpoint.methods).toEqual(['POST'])
  })

  it('an endpoint of 2026-07-28 announces notifications, unless there are none to send', async () => {
    const { result } = (await (await send2026(endpoint, ada(), 'server/discover')).json()) as {
      result: { capabilities: object }
    }
    expect(result.capabilities).toMatchObject({
      tools: { listChanged: true },
      resources: { listChanged: true, subscribe: true },
    })
    const { start: _start, ...silent } = createModule()
    const quiet = createSdkEndpoint({ ...endpointConfigSample(silent), runtime })
    expect(await (await send2026(quiet, ada(), 'server/discover')).json()).toMatchObject({
      result: { capabilities: { tools: { listChanged: false }, resources: { listChanged: false } } },
    })
    await quiet.close()
  })
})
