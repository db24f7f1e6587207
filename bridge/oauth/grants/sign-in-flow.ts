import { isSameIssuer } from '@drawbridge/shared/oauth/oauth-metadata.ts'
import type { Credential } from '../../credentials/credential.ts'
import { configuredClient } from '../client/client-choice.ts'
import { chooseScope } from '../client/scope-choice.ts'
import { type DiscoveredServer, discover } from '../discovery/discovery.ts'
import { grantAt, takesDocument, whyUnusable } from '../discovery/server-use.ts'
import { coversMore } from '../discovery/server-url.ts'
import { type AnnounceSignIn, OAuthFailure, type SignInFlow, type SignInRequest } from '../login-port.ts'
import type { OAuthConfig } from '../oauth-config.ts'
import type { OAuthContext, OAuthPorts } from '../server-request.ts'
import { quoteServerError, quoteServerText } from '../server-text.ts'
import { hasEnded } from '../tokens/stored-tokens.ts'
import { cancelled } from '../wait.ts'
import { signInWithCode } from './authorization-code.ts'
import { signInWithDevice } from './device-code.ts'
import { type GrantRequest, type GrantedTokens, grantedTokens, requestGrant } from './grant.ts'

/**
 * Creates the flow from a refusal to tokens: discovery, scope, client, grant. Sends requests only to the server, for its
 * metadata, and to the authorization server; neither sees a header or token meant for the other. `print` receives a line when
 * an existing login is not usable, and when the new one is valid for more than the server.
 */
export function createSignInFlow(
  config: OAuthConfig,
  ports: OAuthPorts,
  print: (line: string) => void = () => {},
): SignInFlow {
  return async (request, announce, signal) => {
    const context = { ...ports, config, signal }
    try {
      if (config.grant !== 'client_credentials') explainRepeatedSignIn(request, ports.runtime.now(), print)
      const server = await discover(request, context)
      warnOfWiderResource(server, config, print)
      const scope = chooseScope(request, server, config)
      const { previous, isForced = false } = request
      const granted = await runGrant({ server, scope, previous, isForced }, context, announce)
      return credentialOf(granted, server, context)
    } catch (error) {
      if (!signal.aborted || (error instanceof OAuthFailure && error.fault === 'cancelled')) throw error
      throw cancelled(error)
    }
  }
}

/** Tells a user with an earlier login why they have to sign in again. */
function explainRepeatedSignIn(
  { previous, challengeScope = '', isForced }: SignInRequest,
  now: number,
  print: (line: string) => void,
): void {
  if (previous === undefined || isForced === true) return
  const { issuer, tokens, signInNeeded } = previous
  if (signInNeeded !== undefined) {
    print(`The stored login has ended: ${issuer} answered ${quoteServerError(signInNeeded, undefined)}.`)
  } else if (tokens !== undefined) {
    const granted = tokens.scope?.split(' ')
    const missing = challengeScope.split(' ').filter((scope) => granted?.includes(scope) === false)
    if (missing.length > 0 && challengeScope !== '') {
      print(`The stored login lacks what the server requires: ${quoteServerText(missing.join(' '))}.`)
    } else if (hasEnded(tokens, now)) print('The token of the stored login has expired.')
    else print('The server refused the token of the stored login.')
  }
}

/** A token for a whole multi-tenant host also works for the other tenants. */
function warnOfWiderResource(
  { resource }: DiscoveredServer,
  config: OAuthConfig,
  print: (line: string) => void,
): void {
  if (resource === undefined || config.resource !== undefined) return
  if (!coversMore(resource, config.serverUrl)) return
  const { origin, pathname } = new URL(config.serverUrl)
  print(
    `The login will be valid for all of ${quoteServerText(resource)}, not only for ${origin}${pathname}. Set --resource to the intended one.`,
  )
}

function runGrant(
  request: GrantRequest,
  context: OAuthContext,
  announce: AnnounceSignIn,
): Promise<GrantedTokens> {
  const { config } = context
  const grant = grantAt(request.server.metadata, config)
  switch (grant) {
    case 'authorization_code':
      return signInWithCode(request, context, announce)
    case 'device_code':
      return grant === config.grant
        ? signInWithDevice(request, context, announce)
        : signInWithDeviceOrCode(request, context, announce)
    case 'client_credentials':
      return signInAsClient(request, context)
  }
}

/** Signs in as the client itself (RFC 6749 section 4.4). Keeps no refresh token: the client can sign in again. */
async function signInAsClient(request: GrantRequest, context: OAuthContext): Promise<GrantedTokens> {
  const { config } = context
  const client = configuredClient(config, request)
  const parameters = { grant_type: 'client_credentials', scope: request.scope }
  const answer = await requestGrant(request, client, parameters, context)
  const granted = grantedTokens(client, answer, request.server.metadata.issuer, config)
  const { refreshToken: _unwanted, ...tokens } = granted.tokens
  return { ...granted, tokens }
}

/** Falls back to the authorization code grant if the server refuses the device grant, except after a mix-up. */
async function signInWithDeviceOrCode(
  request: GrantRequest,
  context: OAuthContext,
  announce: AnnounceSignIn,
): Promise<GrantedTokens> {
  const { config, signal } = context
  let isAnnounced = false
  const announceDevice: AnnounceSignIn = (prompt) => {
    isAnnounced = true
    announce(prompt)
  }
  try {
    const byDevice: OAuthConfig = { ...config, grant: 'device_code' }
    return await signInWithDevice(request, { ...context, config: byDevice }, announceDevice)
  } catch (error) {
    const byBrowser = { ...config, prefersDevice: false }
    const isRefused = error instanceof OAuthFailure && error.fault !== 'issuer_mismatch'
    const isOver = isAnnounced || signal.aborted || !isRefused
    if (isOver || whyUnusable(request.server.metadata, byBrowser) !== undefined) throw error
    return await signInWithCode(request, { ...context, config: byBrowser }, announce)
  }
}

function credentialOf(
  { client, tokens, quirks: known, acceptedPage }: GrantedTokens,
  { metadata, resource, askedFor }: DiscoveredServer,
  { config, runtime }: OAuthContext,
): Credential {
  // A registration at a server that accepts documents means that it refused ours.
  const isRefused = client.origin === 'dynamic' && takesDocument(metadata, config)
  const quirks = { ...known, ...(isRefused && { refusesDocument: config.clientMetadataUrl }) }
  return {
    generation: 0,
    serverUrl: config.serverUrl,
    profile: config.profile,
    issuer: metadata.issuer,
    acceptedAt: isSameIssuer(metadata.issuer, askedFor) ? undefined : askedFor,
    tokenEndpoint: metadata.token_endpoint ?? '',
    revocationEndpoint: metadata.revocation_endpoint,
    resource,
    client,
    tokens,
    quirks: Object.keys(quirks).length === 0 ? undefined : quirks,
    acceptedPage,
    signedInAt: runtime.now(),
  }
}
