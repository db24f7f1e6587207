import type { Runtime } from '@drawbridge/shared/runtime.ts'
import type { GrantAccess } from '../access/grant-access.ts'
import type { Client } from '../clients/client.ts'
import type { Grant, GrantStore } from '../session/grant.ts'
import { limitScope } from './scope.ts'
import { accessTokenPrefix, issueTimeOf, refreshTokenPrefix, tokenKey } from './token-issue.ts'

/** What introspection needs from outside. */
export interface IntrospectionPorts {
  store: Pick<GrantStore, 'findAccessToken' | 'findRefreshToken'>
  runtime: Pick<Runtime, 'now'>
  issuer: string
  access: Pick<GrantAccess, 'decide'>
}

/** What an active token is worth (RFC 7662 section 2.2). Times are epoch seconds. */
export interface ActiveToken {
  active: true
  scope: string
  client_id: string
  /** The email address at the session provider, for people to read. */
  username?: string
  /** Only of an access token: a refresh token has no type in the sense of RFC 6749 section 5.1. */
  token_type?: 'Bearer'
  exp: number
  iat?: number
  /** The user's id at the session provider. */
  sub?: string
  aud: string
  iss: string
}

/**
 * The response of the introspection endpoint. For an inactive token it says nothing else, not even why (section 2.2).
 */
export type IntrospectionResponse = ActiveToken | { active: false }

/**
 * Introspects `token` for `client` (RFC 7662). A client that the operator lets introspect sees every token; any other
 * client sees its own tokens only, and not the user: anybody can register a client, and no user agreed to show it who
 * they are (section 5).
 *
 * An access token is active while `/mcp` would accept it: its grant is alive, and so is the provider session as far
 * as is known, and the access rules let its person in; the provider is not asked whether that is still so. A refresh token is active until it is used, although presenting it returns
 * the same response for up to two minutes more. Provider tokens are inactive here. Not checked: that `client`
 * authenticated, which the endpoint requires.
 */
export async function introspectToken(
  client: Client,
  token: string,
  ports: IntrospectionPorts,
): Promise<IntrospectionResponse> {
  const found = await findToken(token, ports)
  if (!found || !(client.introspects || found.grant.clientId === client.id)) return { active: false }
  const { grant, members } = found
  const issuedAt = issueTimeOf(token)
  return {
    active: true,
    client_id: grant.clientId,
    ...members,
    ...(issuedAt !== undefined && { iat: issuedAt }),
    ...(client.introspects && personOf(grant)),
    aud: grant.resource,
    iss: ports.issuer,
  }
}

function personOf({ user }: Grant): Pick<ActiveToken, 'sub' | 'username'> {
  return { sub: user.sub, ...(user.email !== undefined && { username: user.email }) }
}

interface FoundToken {
  grant: Grant
  members: Pick<ActiveToken, 'scope' | 'exp' | 'token_type'>
}

async function findToken(token: string, ports: IntrospectionPorts): Promise<FoundToken | undefined> {
  const { store, runtime } = ports
  const now = runtime.now()
  if (token.startsWith(accessTokenPrefix)) {
    const found = await store.findAccessToken(tokenKey(token), now)
    if (!found) return undefined
    const { grant, scope, expiresAt, providerSession } = found
    const access = await ports.access.decide(grant, providerSession)
    if (access.kind === 'denied') return undefined
    const limited = limitScope(scope, access.scopes)
    return { grant, members: { scope: limited, token_type: 'Bearer', exp: expiresAt } }
  }
  if (!token.startsWith(refreshTokenPrefix)) return undefined
  const found = await store.findRefreshToken(tokenKey(token))
  if (!found || found.endReason !== undefined || found.usedAt !== undefined) return undefined
  const { grant } = found
  return grant.expiresAt > now ? { grant, members: { scope: grant.scope, exp: grant.expiresAt } } : undefined
}
