import { toResponse } from '@drawbridge/shared/text-response.ts'
import { connect } from 'node:net'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { type Listener, listen } from '../http/listener/listener.ts'
import {
  callerSample,
  callsSample,
  endpointConfigSample,
  type WaitingCall,
  waitingTool,
} from '../../tests/support/server/mcp/tool-fixture.ts'
import { request } from '../../tests/support/server/mcp/mcp-message.ts'
import { createPlainEndpoint } from './plain/plain-endpoint.ts'
import type { McpEndpoint } from './endpoint-config.ts'

/** A tool that runs until it is told to end, served over a real socket. */
let endpoint: McpEndpoint
let listener: Listener
let calls: WaitingCall[]

beforeEach(async () => {
  calls = []
  endpoint = createPlainEndpoint(endpointConfigSample({ tools: [waitingTool(calls)] }))
  const serve = async (request: Request): Promise<Response> =>
    toResponse(await endpoint.handle(request, await request.json(), callerSample, callsSample()))
  listener = await listen(serve, { host: '127.0.0.1', port: 0 })
})
afterEach(async () => {
  await endpoint.close()
  await listener.close()
})

const meta = {
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientCapabilities': {},
}
const headers2026 = ['MCP-Protocol-Version: 2026-07-28', 'Mcp-Method: tools/call', 'Mcp-Name: wait']
const both = 'Accept: application/json, text/event-stream'

it.each<[string, object, string[]]>([
  [
    'MCP transport Cancellation: at 2026-07-28, where that cancels the call',
    { _meta: meta },
    [both, ...headers2026],
  ],
  ['at 2026-07-28 on a stream', { _meta: { ...meta, progressToken: 1 } }, [both, ...headers2026]],
  ['without a session at 2025-11-25', {}, [both]],
  ['without a session on a stream', { _meta: { progressToken: 1 } }, [both]],
])('a tool learns that its client has disconnected: %s', async (_how, params, headers) => {
  const body = JSON.stringify(request('tools/call', { name: 'wait', arguments: {}, ...params }))
  const socket = connect(listener.port, '127.0.0.1')
  socket.write(
    [
      'POST /mcp HTTP/1.1',
      `Host: 127.0.0.1:${listener.port}`,
      'Content-Type: application/json',
      `Content-Length: ${Buffer.byteLength(body)}`,
      ...headers,
      '',
      body,
    ].join('\r\n'),
  )
  await expect.poll(() => calls.length).toBe(1)
  socket.destroy()
  await expect.poll(() => calls[0]?.aborted).toBe(true)
  calls[0]?.go()
})
