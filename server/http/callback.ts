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
        if (returned.kind === 'refused') {
          const { failure, message } = returned.failure
          context.report('sign_in_failed', { failure, message })
        }
        const { request: asked } = returned
        if (!asked) return strandedPage('social_refused', context, ports.appUrl)
        const client = await ports.clients.findClient(asked.clientId)
        if (!client) return strandedPage('client_unknown', context, ports.appUrl)
        if (returned.kind === 'signed_in')
          return completeLogin(asked, client, returned.signIn, context, ports)
        const failure = signInMessage(returned.failure)
        return renderLogin({ request: asked, client, binding, failure }, context, ports)
      },
    },
  }
}
