// The tool of bridge/sdk-mcp-server.ts over stdio, for programs that serve a command over HTTP.
import { Server } from '@modelcontextprotocol/server'
import { StdioServerTransport } from '@modelcontextprotocol/server/stdio'

const server = new Server({ name: 'bench', version: '1' }, { capabilities: { tools: {} } })
server.setRequestHandler('tools/list', () => ({
  tools: [{ name: 'echo', inputSchema: { type: 'object' as const } }],
}))
server.setRequestHandler('tools/call', ({ params }) => ({
  content: [{ type: 'text' as const, text: String(params.arguments?.['text']) }],
}))
await server.connect(new StdioServerTransport())
