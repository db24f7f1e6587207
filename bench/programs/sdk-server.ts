// A peer: the authorization router of the MCP SDK of the 2025 era over a Map, with its stateless transport.
import { randomBytes } from 'node:crypto'
import { InvalidTokenError } from '@modelcontextprotocol/sdk/server/auth/errors.js'
import { requireBearerAuth } from '@modelcontextprotocol/sdk/server/auth/middleware/bearerAuth.js'
import type { OAuthServerProvider } from '@modelcontextprotocol/sdk/server/auth/provider.js'
import { mcpAuthRouter } from '@modelcontextprotocol/sdk/server/auth/router.js'
import { createMcpExpressApp } from '@modelcontextprotocol/sdk/server/express.js'
import { Server } from '@modelcontextprotocol/sdk/server/index.js'
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js'
import { type ListToolsResult, ListToolsRequestSchema } from '@modelcontextprotocol/sdk/types.js'
import { listening, ready } from './listening.ts'

const { result: listing = { tools: [] } } = JSON.parse(process.env['BENCH_TOOLS_LIST'] ?? '{}') as {
  result?: ListToolsResult
}
const accessToken = randomBytes(32).toString('base64url')
const accessTokens = new Map([[accessToken, Math.floor(Date.now() / 1000) + 3600]])

const unused = (): never => {
  throw new Error('The bench never signs in here.')
}
const provider: OAuthServerProvider = {
  clientsStore: { getClient: () => undefined },
  authorize: unused,
  challengeForAuthorizationCode: unused,
  exchangeAuthorizationCode: unused,
  exchangeRefreshToken: unused,
  async verifyAccessToken(token) {
    const expiresAt = accessTokens.get(token)
    if (expiresAt === undefined) throw new InvalidTokenError('unknown')
    return { token, clientId: 'bench', scopes: ['mcp'], expiresAt }
  },
}

const app = createMcpExpressApp()
app.use(mcpAuthRouter({ provider, issuerUrl: new URL('http://localhost'), scopesSupported: ['mcp'] }))
app.post('/mcp', requireBearerAuth({ verifier: provider }), (request, response) => {
  void serveMcp(request, response)
})
ready({ port: await listening(app), accessToken })

type Exchange = Parameters<StreamableHTTPServerTransport['handleRequest']>

async function serveMcp(request: Exchange[0] & { body?: unknown }, response: Exchange[1]): Promise<void> {
  const server = new Server({ name: 'bench', version: '1' }, { capabilities: { tools: {} } })
  server.setRequestHandler(ListToolsRequestSchema, () => listing)
  const transport = new StreamableHTTPServerTransport({ enableJsonResponse: true })
  response.on('close', () => void server.close())
  await server.connect(transport)
  await transport.handleRequest(request, response, request.body)
}
