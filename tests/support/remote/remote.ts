import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { jsonRpcCode, jsonRpcError, parseJsonRpcMessage } from '@drawbridge/shared/mcp/json-rpc.ts'
import type { JsonObject } from '@drawbridge/shared/json-object.ts'
import { eraOfMessage } from '@drawbridge/shared/mcp/mcp-protocol.ts'
import { bearerChallenge } from '@drawbridge/shared/oauth/www-authenticate.ts'
import { freePort } from '../server/free-port.ts'
import {
  type AuthorizationScript,
  createAuthorizationServer,
  type RemoteClient,
} from './authorization-server.ts'
import type { Caller, EndpointWorld } from './endpoint-world.ts'
import { pause, readText, sendJson, sendText } from './exchange-parts.ts'
import type { TokenAnswer } from './grants.ts'
import { answerWithRevisions, createLegacyEndpoint } from './legacy-endpoint.ts'
import { createModernEndpoint } from './modern-endpoint.ts'
import { count, createCounters, type RemoteCounters } from './remote-counters.ts'
import { nameOf, receive, type Received } from './received.ts'
import { usualSettings, type RemoteSettings } from './remote-settings.ts'
import { createSseEndpoint } from './sse-endpoint.ts'

/** Initial {@link RemoteSettings}, and what a test makes of the authorization server. */
export interface RemoteOptions extends Partial<RemoteSettings> {
  authorization?: AuthorizationScript
  /** The origin that clients know it by, when something stands in front of it. */
  seenAs?: string
}

/** A running remote on 127.0.0.1. */
export interface Remote {
  origin: string
  /** The port that it listens on. */
  port: number
  /** URL of Streamable HTTP. */
  url: string
  /** URL of the transport of 2024-11-05. */
  sseUrl: string
  issuer: string
  /** May be changed at any time. */
  readonly settings: RemoteSettings
  readonly counters: RemoteCounters
  /** All requests so far, on any path, in order. */
  readonly received: Received[]
  /** Returns what `/mcp` was asked so far: the JSON-RPC methods of POSTs, `response` for one. */
  methods(): string[]
  /** Returns the same with `GET` and `DELETE`. */
  log(): string[]
  /** The open GET streams of 2025-11-25. */
  readonly streams: ReadonlySet<ServerResponse>
  /** All secrets issued so far, to look for in files and logs. */
  readonly secrets: ReadonlySet<string>
  set(changes: Partial<RemoteSettings>): void
  resetCounters(): void
  /** Forgets all sessions, so that their ids get `lostSessionStatus`; streams stay open. */
  dropSessions(): void
  /** Resets the connections of all open streams. */
  dropStreams(): void
  /** Invalidates all access tokens, but not refresh tokens. */
  revokeAccessTokens(): void
  /** Invalidates every token. */
  revokeGrants(): void
  forgetClients(): void
  addClient(client?: Partial<RemoteClient>): RemoteClient
  /** Issues tokens as after a sign-in, for a new client if none is named. */
  issueTokens(grant?: { clientId?: string; scope?: string }): TokenAnswer & { client_id: string }
  /** Approves everything that waits with `approval: 'wait'`. */
  approve(): void
  /** Returns the user codes of devices, in order. */
  userCodes(): string[]
  /** Sends a notification to every client, on its GET stream. */
  broadcast(method: string, params?: JsonObject): void
  /** Adds a tool and notifies clients. */
  changeTools(): void
  /** Stops listening and resets every connection. */
  stop(): Promise<void>
  /** Listens again on the same port. Keeps sessions, tokens and clients. */
  start(): Promise<void>
  close(): Promise<void>
}

/** Starts a remote MCP server with its own authorization server. */
export async function startRemote(options: RemoteOptions = {}): Promise<Remote> {
  const { authorization, seenAs, ...changes } = options
  const settings: RemoteSettings = { ...usualSettings, ...changes }
  const counters = createCounters()
  const extraTools: string[] = []
  const sockets = new Set<Socket>()
  const servers: Server[] = []
  const port = await freePort()
  const origin = seenAs ?? `http://127.0.0.1:${port}`
  const authorizationServer = createAuthorizationServer(settings, counters, () => origin, authorization)
  const received: Received[] = []

  const { grants } = authorizationServer
  const world: EndpointWorld = { settings, counters, extraTools, allows }
  const legacy = createLegacyEndpoint(world)
  const modern = createModernEndpoint(world)
  const sse = createSseEndpoint(world)

  function broadcast(method: string, params: JsonObject = {}): void {
    for (const session of [...legacy.sessions(), ...sse.sessions()]) session.tell(method, params)
    modern.tell(method, params)
  }

  function challenge(scope: string, error?: string): Record<string, string> {
    if (settings.challenge === 'bare') return { 'WWW-Authenticate': 'Bearer' }
    const resourceMetadata = `${origin}/.well-known/oauth-protected-resource/mcp`
    return { 'WWW-Authenticate': bearerChallenge({ resourceMetadata, scope, error }) }
  }

  /** Returns the caller; answers 401 if there is none. */
  function authenticate(request: IncomingMessage, response: ServerResponse): Caller | undefined {
    if (!settings.auth) return { clientId: '', scope: '' }
    const token = /^Bearer (.+)$/i.exec(request.headers.authorization ?? '')?.[1]
    const caller = token === undefined ? undefined : callerOf(token)
    if (caller !== undefined) return caller
    counters.unauthorized++
    const error = token === undefined ? undefined : 'invalid_token'
    sendJson(response, 401, { error: error ?? 'unauthorized' }, challenge(settings.scope, error))
    return undefined
  }

  function callerOf(token: string): Caller | undefined {
    if (settings.token === undefined) return grants.caller(token)
    return token === settings.token ? { clientId: '', scope: settings.scope } : undefined
  }

  function allows(caller: Caller, message: object, response: ServerResponse): boolean {
    if (!settings.auth) return true
    const parsed = parseJsonRpcMessage(message)
    const isAdmin = parsed.kind === 'request' && parsed.message.params?.['name'] === 'admin'
    const needed = isAdmin ? [settings.scope, 'mcp:admin'] : [settings.scope]
    const granted = caller.scope.split(' ')
    if (needed.every((scope) => granted.includes(scope))) return true
    const scope = needed.join(' ')
    sendJson(response, 403, { error: 'insufficient_scope' }, challenge(scope, 'insufficient_scope'))
    return false
  }

  async function serveMcp(request: IncomingMessage, response: ServerResponse, url: URL): Promise<void> {
    const text = await readText(request)
    for (const [name, value] of Object.entries(settings.headers)) response.setHeader(name, value)
    const caller = authenticate(request, response)
    if (caller === undefined) return
    let body: unknown
    try {
      body = text === '' ? undefined : JSON.parse(text)
    } catch {
      return sendJson(response, 400, jsonRpcError(null, jsonRpcCode.parseError, 'Parse error'))
    }
    if (!stick(request, response)) return
    const exchange = { request, response, caller, body }
    if (url.pathname !== '/mcp') return sse.handle(exchange, url)
    if (settings.transport === 'sse') return sendText(response, 404, 'Not found')
    const parsed = parseJsonRpcMessage(body)
    const isModern = parsed.kind !== 'invalid' && eraOfMessage(parsed.message) === 'modern'
    if (settings.era === 'modern' || (settings.era === 'both' && isModern)) modern.handle(exchange)
    else if (settings.discoverable && isModern && parsed.kind === 'request')
      answerWithRevisions(parsed.message, exchange, world)
    else legacy.handle(exchange)
  }

  /** With `cookies`: a client with a session must return to the same replica. */
  function stick(request: IncomingMessage, response: ServerResponse): boolean {
    if (!settings.cookies) return true
    if (request.headers['mcp-session-id'] === undefined) {
      response.setHeader('Set-Cookie', 'replica=one; Path=/; HttpOnly')
      return true
    }
    if ((request.headers.cookie ?? '').split('; ').includes('replica=one')) return true
    sendText(response, 404, 'another replica')
    return false
  }

  function serveWellKnown(request: IncomingMessage, response: ServerResponse, url: URL): boolean {
    const name = '/.well-known/oauth-protected-resource'
    if (request.method !== 'GET') return false
    if (url.pathname !== name && url.pathname !== `${name}/mcp`) return false
    sendJson(response, 200, {
      resource: settings.resource ?? `${origin}/mcp`,
      authorization_servers: [origin],
      scopes_supported: [settings.scope],
      bearer_methods_supported: ['header'],
    })
    return true
  }

  function log(): string[] {
    return received.filter(({ path }) => path === '/mcp').map(nameOf)
  }

  async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? '/', 'http://remote')
    count(counters.requests, `${request.method} ${url.pathname}`)
    const one = await receive(request, response)
    received.push(one)
    if ((await settings.handle?.(one)) === true) return
    await pause(settings.delayMs)
    if (isMcpPath(url.pathname)) return serveMcp(request, response, url)
    if (serveWellKnown(request, response, url)) return
    if (await authorizationServer.handle(request, response, url)) return
    sendText(response, 404, 'Not found')
  }

  function isMcpPath(path: string): boolean {
    return path === '/mcp' || (settings.transport !== 'http' && (path === '/sse' || path === '/messages'))
  }

  /** Keeps the port, also after a stop; other programs could take a random one meanwhile. */
  async function start(): Promise<void> {
    const server = createServer(
      { keepAliveTimeout: 120_000, maxHeaderSize: 1024 * 1024 },
      (request, response) => {
        serve(request, response).catch((error: unknown) => {
          if (response.headersSent) response.destroy()
          else sendText(response, 500, String(error))
        })
      },
    )
    server.on('connection', (socket) => {
      counters.connections++
      sockets.add(socket)
      socket.on('close', () => sockets.delete(socket))
    })
    await new Promise<void>((resolve, reject) =>
      server.listen(port, '127.0.0.1', resolve).on('error', reject),
    )
    servers.push(server)
  }

  async function stop(): Promise<void> {
    const closing = servers.splice(0).map((server) => new Promise((resolve) => server.close(resolve)))
    for (const socket of sockets) socket.resetAndDestroy()
    await Promise.all(closing)
  }

  await start()
  return {
    origin,
    port,
    url: `${origin}/mcp`,
    sseUrl: `${origin}/sse`,
    issuer: origin,
    settings,
    counters,
    received,
    methods: () => log().filter((name) => name !== 'GET' && name !== 'DELETE'),
    log,
    streams: legacy.streams,
    secrets: grants.secrets,
    set: (changes) => void Object.assign(settings, changes),
    resetCounters() {
      const { sessionsOpen, streamsOpen } = counters
      Object.assign(counters, createCounters(), { sessionsOpen, streamsOpen })
    },
    dropSessions: legacy.dropSessions,
    dropStreams() {
      for (const endpoint of [legacy, modern, sse]) endpoint.dropStreams()
    },
    revokeAccessTokens: grants.revokeAccessTokens,
    revokeGrants: grants.revokeAll,
    forgetClients: authorizationServer.forgetClients,
    addClient: (client = {}) => authorizationServer.addClient(client),
    issueTokens({ clientId, scope = settings.scope } = {}) {
      const id =
        clientId ?? authorizationServer.addClient({ redirectUris: ['http://127.0.0.1/callback'] }).clientId
      return { ...grants.open(id, scope), client_id: id }
    },
    approve: authorizationServer.approve,
    userCodes: authorizationServer.userCodes,
    broadcast,
    changeTools() {
      extraTools.push(`extra_${extraTools.length + 1}`)
      broadcast('notifications/tools/list_changed')
    },
    stop,
    start,
    close: stop,
  }
}
