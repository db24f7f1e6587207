import { isLoopbackHostname } from '@drawbridge/shared/oauth/redirect-uri.ts'
import {
  type AuthorizationRequestResult,
  parseAuthorizationRequest,
} from '../../core/authorization/authorization-request.ts'
import { finderFor } from '../../core/clients/client.ts'
import { isUnusedRegistration } from '../../core/clients/client-life.ts'
import { answerClient, authorizationResponseUrl, returnAddress } from '../login/authorization-response.ts'
import type { Endpoint } from '../endpoint.ts'
import {
  bindingOf,
  type Login,
  loginPaths,
  type LoginPorts,
  sourceOf,
  visitorOf,
} from '../login/login-subject.ts'
import { takeOwnForm } from '../login/decide.ts'
import { renderLogin } from '../login/draw.ts'
import { loginHandler, signInErrorPage } from '../login/error-page.ts'

/**
 * `/oauth/authorize`: GET shows the login page, POST handles its forms. The session provider is not involved before a form is
 * posted, and no client gets a code without that click.
 */
export function createAuthorizeEndpoint(ports: LoginPorts): Endpoint {
  return {
    path: `${ports.urls.basePath}${loginPaths.authorization}`,
    cors: 'none',
    methods: {
      GET: loginHandler(ports, showLogin),
      POST: loginHandler(ports, (login) => takeOwnForm(login)),
    },
  }
}

async function showLogin(login: Login): Promise<Response> {
  const parameters = new URL(login.request.url).searchParams
  const visitor = visitorOf(bindingOf(login), login)
  const parsed = await parseAuthorizationRequest(parameters, {
    clients: finderFor(sourceOf(visitor), login.clients),
    resource: login.urls.resource,
    scopes: login.codes.scopes,
  })
  switch (parsed.kind) {
    case 'unsafe': {
      const registered = parsed.client?.redirectUris.join(' , ') || 'none'
      const detail = parsed.reason === 'redirect_uri_mismatch' ? `Registered: ${registered}` : undefined
      return signInErrorPage(parsed.reason, login, detail)
    }
    case 'refused': {
      login.context.report('authorization_refused', { error: parsed.error })
      // The user was not asked yet: if a stranger registered the address, the user decides whether to go there.
      return isUnusedRegistration(parsed.client) && isForeignSite(parsed.redirectUri)
        ? refusedPage(parsed, login)
        : answerClient(parsed, parsed, parsed.client, login.urls.issuer)
    }
    case 'accepted': {
      const { client, request: asked } = parsed
      const email = shownEmail(parameters, parsed.loginHint)
      return renderLogin({ kind: 'authorization', request: asked, client, visitor }, { email }, login)
    }
  }
}

/** Returns whether a redirect URI leads to another computer, not to a program on this one or to an app by its own scheme. */
function isForeignSite(redirectUri: string): boolean {
  const { protocol, hostname } = new URL(redirectUri)
  return /^https?:$/.test(protocol) && !isLoopbackHostname(hostname)
}

/** Shows what is wrong with a request, and lets the user decide whether to return to the app (RFC 9700 section 4.11.2). */
function refusedPage(
  refused: Extract<AuthorizationRequestResult, { kind: 'refused' }>,
  login: Login,
): Response {
  const { description, redirectUri } = refused
  const way = {
    url: authorizationResponseUrl(refused, refused, login.urls.issuer),
    host: returnAddress(redirectUri),
  }
  return signInErrorPage('request_refused', login, description, way)
}

/**
 * Returns the prefilled email. The page always asks for an account and for consent, so `login` and `consent` of `prompt` change
 * nothing; `select_account` asks for a free choice (OpenID Connect Core 1.0 section 3.1.2.1).
 */
function shownEmail(parameters: URLSearchParams, loginHint: string | undefined): string | undefined {
  const prompts = parameters.get('prompt')?.split(' ') ?? []
  return prompts.includes('select_account') ? undefined : loginHint
}
