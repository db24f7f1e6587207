import type { Reply } from '@drawbridge/shared/text-response.ts'
import { OAuthError } from '@drawbridge/shared/oauth/oauth-error.ts'
import { type BearerChallenge, bearerChallenge } from '@drawbridge/shared/oauth/www-authenticate.ts'
import type { Caller, CallerResult } from '../../core/tokens/caller.ts'
import { type ScopeCatalogue, toolScope } from '../../core/tokens/scope.ts'
import type { RequestContext } from '../endpoint.ts'
import type { PublicUrls } from '../public-urls.ts'
import { httpError, oauthFailure } from '../response.ts'

/** Returns 401 without an error, since no credential was sent (RFC 6750 section 3.1). */
export function challenge(scopes: readonly string[], { resourceMetadata }: PublicUrls): Reply {
  const scope = [toolScope, ...scopes].join(' ')
  const header = bearerChallenge({ resourceMetadata, scope })
  return httpError('unauthorized', { 'www-authenticate': header })
}

/** Refuses a request whose credential is missing or not accepted. */
export function refuseCaller(
  found: Exclude<CallerResult, { kind: 'caller' }>,
  context: RequestContext,
  urls: PublicUrls,
): Reply {
  switch (found.kind) {
    case 'missing':
      return challenge([], urls)
    case 'invalid':
      context.report('caller_refused', { description: found.description })
      return refuseToken(new OAuthError('invalid_token', found.description), {
        resourceMetadata: urls.resourceMetadata,
        scope: toolScope,
      })
    case 'denied':
      context.report('access_denied', { sub: found.sub, rule: found.rule, reason: found.reason })
      // No challenge: signing in again would not help this user.
      return httpError('access_denied')
    case 'workspace_lost': {
      const { id, user, clientId, workspace } = found.grant
      const fields = { grant_id: id, client_id: clientId, sub: user.sub, workspace: workspace?.id }
      context.report('workspace_lost', fields)
      // No challenge: the user can choose another one for this grant.
      return httpError('workspace_lost')
    }
    case 'unavailable':
      // No challenge: signing in again would not help while the provider is down.
      return httpError('temporarily_unavailable', { 'retry-after': String(found.retryAfterSeconds) })
  }
}

/** Refuses the token, with the same description in the challenge and in the body (RFC 6750 section 3.1). */
function refuseToken(error: OAuthError, about: BearerChallenge): Reply {
  const header = bearerChallenge({ ...about, error: error.code, errorDescription: error.description })
  return oauthFailure(error, { 'www-authenticate': header })
}

/**
 * Refuses a caller who lacks one of the scopes `needed`. Asks for every scope that the operation needs and for those the token
 * already has, so that a client that signs in for exactly these loses none (MCP 2026-07-28 authorization).
 */
export function refuseScope(
  { scope }: Caller,
  needed: readonly string[],
  { urls, scopes }: { urls: PublicUrls; scopes: Pick<ScopeCatalogue, 'resource'> },
): Reply | undefined {
  if (needed.length === 0) return undefined
  const held = scope.split(' ')
  const missing = needed.filter((name) => !held.includes(name))
  if (missing.length === 0) return undefined
  const asked = scopes.resource.filter((name) => held.includes(name) || needed.includes(name))
  const error = new OAuthError(
    'insufficient_scope',
    `The access token lacks the scope ${missing.join(' ')}. Sign in again and request it.`,
  )
  const all = [...new Set([toolScope, ...asked])].join(' ')
  return refuseToken(error, { resourceMetadata: urls.resourceMetadata, scope: all })
}
