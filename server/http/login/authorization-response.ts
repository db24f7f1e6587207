import type { AuthorizationRequest } from '../../core/authorization/authorization-request.ts'
import type { Client } from '../../core/clients/client.ts'
import { page, redirect } from '../response.ts'
import { finishedPage } from '../pages/finished-page.ts'
import { clientDisplayName, returnAddress } from './client-view.ts'
import type { LoginVisit } from './login-subject.ts'

/** The authorization response: a code, or a registered error code with its description (RFC 6749 section 4.1.2). */
export type AuthorizationOutcome = { code: string } | { error: string; description: string }

/** Adds the outcome, `state` and `iss` (RFC 9207) to the query of the redirect URI. */
export function authorizationResponseUrl(
  target: Pick<AuthorizationRequest, 'redirectUri' | 'state'>,
  outcome: AuthorizationOutcome,
  issuer: string,
): string {
  const parameters = new URLSearchParams(
    'code' in outcome
      ? { code: outcome.code }
      : { error: outcome.error, error_description: outcome.description },
  )
  if (target.state !== undefined) parameters.set('state', target.state)
  parameters.set('iss', issuer)
  return `${target.redirectUri}${target.redirectUri.includes('?') ? '&' : '?'}${parameters.toString()}`
}

/**
 * Sends the browser back to the client: by redirect for http(s), by a page with a link for a private-use scheme, which would
 * otherwise leave the login page open in the browser.
 */
export function answerClient(
  target: Pick<AuthorizationRequest, 'redirectUri' | 'state'>,
  outcome: AuthorizationOutcome,
  client: Pick<Client, 'id' | 'name'>,
  { language, ports: { urls, app } }: Pick<LoginVisit, 'language' | 'ports'>,
): Response {
  const url = authorizationResponseUrl(target, outcome, urls.issuer)
  if (/^https?:/i.test(url)) return redirect(url)
  const view = {
    language,
    look: app.look,
    clientName: clientDisplayName(client, language),
    continueUrl: url,
    redirectHost: returnAddress(url),
    denied: 'error' in outcome,
  }
  return page(finishedPage(view), view, 200, { 'referrer-policy': 'no-referrer' })
}
