// A peer: the authorization router of the MCP SDK of the 2025 era over Maps, with its stateless transport.
import { randomBytes } from 'node:crypto'
import { InvalidGrantError, InvalidTokenError } from '@modelcontextprotocol/sdk/server/auth/errors.js'
import { requireBearerAuth } from '@modelcontextprotocol/sdk/server/auth/middleware/bearerAuth.js'
import type { OAuthServerProvider } from '@modelcontextprotocol/sdk/server/auth/provider.js'
import { mcpAuthRouter } from '@modelcontextprotocol/sdk/server/auth/router.js'
import { createMcpExpressApp } from '@modelcontextprotocol/sdk/server/express.js'
import { Server } from '@modelcontextprotocol/sdk/server/index.js'
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js'
import type { OAuthTokens } from '@modelcontextprotocol/sdk/shared/auth.js'
import { type ListToolsResult, ListToolsRequestSchema } from '@modelcontextprotocol/sdk/types.js'

const chains = Number(process.argv[2])
const { result: listing = { tools: [] } } = JSON.parse(process.env['BENCH_TOOLS_LIST'] ?? '{}') as {
  result?: ListToolsResult
}
const client = {
  client_id: 'bench',
  redirect_uris: ['http://127.0.0.1:4711/callback'],
  token_endpoint_auth_method: 'none',
}

const refreshTokens = new Map<string, string>()
const accessTokens = new Map<string, number>()

function mint(grant: string): OAuthTokens {
  const accessToken = randomBytes(32).toString('base64url')
  const refreshToken = randomBytes(32).toString('base64url')
  accessTokens.set(accessToken, Math.floor(Date.now() / 1000) + 3600)
  refreshTokens.set(refreshToken, grant)
  return {
    access_token: accessToken,
    token_type: 'Bearer',
    expires_in: 3600,
    scope: 'mcp',
    refresh_token: refreshToken,
  }
}

const unused = (): never => {
  throw new Error('The bench never signs in here.')
}
const provider: OAuthServerProvider = {
  clientsStore: { getClient: (id) => (id === client.client_id ? client : undefined) },
  authorize: unused,
  challengeForAuthorizationCode: unused,
  exchangeAuthorizationCode: unused,
  async exchangeRefreshToken(_client, presented) {
    const grant = refreshTokens.get(presented)
    if (grant === undefined) throw new InvalidGrantError('unknown')
    refreshTokens.delete(presented)
    return mint(grant)
  },
  async verifyAccessToken(token) {
    const expiresAt = accessTokens.get(token)
    if (expiresAt === undefined) throw new InvalidTokenError('unknown')
    return { token, clientId: client.client_id, scopes: ['mcp'], expiresAt }
  },
}

const app = createMcpExpressApp()
// Its rate limits would stop the measurement after fifty requests.
app.use(
  mcpAuthRouter({
    provider,
    issuerUrl: new URL('http://localhost'),
    scopesSupported: ['mcp'],
    tokenOptions: { rateLimit: false },
  }),
)
app.post('/mcp', requireBearerAuth({ verifier: provider }), (request, response) => {
  void serveMcp(request, response)
})

/** The type that the app's handlers use. */
type Transport = StreamableHTTPServerTransport
type Exchange = Parameters<Transport['handleRequest']>

async function serveMcp(request: Exchange[0] & { body?: unknown }, response: Exchange[1]): Promise<void> {
  const server = new Server({ name: 'bench', version: '1' }, { capabilities: { tools: {} } })
  server.setRequestHandler(ListToolsRequestSchema, () => listing)
  const transport = new StreamableHTTPServerTransport({ enableJsonResponse: true })
  response.on('close', () => void server.close())
  await server.connect(transport)
  await transport.handleRequest(request, response, request.body)
}

const listener = app.listen(0, '127.0.0.1', () => {
  const address = listener.address()
  const port = typeof address === 'object' ? address?.port : undefined
  const tokens = Array.from({ length: chains }, (_, index) => mint(`grant ${index}`))
  process.stdout.write(
    `${JSON.stringify({
      event: 'ready',
      port,
      clientId: client.client_id,
      refreshTokens: tokens.map(({ refresh_token }) => refresh_token),
      accessToken: tokens[0]?.access_token,
    })}\n`,
  )
})
listener.keepAliveTimeout = 65_000
process.once('SIGTERM', () => {
  listener.close()
  listener.closeAllConnections()
})
