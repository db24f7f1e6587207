import { finishSocialSignIn } from '../core/sign-in.ts'
import type { Endpoint } from './endpoint.ts'
import { completeLogin, type LoginPorts, renderLogin } from './login.ts'
import { signInMessage } from './sign-in-message.ts'
import { strandedPage } from './stranded-page.ts'

/**
 * `GET /oauth/callback`: the return from social sign-in, which goes on to the client without another click. A refusal
 * comes back to the login page, where another way can be chosen.
 */
export function createCallbackEndpoint(ports: LoginPorts): Endpoint {
  return {
    path: `${ports.urls.basePath}/oauth/callback`,
    cors: 'none',
    methods: {
      async GET(request, context) {
        const binding = ports.bindingCookie.read(request)
        const parameters = new URL(request.url).searchParams
        const returned = await finishSocialSignIn(parameters, binding, ports.signIn)
        if (returned.kind === 'expired' || binding === undefined) {
          return strandedPage('social_expired', context, ports.appUrl)
        }
        const client = await ports.clients.findClient(returned.request.clientId)
        if (!client) return strandedPage('client_unknown', context, ports.appUrl)
        if (returned.kind === 'signed_in') {
          return completeLogin(returned.request, client, returned.signIn, context, ports)
        }
        context.report('sign_in_failed', {
          failure: returned.failure.failure,
          message: returned.failure.message,
        })
        const failure = signInMessage(returned.failure)
        return renderLogin({ request: returned.request, client, binding, failure }, context, ports)
      },
    },
  }
}
