import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { readJwt } from '@drawbridge/shared/oauth/jwt.ts'
import { exportJWK } from 'jose'
import { type Configuration, Provider } from 'oidc-provider'
import { createBrowser } from './browser.ts'
import { keySample, type KeySample, signWith } from './key-sample.ts'

/** The client registered there. */
export const oidcClient = { id: 'drawbridge', secret: 'secret of drawbridge ~ %+ at the provider' } as const

/** The user with an account there. */
export const oidcAccount = { sub: 'user-1', email: 'ada@example.com', name: 'Ada Lovelace' } as const

/** Behaviour of an {@link OidcServer}; defaults are as at most providers. */
export interface OidcServerOptions {
  callbackUrl: string
  accessTokenSeconds?: number
  /** A refresh returns a new refresh token, and reusing the old one ends the session. On unless false. */
  rotation?: boolean
  revocation?: boolean
  endSession?: boolean
  /** Puts email and name into the ID token; otherwise only userinfo has them. */
  claimsInIdToken?: boolean
  authMethod?: 'client_secret_basic' | 'client_secret_post' | 'none'
  /** Makes access tokens JWTs with this audience, which userinfo rejects. */
  audience?: string
  /** Address for notifications of sign-outs (OpenID Connect Back-Channel Logout 1.0). */
  backchannelLogoutUri?: string
  /** Signs everything; an RSA key for RS256 by default. */
  key?: KeySample
  /** Undefined: no userinfo endpoint. */
  userinfo?: boolean
  /** Returns the user's current groups. */
  groups?: () => readonly string[]
}

/** A real OpenID provider on a loopback port, with the real clock. */
export interface OidcServer {
  issuer: string
  /** Signs with its own key: claims of a token, with replacements for members of the protected header. */
  sign(claims: Record<string, unknown>, header?: Record<string, unknown>): Promise<string>
  /** Signs a JWT that userinfo accepts instead of `accessToken`. Other providers issue such tokens themselves. */
  signAccessToken(accessToken: string, claims: Record<string, unknown>): Promise<string>
  /** Opens an authorization request in a new browser, signs in or refuses, and returns the final redirect. */
  visit(authorizationUrl: string, what?: 'sign in' | 'refuse'): Promise<URL>
  /** Ends all grants, like an administrator who signs a user out. */
  endSessions(): Promise<void>
  /** Requests so far, as `POST /token`. */
  requests: string[]
  close(): Promise<void>
}

// Creating an RSA key takes longer than most tests.
let madeKey: KeySample | undefined

/** Starts a provider on a free port. */
export async function startOidcServer(options: OidcServerOptions): Promise<OidcServer> {
  const key = options.key ?? (madeKey ??= await keySample('provider-1', 'RS256'))
  const requests: string[] = []
  const grantIds: string[] = []
  const listener = createServer((request, response) => {
    requests.push(`${request.method} ${request.url?.replace(/\?.*/, '')}`)
    void answer(request, response)
  })
  await new Promise<void>((resolve) => {
    listener.listen(0, '127.0.0.1', resolve)
  })
  const issuer = `http://127.0.0.1:${(listener.address() as AddressInfo).port}`
  const provider = new Provider(issuer, await configurationOf(options, key))
  const callback = provider.callback()

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const standsFor = readJwt(request.headers.authorization?.split(' ')[1] ?? '')?.claims['jti']
    if (request.url === '/me' && typeof standsFor === 'string')
      request.headers.authorization = `Bearer ${standsFor}`
    if (!request.url?.startsWith('/interaction/')) return callback(request, response)
    if (request.method === 'GET') return showForm(request.url, response)
    const fields = new URLSearchParams(await text(request))
    const { params } = await provider.interactionDetails(request, response)
    if (fields.has('refuse')) {
      return provider.interactionFinished(request, response, { error: 'access_denied' })
    }
    const accountId = fields.get('login') ?? ''
    const grant = new provider.Grant({ accountId, clientId: String(params['client_id']) })
    grant.addOIDCScope(String(params['scope']))
    if (options.audience !== undefined) grant.addResourceScope(options.audience, 'read')
    const grantId = await grant.save()
    grantIds.push(grantId)
    return provider.interactionFinished(request, response, { login: { accountId }, consent: { grantId } })
  }

  return {
    issuer,
    requests,
    sign: (claims, header) => signWith(key, claims, header),
    signAccessToken: (accessToken, claims) => signWith(key, { ...claims, jti: accessToken }),
    async visit(authorizationUrl, what = 'sign in') {
      const browser = createBrowser((request) =>
        new URL(request.url).origin === issuer ? fetch(request) : undefined,
      )
      const page = await browser.visit(authorizationUrl)
      // An invalid request, or one that needs no user, returns without a page.
      if (!page.response) return page.url
      const left =
        what === 'refuse'
          ? await browser.submit(page, 'refuse', { refuse: 'yes' })
          : await browser.submit(page, 'login', { login: oidcAccount.sub })
      if (left.response) throw new Error(`The provider stayed at ${left.url.pathname}: ${left.html}`)
      return left.url
    },
    async endSessions() {
      for (const id of grantIds.splice(0)) await (await provider.Grant.find(id))?.destroy()
    },
    async close() {
      listener.closeAllConnections()
      await new Promise((resolve) => {
        listener.close(resolve)
      })
    },
  }
}

function showForm(action: string, response: ServerResponse): void {
  response.setHeader('content-type', 'text/html')
  response.end(
    `<form method="post" action="${action}"><input name="login"><button name="refuse">No</button></form>`,
  )
}

async function configurationOf(options: OidcServerOptions, key: KeySample): Promise<Configuration> {
  const { callbackUrl, audience, authMethod = 'client_secret_basic' } = options
  const hour = 3600
  const accessTokenSeconds = options.accessTokenSeconds ?? hour
  return {
    clients: [
      {
        client_id: oidcClient.id,
        ...(authMethod !== 'none' && { client_secret: oidcClient.secret }),
        token_endpoint_auth_method: authMethod,
        redirect_uris: [callbackUrl],
        grant_types: ['authorization_code', 'refresh_token'],
        response_types: ['code'],
        id_token_signed_response_alg: key.algorithm,
        ...(options.backchannelLogoutUri !== undefined && {
          backchannel_logout_uri: options.backchannelLogoutUri,
          backchannel_logout_session_required: true,
        }),
      },
    ],
    clientAuthMethods: [authMethod],
    jwks: { keys: [{ ...(await exportJWK(key.privateKey)), kid: key.kid, alg: key.algorithm, use: 'sig' }] },
    enabledJWA: { idTokenSigningAlgValues: [key.algorithm] },
    cookies: { keys: ['cookie key of the test provider'], long: { sameSite: 'none', signed: true } },
    // For logout by POST, which needs its cookies in cross-site requests.
    enableHttpPostMethods: true,
    claims: { openid: ['sub'], email: ['email', 'email_verified'], profile: ['name'], groups: ['groups'] },
    conformIdTokenClaims: options.claimsInIdToken !== true,
    findAccount: (_context, accountId) => ({
      accountId,
      claims() {
        const groups = options.groups?.() ?? []
        return {
          ...oidcAccount,
          sub: accountId,
          email_verified: true,
          // Keycloak omits it too when there are none.
          ...(groups.length > 0 && { groups }),
        }
      },
    }),
    interactions: { url: (_context, interaction) => `/interaction/${interaction.uid}` },
    // Its own agent rejects loopback addresses.
    fetch: (url, { method, headers, body, redirect, signal } = {}) =>
      fetch(url, {
        ...(method && { method }),
        ...(headers && { headers }),
        ...(body && { body }),
        ...(redirect && { redirect }),
        ...(signal && { signal }),
      }),
    pkce: { required: () => true },
    rotateRefreshToken: options.rotation !== false,
    ttl: {
      AccessToken: accessTokenSeconds,
      AuthorizationCode: 60,
      Grant: hour,
      IdToken: hour,
      Interaction: hour,
      RefreshToken: hour,
      Session: hour,
    },
    features: {
      devInteractions: { enabled: false },
      userinfo: { enabled: options.userinfo !== false },
      backchannelLogout: { enabled: options.backchannelLogoutUri !== undefined },
      revocation: { enabled: options.revocation !== false, allowedPolicy: () => true },
      rpInitiatedLogout: {
        enabled: options.endSession !== false,
        logoutSource(context, form) {
          context.body = form
        },
      },
      resourceIndicators: {
        enabled: audience !== undefined,
        defaultResource: () => audience ?? [],
        useGrantedResource: () => true,
        getResourceServerInfo: () => ({
          scope: 'read',
          audience: audience ?? '',
          accessTokenTTL: accessTokenSeconds,
          accessTokenFormat: 'jwt',
          jwt: { sign: { alg: key.algorithm } },
        }),
      },
    },
  }
}
