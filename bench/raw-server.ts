// The floor: the cost of the same requests on node:http alone, without any of the rules. Tokens live in a Map.
import { randomBytes } from 'node:crypto'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'

const chains = Number(process.argv[2])
// Answers copied from Drawbridge, so that the same number of bytes is sent.
const metadata = process.env['BENCH_METADATA'] ?? '{}'
const toolsList = process.env['BENCH_TOOLS_LIST'] ?? '{}'

const refreshTokens = new Map<string, string>()
const accessTokens = new Map<string, string>()

const server = createServer({ keepAliveTimeout: 65_000 }, (request, response) => {
  if (request.method === 'GET') {
    answer(response, 200, metadata)
    return
  }
  void answerPost(request, response)
})
server.listen(0, '127.0.0.1', () => {
  const address = server.address()
  const port = typeof address === 'object' ? address?.port : undefined
  const tokens = Array.from({ length: chains }, (_, index) => mint(`grant ${index}`))
  process.stdout.write(
    `${JSON.stringify({
      event: 'ready',
      port,
      refreshTokens: tokens.map(({ refresh_token }) => refresh_token),
      accessToken: tokens[0]?.access_token,
    })}\n`,
  )
})
process.once('SIGTERM', () => {
  server.close()
  server.closeAllConnections()
})

async function answerPost(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const body = await readBody(request)
  if (request.url === '/oauth/token') refresh(body, response)
  else listTools(request, body, response)
}

function refresh(body: string, response: ServerResponse): void {
  const presented = new URLSearchParams(body).get('refresh_token') ?? ''
  const grant = refreshTokens.get(presented)
  if (grant === undefined) {
    answer(response, 400, '{"error":"invalid_grant"}')
    return
  }
  refreshTokens.delete(presented)
  answer(response, 200, JSON.stringify(mint(grant)))
}

function listTools(request: IncomingMessage, body: string, response: ServerResponse): void {
  const token = request.headers.authorization?.slice('Bearer '.length) ?? ''
  const known = accessTokens.has(token) && (JSON.parse(body) as { method?: string }).method === 'tools/list'
  answer(response, known ? 200 : 401, known ? toolsList : '{}')
}

function mint(grant: string) {
  const accessToken = `mcpa_${randomBytes(32).toString('base64url')}`
  const refreshToken = `mcpr_${randomBytes(32).toString('base64url')}`
  accessTokens.set(accessToken, grant)
  refreshTokens.set(refreshToken, grant)
  return {
    access_token: accessToken,
    token_type: 'Bearer',
    expires_in: 3600,
    scope: 'mcp offline_access',
    refresh_token: refreshToken,
  }
}

function readBody(request: IncomingMessage): Promise<string> {
  return new Promise((resolve) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => resolve(Buffer.concat(chunks).toString()))
  })
}

function answer(response: ServerResponse, status: number, body: string): void {
  response.writeHead(status, {
    'content-type': 'application/json',
    'cache-control': 'no-store',
    'content-length': Buffer.byteLength(body),
  })
  response.end(body)
}
