import { once } from 'node:events'
import { setImmediate } from 'node:timers/promises'
import { createSignal } from '@drawbridge/shared/async.ts'
import { ProtocolError, SdkError, SdkErrorCode } from '@modelcontextprotocol/server'
import { describe, expect, it } from 'vitest'
import { z } from 'zod/v4'
import { message2026, request, sendMessage, toolCall } from '../../../tests/support/server/mcp/mcp-message.ts'
import { callerSample, endpointConfigSample } from '../../../tests/support/server/mcp/tool-fixture.ts'
import { createSdkEndpoint } from './sdk-endpoint.ts'
import type { ToolModule } from '../tools/tool-module.ts'

const secret = 'the password is 1234'
const fail = (): never => {
  throw new Error(secret)
}

const module: ToolModule = {
  register(server, _context, { ResourceTemplate, completable }) {
    const argsSchema = z.object({ of: completable(z.string(), fail) })
    server.registerPrompt('prompt', { argsSchema }, fail)
    const template = new ResourceTemplate('test://{name}', { list: fail, complete: { name: fail } })
    server.registerResource('resource', template, {}, fail)
    server.registerTool('tool', { inputSchema: z.object({}) }, fail)
    server.server.registerCapabilities({ logging: {} })
    server.server.setRequestHandler('logging/setLevel', fail)
  },
}

const argument = { name: 'of', value: 'x' }
const calls: [what: string, method: string, params: Record<string, unknown>][] = [
  ['a tool', 'tools/call', { name: 'tool', arguments: {} }],
  ['a prompt', 'prompts/get', { name: 'prompt', arguments: { of: 'x' } }],
  ['a resource', 'resources/read', { uri: 'test://a' }],
  ['a list of resources', 'resources/list', {}],
  ['a completion', 'completion/complete', { ref: { type: 'ref/prompt', name: 'prompt' }, argument }],
  [
    'a completion of a template',
    'completion/complete',
    { ref: { type: 'ref/resource', uri: 'test://{name}' }, argument: { ...argument, name: 'name' } },
  ],
]

async function answerTo(
  method: string,
  params: Record<string, unknown>,
  revision: string,
): Promise<string[]> {
  const reported: string[] = []
  const endpoint = createSdkEndpoint({
    ...endpointConfigSample(module),
    report: (event, error) => void reported.push(`${event}: ${(error as Error).message}`),
  })
  const call2026 = message2026(method, params)
  const response =
    revision === '2026-07-28'
      ? await sendMessage(endpoint, callerSample, call2026.message, {
          headers: { ...call2026.headers, ...(params['uri'] !== undefined && { 'mcp-name': 'test://a' }) },
        })
      : await sendMessage(endpoint, callerSample, request(method, params))
  const text = await response.text()
  await endpoint.close()
  return [text, ...reported]
}

const ownHandler: (typeof calls)[number] = ['a handler of its own', 'logging/setLevel', { level: 'info' }]

describe.each([
  ['2026-07-28', calls],
  ['2025-11-25', [...calls, ownHandler]],
] as const)('what registered code throws (%s)', (revision, given) => {
  it.each(given)(
    'an error that code throws in %s goes to the log, and the client reads the next step instead',
    async (_what, ...call) => {
      const [text, ...reported] = await answerTo(...call, revision)
      expect(text).toContain('failed on the server. Try again')
      expect(text).not.toContain(secret)
      expect(reported).toEqual([`tool_failed: ${secret}`])
    },
  )
})

/** An endpoint with one tool, and what it reports. */
function endpointWith(run: (signal: AbortSignal) => Promise<never>): {
  endpoint: ReturnType<typeof createSdkEndpoint>
  reported: unknown[]
} {
  const reported: unknown[] = []
  const register: ToolModule['register'] = (server) =>
    void server.registerTool('tool', { inputSchema: z.object({}) }, (_input, { mcpReq }) =>
      run(mcpReq.signal),
    )
  const report = (...given: unknown[]): void => void reported.push(given)
  return { endpoint: createSdkEndpoint({ ...endpointConfigSample({ register }), report }), reported }
}

it.each([
  ['ProtocolError', new ProtocolError(-32602, 'Choose another year.')],
  ['SdkError', new SdkError(SdkErrorCode.RequestTimeout, 'Choose another year.')],
])('the client reads the message of a %s that a tool throws, and nothing is logged', async (_name, error) => {
  const { endpoint, reported } = endpointWith(() => Promise.reject(error))
  const response = await sendMessage(endpoint, callerSample, toolCall('tool'))
  expect(await response.text()).toContain('Choose another year.')
  expect(reported).toEqual([])
  await endpoint.close()
})

it('an error of a tool whose call the client has cancelled is not logged', async () => {
  const client = new AbortController()
  const failing = createSignal()
  const { endpoint, reported } = endpointWith(async (signal) => {
    client.abort()
    if (!signal.aborted) await once(signal, 'abort')
    failing.give()
    throw new Error('ended')
  })
  await sendMessage(endpoint, callerSample, toolCall('tool'), { signal: client.signal })
  await failing.given
  await endpoint.close()
  await setImmediate()
  expect(reported).toEqual([])
})
