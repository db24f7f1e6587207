// A server of the MCP SDK of the 2026 era, set up as in its documentation: both eras, no sessions.
import { createServer } from 'node:http'
import { getRequestListener } from '@hono/node-server'
import { createMcpHandler, Server } from '@modelcontextprotocol/server'

const inputSchema = { type: 'object' as const }

const handler = createMcpHandler(() => {
  const server = new Server({ name: 'bench', version: '1' }, { capabilities: { tools: {} } })
  server.setRequestHandler('tools/list', () => ({
    tools: [
      { name: 'echo', inputSchema },
      { name: 'large', inputSchema },
    ],
  }))
  server.setRequestHandler('tools/call', ({ params }) => ({
    content: [{ type: 'text' as const, text: String(params.arguments?.['text']) }],
  }))
  return server
})

const listener = getRequestListener((request) => handler.fetch(request))
const server = createServer({ keepAliveTimeout: 65_000 }, (...exchange) => void listener(...exchange))
server.listen(0, '127.0.0.1', () => {
  const address = server.address()
  const port = typeof address === 'object' ? address?.port : undefined
  process.stdout.write(`${JSON.stringify({ event: 'ready', port })}\n`)
})
process.once('SIGTERM', () => {
  server.close()
  server.closeAllConnections()
  void handler.close()
})
