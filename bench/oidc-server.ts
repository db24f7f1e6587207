// The peer: oidc-provider with opaque tokens, rotation and everything in memory.
import { createServer } from 'node:http'
import { createMapAdapter } from './oidc-map-adapter.ts'

const chains = Number(process.argv[2])
const clientId = 'bench'

const { Provider } = await import('oidc-provider')
const server = createServer({ keepAliveTimeout: 65_000 })
await new Promise<void>((resolve) => {
  server.listen(0, '127.0.0.1', resolve)
})
const address = server.address()
const port = typeof address === 'object' && address !== null ? address.port : 0

const month = 30 * 86_400
const provider = new Provider(`http://localhost:${port}`, {
  adapter: createMapAdapter(),
  clients: [
    {
      client_id: clientId,
      redirect_uris: ['http://127.0.0.1:4711/callback'],
      grant_types: ['authorization_code', 'refresh_token'],
      token_endpoint_auth_method: 'none',
      application_type: 'native',
    },
  ],
  cookies: { keys: ['bench'] },
  features: { devInteractions: { enabled: false } },
  findAccount: (_context, sub) => ({ accountId: sub, claims: () => ({ sub }) }),
  rotateRefreshToken: true,
  ttl: { AccessToken: 3600, Grant: month, RefreshToken: month },
})
const handle = provider.callback()
server.on('request', (request, response) => void handle(request, response))

const client = await provider.Client.find(clientId)
if (!client) throw new Error('The client of the bench is missing.')
const refreshTokens: string[] = []
for (let chain = 0; chain < chains; chain += 1) {
  const accountId = `user ${chain}`
  const grant = new provider.Grant({ accountId, clientId })
  grant.addOIDCScope('offline_access')
  const grantId = await grant.save()
  const token = new provider.RefreshToken({
    accountId,
    client,
    grantId,
    gty: 'authorization_code',
    scope: 'offline_access',
  })
  refreshTokens.push(await token.save())
}
process.stdout.write(`${JSON.stringify({ event: 'ready', port, clientId, refreshTokens })}\n`)
process.once('SIGTERM', () => {
  server.close()
  server.closeAllConnections()
})
