import { finishSocialSignIn } from '../core/sign-in.ts'
import type { Endpoint } from './endpoint.ts'
import { type LoginPorts, renderLogin } from './login.ts'
import { continueLogin } from './login-second-factor.ts'
import { provenAccountFailure } from './sign-in-message.ts'
import { strandedPage } from './stranded-page.ts'

/**
 * `GET /oauth/callback`: the return from social sign-in, which goes on to the client without another click, or to the
 * page that asks for a second factor. A refusal comes back to the login page, where another way can be chosen.
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
        const subject = { request: asked, client, binding }
        if (returned.kind === 'returned') return continueLogin(returned.step, subject, context, ports)
        const failure = provenAccountFailure(returned.failure)
        return renderLogin({ ...subject, failure }, context, ports)
      },
    },
  }
}
