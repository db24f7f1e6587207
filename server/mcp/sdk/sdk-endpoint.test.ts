import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { z } from 'zod/v4'
import type { SignedInCaller } from '../../core/tokens/caller.ts'
import { createFakeRuntime, type FakeRuntime } from '../../../tests/support/server/fake-runtime.ts'
import { sendMessage, message2026, readMessages } from '../../../tests/support/server/mcp/mcp-message.ts'
import { callerSample, endpointConfigSample } from '../../../tests/support/server/mcp/tool-fixture.ts'
import type { McpEndpoint } from '../endpoint-config.ts'
import { createSdkEndpoint } from './sdk-endpoint.ts'
import type { ToolModule } from '../tools/tool-module.ts'

const start = 1_000_000
let runtime: FakeRuntime
let endpoint: McpEndpoint
let calls: { go: () => void; progress: () => void; aborted: boolean }[]

const ada = (): SignedInCaller => ({ ...callerSample, expiresAt: start + 600 })

const module: ToolModule = {
  tools: [
    {
      name: 'wait',
      async call(_input, { signal, progress }) {
        const call = { go: () => {}, progress: () => progress(calls.length), aborted: false }
        signal.addEventListener('abort', () => (call.aborted = true))
        progress(0)
        const going = new Promise<void>((resolve) => (call.go = resolve))
        calls.push(call)
        await going
        return 'done'
      },
    },
  ],
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
}

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
  calls = []
  runtime = createFakeRuntime(start)
  endpoint = createSdkEndpoint(
    { ...endpointConfigSample(module), runtime },
    { sessions: { total: 1, perUser: 1, idleSeconds: 1 }, subscriptions: { total: 3, perUser: 2 } },
  )
})
afterEach(async () => {
  await endpoint.close()
  vi.useRealTimers()
})

async function send(
  method: string,
  params: Record<string, unknown>,
  {
    caller = ada(),
    capabilities = {},
    signal,
  }: { caller?: SignedInCaller; capabilities?: object; signal?: AbortSignal } = {},
): Promise<Response> {
  const { message, headers } = message2026(method, params, capabilities as Record<string, unknown>)
  return sendMessage(endpoint, caller, message, { headers, ...(signal && { signal }) })
}

const everything = {
  toolsListChanged: true,
  resourcesListChanged: true,
  resourceSubscriptions: ['test://watched'],
}
const listen = (notifications: object = everything, caller: SignedInCaller = ada()): Promise<Response> =>
  send('subscriptions/listen', { notifications }, { caller })

async function settled(): Promise<void> {
  for (let turn = 0; turn < 5; turn += 1) await new Promise((resolve) => setImmediate(resolve))
}

describe('subscriptions/listen (MCP 2026-07-28)', () => {
  it('MCP transport Subscriptions: acknowledges first, then sends what was asked for, each with the id of the request', async () => {
    const stream = readMessages(
      await listen({ toolsListChanged: true, resourceSubscriptions: ['test://watched'] }),
    )
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
})

describe('a call of an earlier revision without a session', () => {
  const call = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'wait', arguments: {} } }

  it('ends with its client, and leaves nothing waiting', async () => {
    const client = new AbortController()
    const answer = sendMessage(endpoint, ada(), call, { signal: client.signal })
    await expect.poll(() => calls.length, { interval: 2 }).toBe(1)
    client.abort()
    expect((await answer).status).toBe(499)
    await settled()
    expect(calls[0]?.aborted).toBe(true)
  })

  it('of a client that is gone already is not waited for', async () => {
    const answer = await sendMessage(endpoint, ada(), call, { signal: AbortSignal.abort() })
    expect(answer.status).toBe(499)
  })
})

describe('input_required (MCP 2026-07-28 multi round-trip requests)', () => {
  const capabilities = { elicitation: { form: {} } }
  const round = (params: object, caller = ada()): Promise<Response> =>
    send('tools/call', { name: 'rounds', arguments: { for: 'a' }, ...params }, { caller, capabilities })
  const answers = { inputResponses: { sure: { action: 'accept', content: {} } } }

  async function ask(): Promise<string> {
    const { result } = (await (await round({})).json()) as { result: { requestState: string } }
    return result.requestState
  }

  it('goes on with the state that was sealed, at another instance too', async () => {
    const requestState = await ask()
    const config = { ...endpointConfigSample(module), runtime }
    const other = createSdkEndpoint(config)
    const params = { name: 'rounds', arguments: { for: 'a' }, ...answers, requestState }
    const { message, headers } = message2026('tools/call', params, capabilities)
    const response = await sendMessage(other, ada(), message, { headers })
    expect(await response.json()).toMatchObject({ result: { content: [{ text: 'sealed' }] } })
    await other.close()
  })

  it("MCP transport MRTR: refuses another user's state", async () => {
    const requestState = await ask()
    const eve = { ...ada(), user: { ...ada().user, id: 'https://provider#eve' } }
    expect(await (await round({ ...answers, requestState }, eve)).json()).toMatchObject({
      error: { code: -32_602, message: expect.stringContaining('requestState') as string },
    })
  })
})

describe('what is announced', () => {
  const initialize = {
    jsonrpc: '2.0',
    id: 0,
    method: 'initialize',
    params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 't', version: '1' } },
  }

  it('MCP transport Discovery: is made good: without sessions there are no notices and no logs up to 2025-11-25', async () => {
    const { result } = (await (await sendMessage(endpoint, ada(), initialize)).json()) as {
      result: { capabilities: object }
    }
    expect(result.capabilities).toEqual({
      tools: { listChanged: false },
      resources: { listChanged: false, subscribe: false },
    })
    expect(endpoint.methods).toEqual(['POST'])
  })

  it('at 2026-07-28 announces notifications, unless there are none to send', async () => {
    const { result } = (await (await send('server/discover', {})).json()) as {
      result: { capabilities: object }
    }
    expect(result.capabilities).toMatchObject({
      tools: { listChanged: true },
      resources: { listChanged: true, subscribe: true },
    })
    const { start: _start, ...silent } = module
    const quiet = createSdkEndpoint({ ...endpointConfigSample(silent), runtime })
    const { message, headers } = message2026('server/discover')
    expect(await (await sendMessage(quiet, ada(), message, { headers })).json()).toMatchObject({
      result: { capabilities: { tools: { listChanged: false }, resources: { listChanged: false } } },
    })
    await quiet.close()
  })
})
