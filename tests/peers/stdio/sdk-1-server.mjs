// A server of the MCP SDK from before 2026-07-28, over stdio.
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js'
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js'
import { z } from 'zod'

const server = new McpServer({ name: 'sdk-1', version: '1' }, { capabilities: { logging: {} } })
server.registerTool(
  'add',
  { inputSchema: { a: z.number(), b: z.number() }, outputSchema: { sum: z.number() } },
  async ({ a, b }, { _meta, sendNotification }) => {
    if (_meta?.progressToken !== undefined)
      await sendNotification({
        method: 'notifications/progress',
        params: { progressToken: _meta.progressToken, progress: a + b },
      })
    return { content: [{ type: 'text', text: String(a + b) }], structuredContent: { sum: a + b } }
  },
)
server.registerTool('sure', { inputSchema: {} }, async () => {
  const answer = await server.server.elicitInput({
    message: 'Sure?',
    requestedSchema: { type: 'object', properties: {} },
  })
  return { content: [{ type: 'text', text: JSON.stringify(answer) }] }
})
server.registerResource('one', 'test://one', {}, (uri) => ({ contents: [{ uri: uri.href, text: 'one' }] }))
await server.connect(new StdioServerTransport())
