import { randomUUID } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { isJsonObject } from '@drawbridge/shared/json-object.ts'
import { matchesCodeChallenge } from '@drawbridge/shared/oauth/pkce.ts'
import { pause, readText, sendJson, sendText } from './exchange-parts.ts'
import { createGrants, newSecret, type Grants, type TokenAnswer } from './grants.ts'
import { OAuthFailure } from './oauth-failure.ts'
import type { RemoteCounters } from './remote-counters.ts'
import type { RemoteSettings } from './remote-settings.ts'

/** A client known to the authorization server. */
export interface RemoteClient {
  clientId: string
  clientSecret: string | undefined
  redirectUris: string[]
}

/** What a test makes of the answers. Every member may be changed while the server runs. */
export interface AuthorizationScript {
  /**
   * Takes every client that was not forgotten, this one where a request names none, and what it did not issue for
   * what it did: most tests are not about the tokens themselves.
   */
  anybody?: string
  /** Replaces members of the metadata; undefined omits them, as in the others. */
  metadata?: Record<string, unknown>
  /** Replaces members of the response to a registration. */
  registration?: Record<string, unknown>
  /** Replaces parameters of the authorization response. */
  response?: Record<string, string | undefined>
  /** Replaces members of the token response. */
  tokens?: Record<string, unknown>
  /** Called when a token request has been done, before it is answered: a token is spent however long that takes. */
  beforeTokenAnswer?(): Promise<void>
}

/** The authorization server of all tests of the bridge. */
export interface AuthorizationServer {
  /** Answers a request for one of its paths; false for any other. */
  handle(request: IncomingMessage, response: ServerResponse, url: URL): Promise<boolean>
  readonly grants: Grants
  metadata(): Record<string, unknown>
  /** Adds a client manually. */
  addClient(client: Partial<RemoteClient>): RemoteClient
  forgetClients(): void
  /** Approves every waiting `/authorize` and device code. */
  approve(): void
  /** Returns the links for the user of waiting device codes. */
  userCodes(): string[]
}

interface Code {
  clientId: string
  redirectUri: string
  challenge: string
  scope: string
  resource: string | undefined
}

interface DeviceCode {
  clientId: string
  scope: string
  userCode: string
  state: 'pending' | 'approved' | 'denied'
}

/** `issuer()` is known when the server listens. */
export function createAuthorizationServer(
  settings: RemoteSettings,
  counters: RemoteCounters,
  issuer: () => string,
  script: AuthorizationScript = {},
): AuthorizationServer {
  const grants = createGrants(settings, counters)
  const clients = new Map<string, RemoteClient>()
  const forgotten = new Set<string>()
  const codes = new Map<string, Code>()
  const deviceCodes = new Map<string, DeviceCode>()
  const waiting = new Set<(allowed: boolean) => void>()

  function metadata(): Record<string, unknown> {
    const at = new URL(issuer()).origin
    return {
      issuer: issuer(),
      authorization_endpoint: `${at}/authorize`,
      token_endpoint: `${at}/token`,
      registration_endpoint: `${at}/register`,
      revocation_endpoint: `${at}/revoke`,
      ...(settings.deviceGrant ? { device_authorization_endpoint: `${at}/device_authorization` } : {}),
      scopes_supported: [settings.scope, 'mcp:admin', 'offline_access'],
      response_types_supported: ['code'],
      grant_types_supported: [
        'authorization_code',
        'refresh_token',
        ...(settings.deviceGrant ? [deviceGrantType] : []),
      ],
      token_endpoint_auth_methods_supported: ['none', 'client_secret_basic', 'client_secret_post'],
      code_challenge_methods_supported: ['S256'],
      authorization_response_iss_parameter_supported: true,
      ...script.metadata,
    }
  }

  /** Returns a client by its id, and with `anybody` also one that never registered. */
  function clientOf(clientId: string, redirectUri?: string): RemoteClient | undefined {
    const known = clients.get(clientId)
    if (known !== undefined || script.anybody === undefined || forgotten.has(clientId)) return known
    return { clientId, clientSecret: undefined, redirectUris: redirectUri === undefined ? [] : [redirectUri] }
  }

  function addClient(client: Partial<RemoteClient>): RemoteClient {
    const made = {
      clientId: client.clientId ?? `client-${clients.size + forgotten.size + 1}`,
      clientSecret: client.clientSecret,
      redirectUris: client.redirectUris ?? [],
    }
    clients.set(made.clientId, made)
    if (made.clientSecret !== undefined) grants.secrets.add(made.clientSecret)
    return made
  }

  async function register(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const document: unknown = JSON.parse(await readText(request))
    const uris = isJsonObject(document) ? (document['redirect_uris'] ?? []) : undefined
    if (!isJsonObject(document) || !Array.isArray(uris) || (uris.length === 0 && !script.anybody)) {
      throw new OAuthFailure('invalid_redirect_uri', 'redirect_uris is missing')
    }
    counters.registrations++
    const method = document['token_endpoint_auth_method']
    const clientSecret = method === undefined || method === 'none' ? undefined : newSecret('cs')
    const { clientId } = addClient({ redirectUris: uris.map(String), clientSecret })
    sendJson(response, 201, {
      ...document,
      client_id: clientId,
      client_id_issued_at: Math.floor(Date.now() / 1000),
      ...(clientSecret === undefined ? {} : { client_secret: clientSecret, client_secret_expires_at: 0 }),
      ...script.registration,
    })
  }

  async function authorize(response: ServerResponse, url: URL): Promise<void> {
    counters.tabs++
    const query = url.searchParams
    const redirectUri = query.get('redirect_uri') ?? ''
    const client = clientOf(query.get('client_id') ?? '', redirectUri)
    if (client === undefined) return sendText(response, 400, 'unknown client')
    if (!allowsRedirect(client, redirectUri)) return sendText(response, 400, 'redirect_uri does not fit')
    const error = requestError(query) ?? ((await isAllowed(response)) ? undefined : 'access_denied')
    const answer = {
      state: query.get('state') ?? undefined,
      iss: issuer(),
      ...(error === undefined ? { code: newCode(client.clientId, redirectUri, query) } : { error }),
      ...script.response,
    }
    const back = new URL(redirectUri)
    for (const [name, value] of Object.entries(answer))
      if (value !== undefined) back.searchParams.set(name, value)
    response.writeHead(302, { Location: back.href }).end()
  }

  function newCode(clientId: string, redirectUri: string, query: URLSearchParams): string {
    const code = newSecret('code')
    grants.secrets.add(code)
    codes.set(code, {
      clientId,
      redirectUri,
      challenge: query.get('code_challenge') ?? '',
      scope: query.get('scope') ?? settings.scope,
      resource: query.get('resource') ?? undefined,
    })
    return code
  }

  function requestError(query: URLSearchParams): string | undefined {
    if (query.get('response_type') !== 'code') return 'unsupported_response_type'
    if (query.get('code_challenge_method') !== 'S256' || query.get('code_challenge') === null)
      return 'invalid_request'
    return undefined
  }

  /** Resolves with the user's decision. The browser's request waits meanwhile. */
  async function isAllowed(response: ServerResponse): Promise<boolean> {
    if (settings.approval !== 'wait') return settings.approval === 'auto'
    return new Promise((resolve) => {
      const decide = (allowed: boolean): void => {
        waiting.delete(decide)
        resolve(allowed)
      }
      waiting.add(decide)
      response.on('close', () => decide(false))
    })
  }

  function allowsRedirect(client: RemoteClient, redirectUri: string): boolean {
    if (!URL.canParse(redirectUri)) return false
    if (client.redirectUris.includes(redirectUri)) return true
    const url = new URL(redirectUri)
    const isLoopback = ['localhost', '127.0.0.1', '[::1]'].includes(url.hostname)
    if (!isLoopback) return false
    url.port = ''
    return client.redirectUris.some((registered) => {
      const other = new URL(registered)
      other.port = ''
      return other.href === url.href
    })
  }

  async function token(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const form = new URLSearchParams(await readText(request))
    let answer: TokenAnswer
    try {
      answer = await serveToken(request, form)
    } finally {
      await script.beforeTokenAnswer?.()
    }
    await pause(settings.tokenDelayMs)
    sendJson(response, 200, { ...answer, ...script.tokens })
  }

  async function serveToken(request: IncomingMessage, form: URLSearchParams): Promise<TokenAnswer> {
    const client = authenticate(request, form)
    const scope = form.get('scope') ?? undefined
    const refreshToken = form.get('refresh_token') ?? ''
    const grantType = form.get('grant_type')
    if (grantType === 'authorization_code') return redeemCode(client, form)
    if (script.anybody !== undefined && !grants.secrets.has(refreshToken))
      return grants.open(client.clientId, settings.scope)
    switch (grantType) {
      case 'refresh_token':
        return grants.refresh(refreshToken, client.clientId, scope)
      case deviceGrantType:
        return redeemDeviceCode(client, form)
      default:
        throw new OAuthFailure('unsupported_grant_type', 'unknown grant')
    }
  }

  async function redeemCode(client: RemoteClient, form: URLSearchParams): Promise<TokenAnswer> {
    const presented = form.get('code') ?? ''
    const code = codes.get(presented)
    codes.delete(presented)
    if (
      code === undefined ||
      (code.clientId !== client.clientId && script.anybody === undefined) ||
      code.redirectUri !== form.get('redirect_uri')
    ) {
      throw new OAuthFailure('invalid_grant', 'the code is not known')
    }
    const verifier = form.get('code_verifier') ?? ''
    grants.secrets.add(verifier)
    if (!(await matchesCodeChallenge(verifier, code.challenge))) {
      throw new OAuthFailure('invalid_grant', 'the code_verifier does not fit')
    }
    counters.codeGrants++
    return grants.open(client.clientId, code.scope)
  }

  function redeemDeviceCode(client: RemoteClient, form: URLSearchParams): TokenAnswer {
    const presented = form.get('device_code') ?? ''
    const code = deviceCodes.get(presented)
    if (code === undefined || code.clientId !== client.clientId)
      throw new OAuthFailure('expired_token', 'unknown code')
    if (code.state === 'pending') throw new OAuthFailure('authorization_pending', 'not yet')
    deviceCodes.delete(presented)
    if (code.state === 'denied') throw new OAuthFailure('access_denied', 'refused')
    counters.deviceGrants++
    return grants.open(client.clientId, code.scope)
  }

  async function deviceAuthorization(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const form = new URLSearchParams(await readText(request))
    const { clientId } = authenticate(request, form)
    const deviceCode = newSecret('dc')
    grants.secrets.add(deviceCode)
    const userCode = randomUUID().slice(0, 8).toUpperCase()
    const state =
      settings.approval === 'auto' ? 'approved' : settings.approval === 'deny' ? 'denied' : 'pending'
    deviceCodes.set(deviceCode, { clientId, scope: form.get('scope') ?? settings.scope, userCode, state })
    sendJson(response, 200, {
      device_code: deviceCode,
      user_code: userCode,
      verification_uri: `${issuer()}/device`,
      verification_uri_complete: `${issuer()}/device?user_code=${userCode}`,
      expires_in: 600,
      interval: 1,
    })
  }

  /** Authenticates the client of a request to `/token`, `/revoke` or the device endpoint. */
  function authenticate(request: IncomingMessage, form: URLSearchParams): RemoteClient {
    const basic = /^Basic (.+)$/i.exec(request.headers.authorization ?? '')?.[1]
    const [id, secret] =
      basic === undefined
        ? [form.get('client_id') ?? '', form.get('client_secret') ?? undefined]
        : Buffer.from(basic, 'base64').toString().split(':').map(decodeURIComponent)
    const client = clientOf(id || (script.anybody ?? ''))
    if (client === undefined || (client.clientSecret !== secret && script.anybody === undefined)) {
      throw new OAuthFailure('invalid_client', 'the client is not known', 401)
    }
    return client
  }

  async function revoke(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const form = new URLSearchParams(await readText(request))
    authenticate(request, form)
    counters.revocations++
    grants.revoke(form.get('token') ?? '')
    response.writeHead(200).end()
  }

  function devicePage(response: ServerResponse, url: URL): void {
    counters.tabs++
    const userCode = url.searchParams.get('user_code')
    const known = [...deviceCodes.values()].some((code) => code.userCode === userCode)
    sendText(response, known ? 200 : 404, known ? 'Waiting for approve()' : 'No such code')
  }

  function approve(): void {
    for (const decide of waiting) decide(true)
    for (const code of deviceCodes.values()) if (code.state === 'pending') code.state = 'approved'
  }

  async function route(request: IncomingMessage, response: ServerResponse, url: URL): Promise<boolean> {
    switch (`${request.method} ${url.pathname}`) {
      case 'GET /.well-known/oauth-authorization-server':
      case 'GET /.well-known/openid-configuration':
        sendJson(response, 200, metadata())
        return true
      case 'POST /register':
        await register(request, response)
        return true
      case 'GET /authorize':
        await authorize(response, url)
        return true
      case 'POST /token':
        await token(request, response)
        return true
      case 'POST /revoke':
        await revoke(request, response)
        return true
      case 'POST /device_authorization':
        if (!settings.deviceGrant) return false
        await deviceAuthorization(request, response)
        return true
      case 'GET /device':
        devicePage(response, url)
        return true
      default:
        return false
    }
  }

  return {
    grants,
    metadata,
    addClient,
    async handle(request, response, url) {
      try {
        return await route(request, response, url)
      } catch (error) {
        const failure =
          error instanceof OAuthFailure ? error : new OAuthFailure('invalid_request', String(error))
        sendJson(response, failure.status, { error: failure.code, error_description: failure.message })
        return true
      }
    },
    forgetClients() {
      for (const clientId of clients.keys()) forgotten.add(clientId)
      clients.clear()
    },
    approve,
    userCodes: () => [...deviceCodes.values()].map(({ userCode }) => userCode),
  }
}

const deviceGrantType = 'urn:ietf:params:oauth:grant-type:device_code'
