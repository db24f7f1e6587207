import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeEach, onTestFinished } from 'vitest'
import type { ClientIdentity, Credential, IssuedTokens } from '../../../../bridge/credentials/credential.ts'
import type { HttpClient } from '../../../../bridge/http/http-client.ts'
import { type AuthorizationScript, createAuthorizationServer } from '../../remote/authorization-server.ts'
import { readText } from '../../remote/exchange-parts.ts'
import { type RemoteCounters, createCounters } from '../../remote/remote-counters.ts'
import { type RemoteSettings, usualSettings } from '../../remote/remote-settings.ts'
import { createTestHttp } from './oauth-ports.ts'

/** One request received by the server. */
export interface SeenRequest {
  method: string
  path: string
  query: URLSearchParams
  headers: IncomingHttpHeaders
  /** Parameters of a form. */
  form: URLSearchParams
  text: string
}

/** An answer: an object is sent as JSON, text as HTML. */
export interface Reply {
  status?: number
  headers?: Record<string, string>
  body?: object | string
  /** Closes the connection instead. */
  isCut?: boolean
}

/** Answers a request; undefined leaves it to the server. */
export type Answer = (request: SeenRequest) => Reply | undefined | Promise<Reply | undefined>

/**
 * The authorization server of a remote for tests in this process, which see its requests and answer any of them
 * themselves. It takes every client. `POST /sign-in` issues tokens without further ado, and `/mcp` takes them.
 */
export interface OAuthServer {
  origin: string
  /** `${origin}/mcp` */
  serverUrl: string
  issuer: string
  /** The origin of its documents; its issuer stays the one it started with. */
  places: OAuthServerPlaces
  seen: SeenRequest[]
  /** Returns the requested paths in order. */
  paths(): string[]
  requests(path: string): SeenRequest[]
  /** Answers by path, which take precedence. */
  answers: Map<string, Answer>
  /** Overrides the authorization server's metadata; undefined members are omitted. */
  metadata: Record<string, unknown>
  /** Overrides the token response. */
  tokens: Record<string, unknown>
  /** Lifetime of tokens, and how long a spent refresh token is answered with its successor. */
  settings: RemoteSettings
  counters: RemoteCounters
  /** Called when a token request has been done, before it is answered: a token is spent however long that takes. */
  beforeTokenAnswer(): Promise<void>
  /** Issues tokens of a new grant, which the server accepts at its other paths. */
  issue(): IssuedTokens
  revokeAccessTokens(): void
  revokeEverything(): void
  /** Parameters of the authorization response, in addition to `state`; undefined `iss` is omitted. */
  response: Record<string, string | undefined>
  close(): Promise<void>
}

/** Paths of the documents of an {@link OAuthServer}. */
export interface OAuthServerPlaces {
  /** Paths of the protected resource metadata; empty for none. */
  resourcePaths?: string[]
  resource?: (origin: string) => Record<string, unknown>
  issuerPath?: string
  /** Paths of the authorization server metadata. */
  metadataPaths?: string[]
}

/** Starts a server for one test. */
export async function startOAuthServer(places: OAuthServerPlaces = {}): Promise<OAuthServer> {
  const server = await start(places)
  onTestFinished(() => server.close())
  return server
}

/** Starts a server and a client of HTTP for all tests of a file; each test begins with a server as it usually is. */
export async function openOAuthServer(): Promise<{ server: OAuthServer; http: HttpClient }> {
  const server = await start()
  const http = createTestHttp()
  beforeEach(() => {
    server.seen.length = 0
    server.answers.clear()
    Object.assign(server, { places: {}, metadata: {}, tokens: {}, response: {} })
  })
  afterAll(async () => {
    http.close()
    await server.close()
  })
  return { server, http }
}

/** Starts a server on a free port of 127.0.0.1, which the caller closes. */
async function start(places: OAuthServerPlaces = {}): Promise<OAuthServer> {
  const seen: SeenRequest[] = []
  const settings: RemoteSettings = { ...usualSettings, deviceGrant: false }
  const counters = createCounters()
  const server = createServer((request, response) => {
    void (async () => {
      const got = await readRequest(request)
      seen.push(got)
      const reply = await answerTo(got)
      if (reply !== undefined) send(response, reply)
      else if (!(await authorizationServer.handle(request, response, new URL(request.url ?? '/', origin))))
        send(response, { status: 404, body: '<p>Not found</p>' })
    })()
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const issuer = origin + (places.issuerPath ?? '')
  const script: AuthorizationScript = {
    anybody: usualClientId,
    get metadata() {
      return { ...unsaid, ...oauth.metadata }
    },
    get tokens() {
      return { scope: undefined, ...oauth.tokens }
    },
    get response() {
      return oauth.response
    },
    beforeTokenAnswer: () => oauth.beforeTokenAnswer(),
  }
  const authorizationServer = createAuthorizationServer(settings, counters, () => issuer, script)
  const { grants } = authorizationServer

  const oauth: OAuthServer = {
    origin,
    serverUrl: `${origin}/mcp`,
    issuer,
    places,
    seen,
    paths: () => seen.map(({ path }) => path),
    requests: (path) => seen.filter((request) => request.path === path),
    answers: new Map(),
    metadata: {},
    tokens: {},
    response: {},
    settings,
    counters,
    beforeTokenAnswer: async () => undefined,
    issue() {
      const issued = grants.open(usualClientId, settings.scope)
      const issuedAt = Math.floor(Date.now() / 1000)
      return {
        accessToken: issued.access_token,
        refreshToken: issued.refresh_token,
        issuedAt,
        expiresAt: issuedAt + settings.tokenTtlSeconds,
        scope: issued.scope,
      }
    },
    revokeAccessTokens: grants.revokeAccessTokens,
    revokeEverything: grants.revokeAll,
    async close() {
      await new Promise((resolve) => {
        server.close(resolve)
        server.closeAllConnections()
      })
    },
  }

  /** Undefined leaves it to the authorization server. */
  async function answerTo(request: SeenRequest): Promise<Reply | undefined> {
    const { path } = request
    const special = await oauth.answers.get(path)?.(request)
    if (special !== undefined) return special
    const {
      resourcePaths = ['/.well-known/oauth-protected-resource/mcp'],
      metadataPaths = [`/.well-known/oauth-authorization-server${places.issuerPath ?? ''}`],
      resource = () => ({}),
    } = oauth.places
    if (resourcePaths.includes(path))
      return { body: { resource: oauth.serverUrl, authorization_servers: [issuer], ...resource(origin) } }
    if (metadataPaths.includes(path)) return { body: authorizationServer.metadata() }
    if (path.startsWith('/.well-known/')) return { status: 404, body: '<p>Not found</p>' }
    if (path === '/sign-in') return { body: oauth.issue() }
    if (path !== '/mcp') return undefined
    const presented = request.headers.authorization?.replace(/^Bearer /, '') ?? ''
    return { status: grants.caller(presented) === undefined ? 401 : 200, body: {} }
  }

  return oauth
}

/** What this server does not say of itself, so that a test may. */
const unsaid = {
  scopes_supported: undefined,
  grant_types_supported: undefined,
  token_endpoint_auth_methods_supported: undefined,
}

function send(response: ServerResponse, { status = 200, headers, body, isCut }: Reply): void {
  if (isCut === true) return void response.socket?.destroy()
  const isText = typeof body === 'string'
  response.writeHead(status, { 'content-type': isText ? 'text/html' : 'application/json', ...headers })
  response.end(isText ? body : body === undefined ? '' : JSON.stringify(body))
}

/** The client of {@link loginAt} unless the test names another. */
const usualClientId = 'before'

/** Returns an earlier login at a server, without tokens. */
export function loginAt(
  { origin, issuer = origin }: Pick<OAuthServer, 'origin'> & { issuer?: string },
  client: Partial<ClientIdentity> = {},
  changes: Partial<Credential> = {},
): Credential {
  return {
    generation: 1,
    serverUrl: `${origin}/mcp`,
    profile: 'default',
    issuer,
    tokenEndpoint: `${origin}/token`,
    revocationEndpoint: `${origin}/revoke`,
    client: { clientId: usualClientId, tokenEndpointAuthMethod: 'none', origin: 'dynamic', ...client },
    signedInAt: 0,
    ...changes,
  }
}

async function readRequest(request: IncomingMessage): Promise<SeenRequest> {
  const text = await readText(request)
  const url = new URL(request.url ?? '/', 'http://host')
  const isForm = request.headers['content-type'] === 'application/x-www-form-urlencoded'
  return {
    method: request.method ?? '',
    path: url.pathname,
    query: url.searchParams,
    headers: request.headers,
    form: new URLSearchParams(isForm ? text : ''),
    text,
  }
}
