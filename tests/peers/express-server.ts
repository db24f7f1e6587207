import { once } from 'node:events'
import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from 'node:http'
import { createRequire } from 'node:module'
import { createMcpExpressApp } from '@modelcontextprotocol/sdk/server/express.js'
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js'
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js'

const texts: Readonly<Record<string, string>> = {
  opening_hours: 'Open from 9 to 5.',
  delete_everything: 'Deleted everything.',
}

type Handler = (request: IncomingMessage & { body: unknown }, response: ServerResponse) => void
type App = RequestListener & { post(path: string, handler: Handler): void; use(handler: unknown): void }

/**
 * Starts a server on loopback that reads messages with Express's body parser, like most MCP servers in JavaScript:
 * `sdk` is the application created by the official SDK, `own` a custom one.
 */
export async function startExpressServer(
  kind: 'sdk' | 'own',
  port: number,
): Promise<{ url: string; close(): Promise<void> }> {
  const app = kind === 'sdk' ? (createMcpExpressApp() as unknown as App) : ownApp()
  app.post('/mcp', (request, response) => void answer(request, response))
  const server = createServer(app).listen(port, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${port}/mcp`,
    async close() {
      server.close()
      server.closeAllConnections()
      await once(server, 'close')
    },
  }
}

/** Uses the Express that the SDK depends on. */
function ownApp(): App {
  const require = createRequire(import.meta.url)
  const ofSdk = createRequire(require.resolve('@modelcontextprotocol/sdk/server/express.js'))
  const express = ofSdk('express') as (() => App) & { json(): unknown }
  const app = express()
  app.use(express.json())
  return app
}

async function answer(request: IncomingMessage & { body: unknown }, response: ServerResponse): Promise<void> {
  const server = new McpServer({ name: 'express', version: '1' })
  for (const [name, text] of Object.entries(texts)) {
    server.registerTool(name, { description: 'For the tests' }, () => ({ content: [{ type: 'text', text }] }))
  }
  const transport = new StreamableHTTPServerTransport({ enableJsonResponse: true })
  await server.connect(transport)
  await transport.handleRequest(request, response, request.body)
}
