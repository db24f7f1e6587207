import type { ProviderError, ProviderFailure } from '../core/session-provider.ts'
import { finishSocialSignIn } from '../core/sign-in.ts'
import type { Endpoint, RequestContext } from './endpoint.ts'
import { type LoginPorts, renderLogin } from './login.ts'
import { continueLogin } from './login-second-factor.ts'
import { provenAccountFailure, retryHeaders, signInFailure } from './sign-in-message.ts'
import { type StrandedReason, strandedPage } from './stranded-page.ts'

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
        const refusal = returned.kind === 'refused' ? returned.failure : undefined
        if (refusal) {
          context.report('sign_in_failed', { failure: refusal.failure, message: refusal.message })
        }
        const { request: asked } = returned
        if (!asked) return refusalOfUnknown(refusal, parameters.has('code'), context, ports)
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

// With the code still unused, reloading the page completes the sign-in.
const reasonOfPassing: Partial<Readonly<Record<ProviderFailure, StrandedReason>>> = {
  rate_limited: 'social_rate_limited',
  transient: 'sign_in_unavailable',
}

/** The page for a refusal of which nobody knows what request it belongs to. */
function refusalOfUnknown(
  refusal: ProviderError | undefined,
  hasCode: boolean,
  context: RequestContext,
  { appUrl }: LoginPorts,
): Response {
  const passing = refusal && hasCode ? reasonOfPassing[refusal.failure] : undefined
  if (!refusal || !passing) return strandedPage('social_refused', context, appUrl)
  const answer = strandedPage(passing, context, appUrl)
  for (const [name, value] of Object.entries(retryHeaders(signInFailure(refusal)))) {
    answer.headers.set(name, value)
  }
  return answer
}
