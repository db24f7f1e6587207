import type { Credential } from '../../credentials/credential.ts'
import { signInWithCode } from './authorization-code.ts'
import { serverAtTokenEndpoint, signInAsClient } from './client-credentials.ts'
import { signInWithDevice } from './device-code.ts'
import { type DiscoveredServer, discover, grantAt, whyUnusable } from '../discovery/discovery.ts'
import { coversMore, isSafeUrl } from '../discovery/document.ts'
import { type AnnounceSignIn, OAuthFailure, type SignInFlow, type SignInRequest } from '../login-port.ts'
import type { OAuthConfig } from '../oauth-config.ts'
import { chooseScope } from '../client/scope-choice.ts'
import type { OAuthPorts } from '../server-exchange.ts'
import { quoteServerError, quoteServerText } from '../server-text.ts'
import { hasEnded } from '../tokens/refresh-pace.ts'
import type { GrantRequest, GrantedTokens } from './grant.ts'
import { cancelled } from '../wait.ts'

/**
 * The way from a refusal to tokens: discovery, scope, client, grant. Stores nothing. What it sends goes to the server for
 * its metadata and to the authorization server; neither sees a header or a token that is meant for the other.
 *
 * `tell` gets a line for the person when a login is there and does not do, and when the new one is good for more than the server.
 *
 * The flow rejects with {@link OAuthFailure}, `cancelled` whenever its signal is aborted, or with `NetworkError`.
 */
export function createSignInFlow(
  config: OAuthConfig,
  ports: OAuthPorts,
  tell: (line: string) => void = () => {},
): SignInFlow {
  return async (request, announce, signal) => {
    try {
      if (config.grant !== 'client_credentials') tellWhyAgain(request, ports.runtime.now(), tell)
      const server = await findServer(request, config, ports, signal)
      tellWiderResource(server, config, tell)
      const scope = chooseScope(request, server, config)
      const granted = await askForGrant(
        { server, scope, previous: request.previous, isForced: request.isForced === true },
        config,
        ports,
        announce,
        signal,
      )
      return credentialOf(granted, server, config, ports)
    } catch (error) {
      if (!signal.aborted || (error instanceof OAuthFailure && error.fault === 'cancelled')) throw error
      throw cancelled(error)
    }
  }
}

/** Nobody who has signed in before is asked again without the reason. */
function tellWhyAgain(
  { previous, challengeScope = '', isForced }: SignInRequest,
  now: number,
  tell: (line: string) => void,
): void {
  if (previous === undefined || isForced === true) return
  const { issuer, tokens, signInNeeded } = previous
  if (signInNeeded !== undefined) {
    tell(`The stored login has ended: ${issuer} answered ${quoteServerError(signInNeeded, undefined)}.`)
  } else if (tokens !== undefined) {
    const granted = tokens.scope?.split(' ')
    const missing = challengeScope.split(' ').filter((scope) => granted?.includes(scope) === false)
    if (missing.length > 0 && challengeScope !== '') {
      tell(`The stored login does not have what the server asks for: ${quoteServerText(missing.join(' '))}.`)
    } else if (hasEnded(tokens, now)) tell('The token of the stored login has ended.')
    else tell('The server refused the token of the stored login.')
  }
}

/** On a host with several tenants a token for all of it is one for the other tenants. Whoever set the resource knows it. */
function tellWiderResource(
  { resource }: DiscoveredServer,
  config: OAuthConfig,
  tell: (line: string) => void,
): void {
  if (resource === undefined || config.resource !== undefined) return
  if (!coversMore(resource, config.serverUrl)) return
  const { origin, pathname } = new URL(config.serverUrl)
  tell(
    `The login will be good for all of ${quoteServerText(resource)}, not only for ${origin}${pathname}. Set --resource to the one that you mean.`,
  )
}

async function findServer(
  request: SignInRequest,
  config: OAuthConfig,
  ports: OAuthPorts,
  signal: AbortSignal,
): Promise<DiscoveredServer> {
  if (config.grant === 'client_credentials' && config.tokenEndpoint !== undefined) {
    return serverAtTokenEndpoint(config.tokenEndpoint, config)
  }
  return await discover(request, config, ports, signal)
}

function askForGrant(
  request: GrantRequest,
  config: OAuthConfig,
  ports: OAuthPorts,
  announce: AnnounceSignIn,
  signal: AbortSignal,
): Promise<GrantedTokens> {
  const grant = grantAt(request.server.metadata, config)
  switch (grant) {
    case 'authorization_code':
      return signInWithCode(request, config, ports, announce, signal)
    case 'device_code':
      return grant === config.grant
        ? signInWithDevice(request, config, ports, announce, signal)
        : signInWithDeviceOrCode(request, config, ports, announce, signal)
    case 'client_credentials':
      return signInAsClient(request, config, ports, signal)
  }
}

/** With a device where nobody asked for one: what the server says against that is no reason to end, unless it is a mix-up. */
async function signInWithDeviceOrCode(
  request: GrantRequest,
  config: OAuthConfig,
  ports: OAuthPorts,
  announce: AnnounceSignIn,
  signal: AbortSignal,
): Promise<GrantedTokens> {
  let isAnnounced = false
  const announceDevice: AnnounceSignIn = (prompt) => {
    isAnnounced = true
    announce(prompt)
  }
  try {
    const byDevice: OAuthConfig = { ...config, grant: 'device_code' }
    return await signInWithDevice(request, byDevice, ports, announceDevice, signal)
  } catch (error) {
    const byBrowser = { ...config, prefersDevice: false }
    const isRefused = error instanceof OAuthFailure && error.fault !== 'issuer_mismatch'
    const isOver = isAnnounced || signal.aborted || !isRefused
    if (isOver || whyUnusable(request.server.metadata, byBrowser) !== undefined) throw error
    return await signInWithCode(request, byBrowser, ports, announce, signal)
  }
}

function credentialOf(
  { client, tokens, quirks, acceptedPage }: GrantedTokens,
  { metadata, resource }: DiscoveredServer,
  config: OAuthConfig,
  { runtime }: OAuthPorts,
): Credential {
  const { issuer, token_endpoint: tokenEndpoint = '', revocation_endpoint: revocationEndpoint } = metadata
  const isRevocable =
    revocationEndpoint !== undefined && isSafeUrl(revocationEndpoint, issuer, config.allowHttp)
  return {
    generation: 0,
    serverUrl: config.serverUrl,
    profile: config.profile,
    issuer,
    tokenEndpoint,
    ...(isRevocable ? { revocationEndpoint } : {}),
    ...(resource === undefined ? {} : { resource }),
    client,
    tokens,
    ...(Object.keys(quirks).length === 0 ? {} : { quirks }),
    ...(acceptedPage === undefined ? {} : { acceptedPage }),
    signedInAt: runtime.now(),
  }
}
