import { parseAuthorizationRequest } from '../../core/authorization/authorization-request.ts'
import { finderFor } from '../../core/clients/client.ts'
import { isUnusedRegistration } from '../../core/clients/client-life.ts'
import { answerClient, authorizationResponseUrl } from '../login/authorization-response.ts'
import { isLoopbackUri, returnAddress } from '../login/client-view.ts'
import { fillText } from '../../texts/text.ts'
import type { Endpoint } from '../endpoint.ts'
import {
  bindingOf,
  type LoginPorts,
  sourceOf,
  toSignIn,
  type LoginVisit,
  visitorOf,
} from '../login/login-subject.ts'
import { renderLogin } from '../login/draw.ts'
import { LoginError } from '../login/login-error.ts'
import { createLoginEndpoint } from '../login/sign-in-form.ts'

/**
 * `/oauth/authorize`: GET shows the login page, POST handles its forms. The session provider is not involved before a form is
 * posted, and no client gets a code without that click.
 */
export function createAuthorizeEndpoint(ports: LoginPorts): Endpoint {
  return createLoginEndpoint('authorization', ports, showLogin)
}

async function showLogin(visit: LoginVisit): Promise<Response> {
  const { context, language, ports } = visit
  const parameters = new URL(visit.request.url).searchParams
  const visitor = visitorOf(bindingOf(visit), visit)
  context.attempt?.({ clientId: parameters.get('client_id') ?? undefined })
  const parsed = await parseAuthorizationRequest(parameters, {
    clients: finderFor(sourceOf(visitor), ports.clients),
    resource: ports.urls.resource,
    scopes: ports.scopes,
  })
  switch (parsed.kind) {
    case 'unsafe': {
      const { registered, noneRegistered } = language.texts.errorPage
      const addresses = parsed.client?.redirectUris.join(' , ') || noneRegistered
      const detail = parsed.reason === 'redirect_uri_mismatch' && {
        detail: fillText(registered, { addresses }),
      }
      throw new LoginError(parsed.reason, { ...detail })
    }
    case 'refused': {
      context.report('authorization_refused', { error: parsed.error })
      const { redirectUri, description } = parsed
      if (isUnusedRegistration(parsed.client) && isForeignSite(redirectUri)) {
        // The user was not asked yet, and a stranger registered the address: the user decides whether to go there (RFC 9700
        // section 4.11.2).
        const url = authorizationResponseUrl(parsed, parsed, ports.urls.issuer)
        const back = { url, host: returnAddress(redirectUri) }
        throw new LoginError('request_refused', { detail: description, back })
      }
      return answerClient(parsed, parsed, parsed.client, visit)
    }
    case 'accepted': {
      const { client, request: asked } = parsed
      const email = shownEmail(parameters, parsed.loginHint)
      return renderLogin(toSignIn({ kind: 'authorization', request: asked, client, visitor }, visit), {
        email,
      })
    }
  }
}

/** Returns whether a redirect URI leads to another computer, not to a program on this one or to an app by its own scheme. */
function isForeignSite(redirectUri: string): boolean {
  return /^https?:/i.test(redirectUri) && !isLoopbackUri(redirectUri)
}

/**
 * Returns the prefilled email. The page always asks for an account and for consent, so `login` and `consent` of `prompt` change
 * nothing; `select_account` asks for a free choice (OpenID Connect Core 1.0 section 3.1.2.1).
 */
function shownEmail(parameters: URLSearchParams, loginHint: string | undefined): string | undefined {
  const prompts = parameters.get('prompt')?.split(' ') ?? []
  return prompts.includes('select_account') ? undefined : loginHint
}
