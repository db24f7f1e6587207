// A server of 2025-11-25 with sessions on plain node:http, fast enough to measure what is in front of it. `node
// mcp-server.ts guarded`: requires an access token of its own authorization server; `events`: answers calls with
// event streams.
import { randomUUID } from 'node:crypto'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { bearerChallenge } from '@drawbridge/shared/oauth/www-authenticate.ts'
import { createAuthorizationServer } from '../../tests/support/remote/authorization-server.ts'
import { pause, readText, sendJson } from '../../tests/support/remote/exchange-parts.ts'
import { createCounters } from '../../tests/support/remote/remote-counters.ts'
import { usualSettings } from '../../tests/support/remote/remote-settings.ts'

const isGuarded = process.argv[2] === 'guarded'
const answersByEvents = process.argv[2] === 'events'
// No token is renewed while measuring.
const settings = { ...usualSettings, tokenTtlSeconds: 86_400 }
const { scope } = settings
const counters = createCounters()
const authorizationServer = createAuthorizationServer(settings, counters, () => origin)
const large = JSON.stringify('x'.repeat(1024 * 1024))
let origin = ''
let answerDelayMs = 0
let requests = 0

const server = createServer({ keepAliveTimeout: 65_000 }, (request, response) => {
  serve(request, response).catch((error: unknown) => response.destroy(error as Error))
})
server.listen(0, '127.0.0.1', () => {
  const address = server.address()
  const port = typeof address === 'object' ? address?.port : undefined
  origin = `http://127.0.0.1:${port}`
  const clientId = authorizationServer.addClient({}).clientId
  const accessToken = isGuarded ? authorizationServer.grants.open(clientId, scope).access_token : undefined
  process.stdout.write(`${JSON.stringify({ event: 'ready', port, accessToken })}\n`)
})
process.once('SIGTERM', () => {
  server.close()
  server.closeAllConnections()
})

async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
  if (request.url === '/control') return control(request, response)
  // Do not count the end of a connection with the requests of the next one.
  if (request.method !== 'DELETE') requests += 1
  if (answerDelayMs > 0) await pause(answerDelayMs)
  if (request.url !== '/mcp') return serveOthers(request, response)
  if (isGuarded && !isCallerKnown(request)) {
    const resourceMetadata = `${origin}/.well-known/oauth-protected-resource/mcp`
    const challenge = bearerChallenge({ resourceMetadata, scope, error: undefined })
    return sendJson(response, 401, { error: 'unauthorized' }, { 'WWW-Authenticate': challenge })
  }
  if (request.method === 'POST') return post(request, response)
  if (request.method === 'DELETE') response.writeHead(200).end()
  else if (request.headers.accept?.includes('text/event-stream')) openStream(response)
  else response.writeHead(404).end()
}

/** POST sets the delay of every answer from now on; returns the counts since the last call. */
async function control(request: IncomingMessage, response: ServerResponse): Promise<void> {
  answerDelayMs = Number(await readText(request))
  sendJson(response, 200, { requests, codeGrants: counters.codeGrants, refreshes: counters.refreshesOk })
  requests = 0
}

async function serveOthers(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const url = new URL(request.url ?? '/', origin)
  if (isGuarded && url.pathname === '/.well-known/oauth-protected-resource/mcp') {
    sendJson(response, 200, { resource: `${origin}/mcp`, authorization_servers: [origin] })
    return
  }
  if (isGuarded && (await authorizationServer.handle(request, response, url))) return
  response.writeHead(404).end()
}

function isCallerKnown({ headers }: IncomingMessage): boolean {
  const token = headers.authorization?.startsWith('Bearer ') ? headers.authorization.slice(7) : ''
  return authorizationServer.grants.caller(token) !== undefined
}

function openStream(response: ServerResponse): void {
  response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-cache' })
  response.write(': open\n\n')
}

async function post(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const message = JSON.parse(await readText(request)) as Message
  if (message.id === undefined) {
    response.writeHead(202).end()
    return
  }
  const session = message.method === 'initialize' ? { 'mcp-session-id': randomUUID() } : {}
  const body = `{"jsonrpc":"2.0","id":${JSON.stringify(message.id)},"result":${resultOf(message)}}`
  if (answersByEvents) {
    response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-cache', ...session })
    response.end(`event: message\ndata: ${body}\n\n`)
    return
  }
  response.writeHead(200, {
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(body),
    ...session,
  })
  response.end(body)
}

interface Message {
  id?: string | number
  method: string
  params?: { name?: string; arguments?: { text?: string; megabytes?: number } }
}

function resultOf({ method, params }: Message): string {
  if (method === 'initialize') {
    return '{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"bench","version":"1"}}'
  }
  if (method === 'tools/list') {
    return '{"tools":[{"name":"echo","inputSchema":{"type":"object"}},{"name":"large","inputSchema":{"type":"object"}}]}'
  }
  if (params?.name === 'large') {
    const texts = Array.from(
      { length: params.arguments?.megabytes ?? 1 },
      () => `{"type":"text","text":${large}}`,
    )
    return `{"content":[${texts.join(',')}]}`
  }
  return `{"content":[{"type":"text","text":${JSON.stringify(params?.arguments?.text ?? '')}}]}`
}
