import { encodeBase64url } from '@drawbridge/shared/base64url.ts'
import type { Runtime } from '@drawbridge/shared/runtime.ts'
import { OAuthError } from '@drawbridge/shared/oauth/oauth-error.ts'
import { addGrantCode, type AuthorizationCodePorts } from '../authorization/authorization-code.ts'
import type { Client, ClientStore } from '../clients/client.ts'
import { type AttemptStore, countWithin, limitKey } from '../limits/attempt-limit.ts'
import { tokensOfService } from '../limits/limit-table.ts'
import { hashSecret } from '../seal.ts'
import { serviceSession } from '../session/service-session.ts'
import type { Grant } from '../session/grant.ts'
import { requireOurResource } from './resource.ts'
import { toolScope } from './scope.ts'
import { type IssuedTokens, mintTokens, tokenResponse } from './token-issue.ts'

const maxTtlSeconds = 3600

const subOf = (clientId: string): string => `service:${clientId}`

/** Returns whether a grant is a service's, and not a user's. */
export function isServiceGrant({ user, clientId }: Pick<Grant, 'user' | 'clientId'>): boolean {
  return user.sub === subOf(clientId)
}

export interface ServiceTokenPorts extends AuthorizationCodePorts {
  store: AuthorizationCodePorts['store'] & AttemptStore
  resource: string
}

/**
 * Issues an access token to a service for itself (RFC 6749 section 4.4): for an hour at most, without a refresh token, in a grant of its
 * own. Its scope: the request, limited to the service's own. Throws `invalid_scope`, `invalid_target`, or
 * `temporarily_unavailable` (429). Does not check that `client` is a service, and authenticated.
 */
export async function issueServiceToken(
  client: Client,
  { scope: asked, resources }: { scope: string | undefined; resources: readonly string[] },
  ports: ServiceTokenPorts,
): Promise<IssuedTokens> {
  const { store, runtime, resource } = ports
  requireOurResource(resources, resource)
  const scope = grantedScope(client.scope ?? toolScope, asked)
  const limit = { key: limitKey('service token', client.id), ...tokensOfService }
  const { waitSeconds: retryAfterSeconds } = await countWithin([limit], ports)
  if (retryAfterSeconds > 0) {
    const description = 'This service asks for tokens too often. Use one until it expires.'
    throw new OAuthError('temporarily_unavailable', description, { status: 429, retryAfterSeconds })
  }
  const now = runtime.now()
  const seconds = Math.min(maxTtlSeconds, ports.accessTokenTtlSeconds)
  const sub = subOf(client.id)
  const identity = {
    sub,
    email: undefined,
    name: client.name,
    claims: {},
    secondFactor: false,
    expiresAt: now + seconds,
  }
  const signIn = { identity, session: serviceSession(client, now + 2 * seconds) }
  // This code is never sent: it makes the grant as a client's does.
  const codeHash = hashSecret(encodeBase64url(runtime.randomBytes(32)))
  const record = { codeHash, redirectUri: '', codeChallenge: '', expiresAt: now + 60 }
  const request = { clientId: client.id, resource, scope }
  const id = await addGrantCode(record, request, signIn, { ...ports, sessionTtlSeconds: seconds })
  const user = { id: `${ports.providerIssuer}#${sub}`, sub, email: undefined, name: client.name }
  const grant: Grant = {
    id,
    user,
    ...request,
    workspace: undefined,
    createdAt: now,
    expiresAt: now + seconds,
  }
  const { pair, minted } = mintTokens(grant, scope, undefined, seconds, runtime)
  await store.redeemAuthorizationCode(codeHash, minted, now)
  return { grant, response: tokenResponse(pair, now) }
}

/** The tool scope is part of every token. Unknown scopes are dropped, as for other clients. */
function grantedScope(own: string, asked: string | undefined): string {
  const held = own.split(' ')
  const wanted = asked?.split(' ').filter((name) => name !== '') ?? held
  if (wanted.length > 0 && !wanted.some((name) => held.includes(name)))
    throw new OAuthError('invalid_scope', `The scope of this service is ${own}`)
  return held.filter((name) => name === toolScope || wanted.includes(name)).join(' ')
}

const checkedSeconds = 10

/** Creates the check whether there is a service, which reads the store every ten seconds at most. A store that fails changes nothing. */
export function createServiceCheck(
  store: Pick<ClientStore, 'hasService'>,
  { now }: Pick<Runtime, 'now'>,
): () => Promise<boolean> {
  let [known, checkedAt] = [false, -Infinity]
  return async () => {
    if (now() - checkedAt >= checkedSeconds) {
      checkedAt = now()
      known = await store.hasService().catch(() => known)
    }
    return known
  }
}
