import { matchesCodeChallenge } from '@drawbridge/shared/oauth/pkce.ts'
import { randomUUID } from 'node:crypto'
import { createServer, type IncomingHttpHeaders, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeEach, onTestFinished } from 'vitest'
import type { ClientIdentity, Credential, IssuedTokens } from '../../../../bridge/credentials/credential.ts'
import type { HttpClient } from '../../../../bridge/http/http-client.ts'
import { type TokenAnswer, createGrants } from '../../remote/grants.ts'
import { OAuthFailure } from '../../remote/oauth-failure.ts'
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
 * A scripted resource server and authorization server in one. Grants authorization requests at once; checks PKCE;
 * rotates its refresh tokens, and ends a grant when one is used again. `POST /sign-in` issues tokens without further ado.
 */
export interface OAuthServer {
  origin: string
  /** `${origin}/mcp` */
  serverUrl: string
  issuer: string
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

/** Starts a server for one test; see {@link start}. */
export async function startOAuthServer(places: OAuthServerPlaces = {}): Promise<OAuthServer> {
  const server = await start(places)
  onTestFinished(() => server.close())
  return server
}

/** Starts a server and a client of HTTP for all tests of a file; each test begins without requests and answers. */
export async function openOAuthServer(): Promise<{ server: OAuthServer; http: HttpClient }> {
  const server = await start()
  const http = createTestHttp()
  beforeEach(() => {
    server.seen.length = 0
    server.answers.clear()
  })
  afterAll(async () => {
    http.close()
    await server.close()
  })
  return { server, http }
}

/** Starts a server on a free port of 127.0.0.1, which the caller closes. */
export async function start(places: OAuthServerPlaces = {}): Promise<OAuthServer> {
  const seen: SeenRequest[] = []
  const codes = new Map<string, URLSearchParams>()
  const settings: RemoteSettings = { ...usualSettings }
  const counters = createCounters()
  const grants = createGrants(settings, counters)
  const server = createServer((request, reply) => {
    void (async () => {
      const got = await readRequest(request)
      seen.push(got)
      const { status, headers, body, isCut } = await answerTo(got)
      if (isCut === true) {
        request.socket.destroy()
        return
      }
      const isText = typeof body === 'string'
      reply.writeHead(status ?? 200, {
        'content-type': isText ? 'text/html' : 'application/json',
        ...headers,
      })
      reply.end(isText ? body : body === undefined ? '' : JSON.stringify(body))
    })()
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const issuer = origin + (places.issuerPath ?? '')
  const {
    resourcePaths = ['/.well-known/oauth-protected-resource/mcp'],
    metadataPaths = [`/.well-known/oauth-authorization-server${places.issuerPath ?? ''}`],
    resource = () => ({}),
  } = places

  const oauth: OAuthServer = {
    origin,
    serverUrl: `${origin}/mcp`,
    issuer,
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

  async function answerTo(request: SeenRequest): Promise<Reply> {
    const special = await oauth.answers.get(request.path)?.(request)
    if (special !== undefined) return special
    if (resourcePaths.includes(request.path)) {
      return {
        body: { resource: oauth.serverUrl, authorization_servers: [issuer], ...resource(origin) },
      }
    }
    if (metadataPaths.includes(request.path))
      return { body: { ...metadata(origin, issuer), ...oauth.metadata } }
    return (await endpoint(request)) ?? { status: 404, body: '<p>Not found</p>' }
  }

  function endpoint(request: SeenRequest): Reply | undefined | Promise<Reply> {
    if (request.path === '/register') return register(request)
    if (request.path === '/authorize') return authorize(request)
    if (request.path === '/token') return token(request)
    if (request.path === '/revoke') {
      grants.revoke(request.form.get('token') ?? '')
      return {}
    }
    if (request.path === '/sign-in') return { body: oauth.issue() }
    if (request.path !== '/mcp') return undefined
    const presented = request.headers.authorization?.replace(/^Bearer /, '') ?? ''
    return { status: grants.caller(presented) === undefined ? 401 : 200, body: {} }
  }

  function authorize({ query }: SeenRequest): Reply {
    const code = `code-${randomUUID()}`
    codes.set(code, query)
    const location = new URL(query.get('redirect_uri') ?? '')
    const state = query.get('state') ?? undefined
    const parameters = { code, state, iss: issuer, ...oauth.response }
    for (const [name, value] of Object.entries(parameters)) {
      if (value !== undefined) location.searchParams.set(name, value)
    }
    return { status: 302, headers: { location: location.href } }
  }

  async function token({ form }: SeenRequest): Promise<Reply> {
    if (form.get('grant_type') === 'authorization_code') {
      const code = form.get('code') ?? ''
      const asked = codes.get(code)
      codes.delete(code)
      const verifier = form.get('code_verifier') ?? ''
      const isRight =
        asked !== undefined &&
        asked.get('redirect_uri') === form.get('redirect_uri') &&
        (await matchesCodeChallenge(verifier, asked.get('code_challenge') ?? ''))
      if (!isRight) return { status: 400, body: { error: 'invalid_grant', error_description: `no ${code}` } }
    }
    const refreshToken = form.get('refresh_token') ?? ''
    const clientId = form.get('client_id') ?? usualClientId
    let answer: TokenAnswer
    try {
      // What it did not issue is as good as what it did: most tests are not about the tokens themselves.
      answer = grants.secrets.has(refreshToken)
        ? grants.refresh(refreshToken, clientId, undefined)
        : grants.open(clientId, settings.scope)
    } catch (error) {
      if (!(error instanceof OAuthFailure)) throw error
      return { status: error.status, body: { error: error.code } }
    } finally {
      await oauth.beforeTokenAnswer()
    }
    const { scope: _unsaid, ...body } = answer
    return { headers: { 'cache-control': 'no-store' }, body: { ...body, ...oauth.tokens } }
  }

  return oauth
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

function register({ text }: SeenRequest): Reply {
  return { status: 201, body: { ...(JSON.parse(text) as object), client_id: `client-${randomUUID()}` } }
}

function metadata(origin: string, issuer: string): Record<string, unknown> {
  return {
    issuer,
    authorization_endpoint: `${origin}/authorize`,
    token_endpoint: `${origin}/token`,
    registration_endpoint: `${origin}/register`,
    revocation_endpoint: `${origin}/revoke`,
    response_types_supported: ['code'],
    code_challenge_methods_supported: ['S256'],
    authorization_response_iss_parameter_supported: true,
  }
}

async function readRequest(request: IncomingMessage): Promise<SeenRequest> {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk as Buffer)
  const text = Buffer.concat(chunks).toString()
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
