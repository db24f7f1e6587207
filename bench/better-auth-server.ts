// A peer: better-auth with its MCP plugin over its memory adapter, and the MCP SDK's transport behind it.
import { createHash, randomBytes } from 'node:crypto'
import { createServer } from 'node:http'
import { getRequestListener } from '@hono/node-server'
import {
  type ListToolsResult,
  Server,
  WebStandardStreamableHTTPServerTransport,
} from '@modelcontextprotocol/server'
import { importPeer } from './peer-install.ts'

/** The part of the package API used here. */
interface BetterAuth {
  handler(request: Request): Promise<Response>
}
type Handler = (request: Request) => Promise<Response>

const from = process.env['BENCH_PACKAGES'] ?? ''
const { betterAuth } = await importPeer<{ betterAuth(options: object): BetterAuth }>('better-auth', from)
const { jwt } = await importPeer<{ jwt(): object }>('better-auth/plugins', from)
const { memoryAdapter } = await importPeer<{ memoryAdapter(tables: object): object }>(
  'better-auth/adapters/memory',
  from,
)
const { mcp, requireMcpAuth } = await importPeer<{
  mcp(options: object): object
  requireMcpAuth(auth: BetterAuth, handler: Handler, options: object): Handler
}>('@better-auth/mcp', from)

const chains = Number(process.argv[2])
const { result: listing = { tools: [] } } = JSON.parse(process.env['BENCH_TOOLS_LIST'] ?? '{}') as {
  result?: ListToolsResult
}
const redirectUri = 'http://127.0.0.1:4711/callback'

const server = createServer({ keepAliveTimeout: 65_000 })
await new Promise<void>((resolve) => {
  server.listen(0, '127.0.0.1', resolve)
})
const address = server.address()
const port = typeof address === 'object' && address !== null ? address.port : 0
const origin = `http://localhost:${port}`
const resource = `${origin}/mcp`

const names = ['user', 'session', 'account', 'verification', 'jwks', 'rateLimit']
const oauthNames = ['Client', 'AccessToken', 'RefreshToken', 'Consent', 'Resource', 'ClientResource']
const tables = Object.fromEntries(
  [...names, ...oauthNames.map((name) => `oauth${name}`), 'oauthClientAssertion'].map((name) => [name, []]),
)
const auth = betterAuth({
  baseURL: origin,
  secret: randomBytes(32).toString('base64url'),
  database: memoryAdapter(tables),
  emailAndPassword: { enabled: true },
  // Its rate limits would stop the measurement.
  rateLimit: { enabled: false },
  logger: { level: 'error' },
  plugins: [
    jwt(),
    mcp({
      loginPage: '/login',
      consentPage: '/consent',
      resource,
      allowDynamicClientRegistration: true,
      allowUnauthenticatedClientRegistration: true,
    }),
  ],
})
const serveMcp = requireMcpAuth(
  auth,
  async (request) => {
    const mcpServer = new Server({ name: 'bench', version: '1' }, { capabilities: { tools: {} } })
    mcpServer.setRequestHandler('tools/list', () => listing)
    const transport = new WebStandardStreamableHTTPServerTransport({ enableJsonResponse: true })
    await mcpServer.connect(transport)
    return transport.handleRequest(request)
  },
  { resource },
)
const listener = getRequestListener(
  (request) => (new URL(request.url).pathname === '/mcp' ? serveMcp(request) : auth.handler(request)),
  // Its bearer check requires the platform's own Request.
  { overrideGlobalObjects: false },
)
server.on('request', (request, response) => void listener(request, response))

const form = { 'content-type': 'application/x-www-form-urlencoded' }
const json = { 'content-type': 'application/json', origin }

async function call(path: string, init: RequestInit): Promise<Response> {
  const response = await auth.handler(new Request(`${origin}/api/auth${path}`, init))
  if (response.status >= 400) throw new Error(`${path}: ${response.status} ${await response.text()}`)
  return response
}

const account = { email: 'ada@example.com', password: 'correct horse battery', name: 'Ada' }
const signedUp = await call('/sign-up/email', {
  method: 'POST',
  headers: json,
  body: JSON.stringify(account),
})
const cookie = signedUp.headers
  .getSetCookie()
  .map((line) => line.split(';', 1)[0])
  .join('; ')
const registered = await call('/oauth2/register', {
  method: 'POST',
  headers: json,
  body: JSON.stringify({
    redirect_uris: [redirectUri],
    application_type: 'native',
    token_endpoint_auth_method: 'none',
    grant_types: ['authorization_code', 'refresh_token'],
    response_types: ['code'],
    scope: 'offline_access',
  }),
})
const { client_id: clientId } = (await registered.json()) as { client_id: string }

async function connect(): Promise<{ access_token: string; refresh_token: string }> {
  const verifier = randomBytes(32).toString('base64url')
  const query = new URLSearchParams({
    response_type: 'code',
    client_id: clientId,
    redirect_uri: redirectUri,
    scope: 'offline_access',
    state: 'state',
    code_challenge: createHash('sha256').update(verifier).digest('base64url'),
    code_challenge_method: 'S256',
    resource,
  })
  let to =
    (await call(`/oauth2/authorize?${query.toString()}`, { headers: { cookie, origin } })).headers.get(
      'location',
    ) ?? ''
  if (to.startsWith('/consent')) {
    const consent = await call('/oauth2/consent', {
      method: 'POST',
      headers: { ...json, cookie },
      body: JSON.stringify({ accept: true, oauth_query: new URL(to, origin).search.slice(1) }),
    })
    to = ((await consent.json()) as { url: string }).url
  }
  const redeemed = await call('/oauth2/token', {
    method: 'POST',
    headers: form,
    body: new URLSearchParams({
      grant_type: 'authorization_code',
      code: new URL(to).searchParams.get('code') ?? '',
      client_id: clientId,
      code_verifier: verifier,
      redirect_uri: redirectUri,
      resource,
    }),
  })
  return (await redeemed.json()) as { access_token: string; refresh_token: string }
}

const tokens = []
for (let chain = 0; chain < chains; chain += 1) tokens.push(await connect())
process.stdout.write(
  `${JSON.stringify({
    event: 'ready',
    port,
    clientId,
    resource,
    refreshTokens: tokens.map(({ refresh_token }) => refresh_token),
    accessToken: tokens[0]?.access_token,
  })}\n`,
)
process.once('SIGTERM', () => {
  server.close()
  server.closeAllConnections()
})
