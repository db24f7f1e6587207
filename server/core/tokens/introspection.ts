import type { Runtime } from '@drawbridge/shared/runtime.ts'
import type { GrantAccess } from '../access/grant-access.ts'
import type { Client } from '../clients/client.ts'
import type { Grant, GrantStore, StoredProviderSession, User } from '../session/grant.ts'
import { limitScope } from './scope.ts'
import { accessTokenPrefix, issueTimeOf, refreshTokenPrefix, tokenKey } from './token-issue.ts'

export interface IntrospectionPorts {
  store: Pick<GrantStore, 'findAccessToken' | 'findRefreshToken' | 'findProviderSession'>
  runtime: Pick<Runtime, 'now'>
  issuer: string
  grantAccess: Pick<GrantAccess, 'decide' | 'userOf'>
}

/** The response for an active token (RFC 7662 section 2.2). Times are epoch seconds. */
interface ActiveToken {
  active: true
  scope: string
  client_id: string
  /** The email address at the session provider, for display. */
  username?: string
  /** Access tokens only: a refresh token has no type in the sense of RFC 6749 section 5.1. */
  token_type?: 'Bearer'
  exp: number
  iat?: number
  sub?: string
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
  if (!found || !(client.introspects || found.grant.clientId === client.id)) return { active: false }
  const { grant, session, members } = found
  const issuedAt = issueTimeOf(token)
  return {
    active: true,
    client_id: grant.clientId,
    ...members,
    ...(issuedAt !== undefined && { iat: issuedAt }),
    ...(client.introspects && personOf(await ports.grantAccess.userOf(grant, session))),
    aud: grant.resource,
    iss: ports.issuer,
  }
}

function personOf({ sub, email }: User): Pick<ActiveToken, 'sub' | 'username'> {
  return { sub, ...(email !== undefined && { username: email }) }
}

interface FoundToken {
  grant: Grant
  session: StoredProviderSession
  members: Pick<ActiveToken, 'scope' | 'exp' | 'token_type'>
}

async function findToken(token: string, ports: IntrospectionPorts): Promise<FoundToken | undefined> {
  const { store, runtime } = ports
  const now = runtime.now()
  if (token.startsWith(accessTokenPrefix)) {
    const found = await store.findAccessToken(tokenKey(token), now)
    if (!found) return undefined
    const { grant, scope, expiresAt: exp, providerSession: session } = found
    return withinRules({ grant, session, members: { scope, token_type: 'Bearer', exp } }, ports)
  }
  if (!token.startsWith(refreshTokenPrefix)) return undefined
  const found = await store.findRefreshToken(tokenKey(token))
  if (!found || found.endReason !== undefined || found.usedAt !== undefined) return undefined
  const { grant } = found
  const session = await store.findProviderSession(grant.id)
  if (!session || grant.expiresAt <= now) return undefined
  return withinRules({ grant, session, members: { scope: grant.scope, exp: grant.expiresAt } }, ports)
}

/** Limits the scope to what the access rules allow; undefined for a user whom they deny. */
async function withinRules(found: FoundToken, ports: IntrospectionPorts): Promise<FoundToken | undefined> {
  const access = await ports.grantAccess.decide(found.grant, found.session)
  if (access.kind === 'denied') return undefined
  const { scope } = found.members
  return { ...found, members: { ...found.members, scope: limitScope(scope, access.scopes) } }
}
