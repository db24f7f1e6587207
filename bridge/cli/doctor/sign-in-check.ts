import type { AuthenticateChallenge } from '@drawbridge/shared/oauth/www-authenticate.ts'
import { type DiscoveredServer, discover } from '../../oauth/discovery/discovery.ts'
import { coversMore } from '../../oauth/discovery/server-url.ts'
import { checkSignInPage } from '../../oauth/browser/sign-in-page.ts'
import { OAuthFailure } from '../../oauth/login-port.ts'
import type { OAuthConfig } from '../../oauth/oauth-config.ts'
import type { OAuthContext, OAuthPorts } from '../../oauth/server-request.ts'
import type { FailureContext } from '../failure/failure-text.ts'
import { type Finding, fail, failureFinding, ok, warn } from './finding.ts'

const timeoutMs = 20_000

/** Looks for the way to sign in as a sign-in does. `issuer` is undefined if there is none that the bridge can use. */
export async function checkSignIn(
  challenges: readonly AuthenticateChallenge[],
  config: OAuthConfig,
  ports: OAuthPorts,
  context: FailureContext,
): Promise<{ findings: Finding[]; issuer: string | undefined }> {
  const named = challenges.find(({ params }) => params.has('resource_metadata'))
  const resourceMetadata = named?.params.get('resource_metadata')
  let server: DiscoveredServer
  try {
    const request = resourceMetadata === undefined ? {} : { resourceMetadata }
    server = await discover(request, { ...ports, config, signal: AbortSignal.timeout(timeoutMs) })
  } catch (error) {
    return { findings: [failureFinding('authorization_server', error, context)], issuer: undefined }
  }
  const page = await checkPage(server, { ...ports, config, signal: AbortSignal.timeout(timeoutMs) })
  return {
    findings: [checkServer(server), ...checkResource(server, config), ...page],
    issuer: server.metadata.issuer,
  }
}

function checkServer({ metadata: { issuer }, isAssumed }: DiscoveredServer): Finding {
  return isAssumed
    ? warn('authorization_server', `The server names none; ${issuer} is assumed, as in MCP 2025-03-26.`)
    : ok('authorization_server', `The server signs in at ${issuer}.`)
}

/** Warns if a token would be valid for more than the server, unless the user has configured the resource. */
function checkResource(
  { resource }: DiscoveredServer,
  { serverUrl, resource: configured }: OAuthConfig,
): Finding[] {
  if (resource === undefined || configured !== undefined || !coversMore(resource, serverUrl)) return []
  const text = `Tokens are for all of ${resource} and not only for ${serverUrl}.`
  return [warn('resource', text, 'Set --resource to the one that you mean.')]
}

/** Checks the login page in a browser. The page of a device sign-in is only known once it has begun. */
async function checkPage({ metadata }: DiscoveredServer, context: OAuthContext): Promise<Finding[]> {
  const { authorization_endpoint: url, issuer } = metadata
  if (url === undefined) return []
  const { host } = new URL(url)
  try {
    const foreign = await checkSignInPage({ kind: 'authorization', url }, metadata, undefined, context)
    if (foreign === undefined) return [ok('sign_in_page', `You sign in at ${host}.`)]
    const text = `${issuer} has you sign in at ${host}, and nothing there confirms it.`
    return [warn('sign_in_page', text, 'Sign in only if you know that the two belong together.')]
  } catch (error) {
    if (!(error instanceof OAuthFailure)) throw error
    return [fail('sign_in_page', error.message, 'Do not sign in; tell the operator of the server.')]
  }
}
