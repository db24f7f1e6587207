// A server of 2025-11-25 with sessions on plain node:http, fast enough to measure programs in front of it. With argv
// `guarded`, it requires an access token of its own authorization server, which lets everybody sign in.
import { randomUUID } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { bearerChallenge } from '@drawbridge/shared/oauth/www-authenticate.ts'
import { createAuthorizationServer } from '../../tests/support/remote/authorization-server.ts'
import { readText, sendJson } from '../../tests/support/remote/exchange-parts.ts'
import { createCounters } from '../../tests/support/remote/remote-counters.ts'
import { usualSettings } from '../../tests/support/remote/remote-settings.ts'
import { listening, ready } from './listening.ts'

const isGuarded = process.argv[2] === 'guarded'
// No token is renewed while measuring.
const settings = { ...usualSettings, tokenTtlSeconds: 86_400 }
const { scope } = settings
const authorizationServer = createAuthorizationServer(settings, createCounters(), () => origin)
const tools = ['echo', 'large'].map((name) => ({ name, inputSchema: { type: 'object' } }))
const large = JSON.stringify('x'.repeat(1024 * 1024))

const port = await listening((request, response) => {
  serve(request, response).catch((error: unknown) => response.destroy(error as Error))
})
const origin = `http://127.0.0.1:${port}`
const clientId = authorizationServer.addClient({}).clientId
const accessToken = isGuarded ? authorizationServer.grants.open(clientId, scope).access_token : undefined
ready({ port, accessToken })

async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
  if (request.url !== '/mcp') return serveOthers(request, response)
  if (isGuarded && !isCallerKnown(request)) {
    const resourceMetadata = `${origin}/.well-known/oauth-protected-resource/mcp`
    const challenge = bearerChallenge({ resourceMetadata, scope, error: undefined })
    return sendJson(response, 401, { error: 'unauthorized' }, { 'WWW-Authenticate': challenge })
  }
  if (request.method === 'POST') return post(request, response)
  if (request.method === 'DELETE') return void response.writeHead(200).end()
  if (!request.headers.accept?.includes('text/event-stream')) return void response.writeHead(404).end()
  response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-cache' })
  response.write(': open\n\n')
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

async function post(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const message = JSON.parse(await readText(request)) as Message
  if (message.id === undefined) {
    response.writeHead(202).end()
    return
  }
  const body = `{"jsonrpc":"2.0","id":${JSON.stringify(message.id)},"result":${resultOf(message)}}`
  response.writeHead(200, {
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(body),
    ...(message.method === 'initialize' && { 'mcp-session-id': randomUUID() }),
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
    const serverInfo = { name: 'bench', version: '1' }
    return JSON.stringify({ protocolVersion: '2025-11-25', capabilities: { tools: {} }, serverInfo })
  }
  if (method === 'tools/list') return JSON.stringify({ tools })
  const { text = '', megabytes = 1 } = params?.arguments ?? {}
  if (params?.name === 'echo') return `{"content":[{"type":"text","text":${JSON.stringify(text)}}]}`
  return `{"content":[${Array.from({ length: megabytes }, () => `{"type":"text","text":${large}}`).join(',')}]}`
}
