// A server of the MCP SDK over stdio, of both eras.
import { McpServer, inputRequired, inputResponse } from '@modelcontextprotocol/server'
import { serveStdio } from '@modelcontextprotocol/server/stdio'
import { z } from 'zod'

function createServer() {
  const server = new McpServer(
    { name: 'sdk-2', version: '2' },
    { capabilities: { logging: {} }, instructions: 'Use it.' },
  )
  server.registerTool(
    'add',
    {
      description: 'Adds.',
      inputSchema: z.object({ a: z.number(), b: z.number() }),
      outputSchema: z.object({ sum: z.number() }),
    },
    async ({ a, b }, { mcpReq }) => {
      const { progressToken } = mcpReq._meta ?? {}
      if (progressToken !== undefined)
        await mcpReq.notify({ method: 'notifications/progress', params: { progressToken, progress: a + b } })
      return { content: [{ type: 'text', text: String(a + b) }], structuredContent: { sum: a + b } }
    },
  )
  server.registerTool('sure', { inputSchema: z.object({}) }, (_input, { mcpReq }) => {
    const answer = inputResponse(mcpReq.inputResponses, 'sure')
    if (answer.kind === 'elicit') return { content: [{ type: 'text', text: JSON.stringify(answer) }] }
    return inputRequired({
      inputRequests: {
        sure: inputRequired.elicit({ message: 'Sure?', requestedSchema: { type: 'object', properties: {} } }),
      },
    })
  })
  server.registerResource('one', 'test://one', {}, ({ href }) => ({ contents: [{ uri: href, text: 'one' }] }))
  server.registerPrompt('hello', {}, () => ({
    messages: [{ role: 'user', content: { type: 'text', text: 'Hello.' } }],
  }))
  return server
}

serveStdio(createServer)
