import { OAuthError } from '@drawbridge/shared/oauth/oauth-error.ts'
import { endLoggedOut, type ProviderLogoutPorts } from '../../core/sign-in/provider-logout.ts'
import { ProviderError, type SessionProvider } from '../../core/session/session-provider.ts'
import type { Endpoint } from '../endpoint.ts'
import { empty, httpError, oauthFailure } from '../response.ts'
import { readForm, requiredParameter } from '../middleware/body.ts'
import { bearerOf } from '../middleware/caller.ts'

/**
 * `POST /oauth/backchannel_logout` (OpenID Connect Back-Channel Logout 1.0 section 2.5): the provider reports a sign-out. Responds
 * 200 even if there were no connections, and for a repeated notice. Every invalid token is refused with the same text: anyone may
 * call this.
 *
 * With `isApp` the notice is the web app's own: `POST /oauth/app/end` with a JWT as bearer token, and 204.
 */
export function createBackchannelLogoutEndpoint(
  basePath: string,
  isApp: boolean,
  ports: ProviderLogoutPorts & Required<Pick<SessionProvider, 'readLogout'>>,
): Endpoint {
  return {
    path: `${basePath}/oauth/${isApp ? 'app/end' : 'backchannel_logout'}`,
    cors: 'none',
    methods: {
      async POST(request, context) {
        const token = isApp ? bearerOf(request) : requiredParameter(await readForm(request), 'logout_token')
        try {
          const notice = await ports.readLogout(token)
          const ended = await endLoggedOut(notice, ports)
          context.report('provider_logout', { sub: notice.sub, grants_ended: ended })
          return empty(isApp ? 204 : 200)
        } catch (error) {
          if (!(error instanceof ProviderError)) throw error
          context.report('provider_logout_refused', { failure: error.failure, message: error.message })
          if (error.failure !== 'invalid_token') return httpError('temporarily_unavailable')
          if (!isApp) throw new OAuthError('invalid_request', 'The logout token is invalid.')
          const refusal = new OAuthError(
            'invalid_token',
            'The JWT is invalid. The log of this server says why.',
          )
          return oauthFailure(refusal, { 'www-authenticate': 'Bearer error="invalid_token"' })
        }
      },
    },
  }
}
