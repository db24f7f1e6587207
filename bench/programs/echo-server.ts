// A server of the MCP SDK with one tool, which repeats a text: over HTTP as in its documentation, in both eras and
// without sessions; with argv `stdio`, over stdio.
import { getRequestListener } from '@hono/node-server'
import { createMcpHandler, Server } from '@modelcontextprotocol/server'
import { StdioServerTransport } from '@modelcontextprotocol/server/stdio'
import { listening, ready } from './listening.ts'

function createEcho(): Server {
  const server = new Server({ name: 'bench', version: '1' }, { capabilities: { tools: {} } })
  server.setRequestHandler('tools/list', () => ({
    tools: [{ name: 'echo', inputSchema: { type: 'object' as const } }],
  }))
  server.setRequestHandler('tools/call', ({ params }) => ({
    content: [{ type: 'text' as const, text: String(params.arguments?.['text']) }],
  }))
  return server
}

if (process.argv[2] === 'stdio') await createEcho().connect(new StdioServerTransport())
else {
  const handler = createMcpHandler(createEcho)
  const listener = getRequestListener((request) => handler.fetch(request))
  ready({ port: await listening((...exchange) => void listener(...exchange)) })
}
