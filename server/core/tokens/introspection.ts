import type { Runtime } from '@drawbridge/shared/runtime.ts'
import type { GrantAccess } from '../access/grant-access.ts'
import type { Client } from '../clients/client.ts'
import type { Grant, GrantStore, StoredProviderSession } from '../session/grant.ts'
import { personalTokenPrefix } from './personal-token.ts'
import { heldScope, limitScope } from './scope.ts'
import { accessTokenPrefix, issueTimeOf, refreshTokenPrefix, tokenKey } from './token-issue.ts'

export interface IntrospectionPorts {
  store: Pick<GrantStore, 'findAccessToken' | 'findRefreshToken' | 'findProviderSession'>
  runtime: Pick<Runtime, 'now'>
  issuer: string
  grantAccess: Pick<GrantAccess, 'decide' | 'userOf'>
  /** False: those that exist are inactive. */
  personalTokens: boolean
}

/** The response for an active token (RFC 7662 section 2.2). Times are epoch seconds. */
interface ActiveToken {
  active: true
  scope: string
  client_id: string
  /** The email address at the session provider, for display. */
  username?: string | undefined
  /** Access tokens only: a refresh token has no type in the sense of RFC 6749 section 5.1. */
  token_type?: 'Bearer' | undefined
  exp: number
  iat?: number | undefined
  sub?: string | undefined
  aud: string
  iss: string
}

/** The introspection response. For an inactive token it says nothing else, not even why (section 2.2). */
export type IntrospectionResponse = ActiveToken | { active: false }

/**
 * Introspects `token` for `client` (RFC 7662). A client that the operator lets introspect sees every token; any other its own
 * only, and not the user: anyone can register a client, and no user agreed to identify themselves to it (section 5).
 *
 * A token is active while its grant is live and the access rules allow its user; the provider is not asked. A refresh token must
 * also be unused, although it returns the same response for two minutes more. Does not check that `client` authenticated.
 */
export async function introspectToken(
  client: Client,
  token: string,
  ports: IntrospectionPorts,
): Promise<IntrospectionResponse> {
  const found = await findToken(token, ports)
  if (!found) return { active: false }
  const { grant, session, scope, expiresAt } = found
  const access = await ports.grantAccess.decide(grant, session)
  const mayAsk = client.introspects || grant.clientId === client.id
  if (access.kind === 'denied' || !mayAsk) return { active: false }
  const user = client.introspects ? await ports.grantAccess.userOf(grant, session) : undefined
  return {
    active: true,
    client_id: grant.clientId,
    scope: limitScope(heldScope(grant, scope), access.scopes),
    token_type: isBearerToken(token) ? 'Bearer' : undefined,
    exp: expiresAt,
    iat: issueTimeOf(token),
    sub: user?.sub,
    ...(user?.email !== undefined && { username: user.email }),
    aud: grant.resource,
    iss: ports.issuer,
  }
}

interface FoundToken {
  grant: Grant
  session: StoredProviderSession
  scope: string
  expiresAt: number
}

function isBearerToken(token: string): boolean {
  return token.startsWith(accessTokenPrefix) || token.startsWith(personalTokenPrefix)
}

async function findToken(
  token: string,
  { store, runtime, personalTokens }: IntrospectionPorts,
): Promise<FoundToken | undefined> {
  const now = runtime.now()
  if (!personalTokens && token.startsWith(personalTokenPrefix)) return undefined
  if (isBearerToken(token)) {
    const found = await store.findAccessToken(tokenKey(token), now)
    return found && { ...found, session: found.providerSession }
  }
  if (!token.startsWith(refreshTokenPrefix)) return undefined
  const found = await store.findRefreshToken(tokenKey(token))
  if (!found || found.endReason !== undefined || found.usedAt !== undefined) return undefined
  const { grant } = found
  const session = await store.findProviderSession(grant.id)
  if (!session || grant.expiresAt <= now) return undefined
  return { grant, session, scope: grant.scope, expiresAt: grant.expiresAt }
}
