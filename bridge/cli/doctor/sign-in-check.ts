import { type Checks, fail, ok, warn } from '@drawbridge/shared/terminal/check.ts'
import type { AuthenticateChallenge } from '@drawbridge/shared/oauth/www-authenticate.ts'
import type { BridgeConfig } from '../../config/config-reader.ts'
import type { Credential } from '../../credentials/credential.ts'
import { checkSignInPage } from '../../oauth/browser/sign-in-page.ts'
import { type DiscoveredServer, discover } from '../../oauth/discovery/discovery.ts'
import { coversMore } from '../../oauth/discovery/server-url.ts'
import { challengeOf } from '../../oauth/login/login.ts'
import { OAuthFailure } from '../../oauth/login-port.ts'
import type { OAuthPorts } from '../../oauth/server-request.ts'
import { failureContextOf } from '../failure/failure-text.ts'
import { failed } from './finding.ts'

const timeoutMs = 20_000

type SignInFacts = Awaited<ReturnType<typeof findSignIn>>

/**
 * Finds the sign-in that the server offers, or why there is none. `page` is what the browser would show; undefined without an
 * authorization endpoint, as for a device sign-in.
 */
export async function findSignIn(
  challenges: readonly AuthenticateChallenge[],
  previous: Credential | undefined,
  config: BridgeConfig,
  ports: OAuthPorts,
) {
  const context = (): Parameters<typeof discover>[1] => ({
    ...ports,
    config: config.oauth,
    signal: AbortSignal.timeout(timeoutMs),
  })
  let server: DiscoveredServer
  try {
    server = await discover({ ...challengeOf({ challenges }), previous }, context())
  } catch (error) {
    return { config, server: undefined, error, page: undefined }
  }
  const { authorization_endpoint: url } = server.metadata
  const facts = { config, server, error: undefined }
  if (url === undefined) return { ...facts, page: undefined }
  try {
    const request = { kind: 'authorization', url } as const
    const foreign = await checkSignInPage(request, server.metadata, previous, context())
    return { ...facts, page: { url, foreign: foreign !== undefined, fault: undefined } }
  } catch (error) {
    if (!(error instanceof OAuthFailure)) throw error
    return { ...facts, page: { url, foreign: false, fault: error } }
  }
}

export const signInChecks: Checks<SignInFacts> = {
  authorization_server({ config, server, error }) {
    if (server === undefined) return failed(error, failureContextOf(config))
    const { issuer } = server.metadata
    return server.isAssumed
      ? warn(`The server names none; ${issuer} is assumed, as in MCP 2025-03-26.`)
      : ok(`The server signs in at ${issuer}.`)
  },
  /** A token may be valid for more than the server, unless the user has configured the resource. */
  resource({ config: { serverUrl, oauth }, server }) {
    const resource = server?.resource
    if (resource === undefined || oauth.resource !== undefined || !coversMore(resource, serverUrl))
      return undefined
    const text = `Tokens are for all of ${resource} and not only for ${serverUrl}.`
    return warn(text, 'Set --resource to the intended one.')
  },
  sign_in_page({ server, page }) {
    if (page === undefined) return undefined
    const { url, foreign, fault } = page
    if (fault !== undefined) return fail(fault.message, 'Do not sign in; tell the operator of the server.')
    const { host } = new URL(url)
    if (!foreign) return ok(`You sign in at ${host}.`)
    const text = `${server.metadata.issuer} has you sign in at ${host}, which does not confirm it.`
    return warn(text, 'Sign in only if you know that the two belong together.')
  },
}
