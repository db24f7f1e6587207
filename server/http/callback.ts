import type { FirstStep } from '../core/sign-in/second-factor-step.ts'
import type { ProviderError, ProviderFailure } from '../core/session/session-provider.ts'
import { finishSocialSignIn } from '../core/sign-in/sign-in.ts'
import { endUnusedSession, keepOrSignOut } from '../core/sign-in/sign-in-orphan.ts'
import type { SignInPurpose } from '../core/sign-in/sign-in-transaction.ts'
import type { SignInVisitor } from '../core/sign-in/sign-in-limit.ts'
import type { Endpoint, EndpointHandler, RequestContext } from './endpoint.ts'
import { findSubject, type LoginPorts, visitorOf } from './login.ts'
import { renderLogin } from './login-render.ts'
import { continueLogin } from './login-second-factor.ts'
import { provenAccountFailure, retryHeaders, signInFailure } from './sign-in-message.ts'
import { type StrandedReason, strandedPage, strandedWhenClientUnavailable } from './stranded-page.ts'

/**
 * `GET /oauth/callback`: the return from social sign-in, which goes on to what the sign-in was for without another click, or
 * to the page that asks for a second factor. A refusal comes back to the login page, where another way can be chosen.
 */
export function createCallbackEndpoint(ports: LoginPorts): Endpoint {
  const handler: EndpointHandler = async (request, context) => {
    const binding = ports.cookies.binding.read(request)
    const visitor = binding === undefined ? undefined : visitorOf(request, binding, context, ports)
    const parameters = new URL(request.url).searchParams
    const returned = await finishSocialSignIn(parameters, visitor, ports.signIn)
    if (returned.kind === 'expired' || visitor === undefined) {
      return strandedPage('social_expired', context, ports)
    }
    if (returned.kind === 'returned') {
      return goOn(returned.step, returned.purpose, visitor, context, ports)
    }
    const { failure, purpose } = returned
    context.report('sign_in_failed', { failure: failure.failure, message: failure.message })
    if (!purpose) return refusalOfUnknown(failure, parameters.has('code'), context, ports)
    const subject = await findSubject(purpose, visitor, ports)
    if (!subject) return strandedPage('client_unknown', context, ports)
    return renderLogin(subject, { failure: provenAccountFailure(failure) }, context, ports)
  }
  return {
    path: `${ports.urls.basePath}/oauth/callback`,
    cors: 'none',
    methods: { GET: strandedWhenClientUnavailable(handler, ports) },
  }
}

/** Goes on from a first step that succeeded. When its client is gone by now, the session is nobody's. */
async function goOn(
  step: FirstStep,
  purpose: SignInPurpose,
  visitor: SignInVisitor,
  context: RequestContext,
  ports: LoginPorts,
): Promise<Response> {
  const find = (): ReturnType<typeof findSubject> => findSubject(purpose, visitor, ports)
  // A half-way session is in the store already, and is signed out from there.
  const session = step.kind === 'signed_in' ? step.signIn.session : undefined
  const subject = await (session ? keepOrSignOut(session, ports.signIn.provider, find) : find())
  if (subject) return continueLogin(step, subject, context, ports)
  if (session) await endUnusedSession(session, ports.signIn)
  return strandedPage('client_unknown', context, ports)
}

// With the code still unused, reloading the page completes the sign-in.
const reasonOfPassing: Partial<Readonly<Record<ProviderFailure, StrandedReason>>> = {
  rate_limited: 'social_rate_limited',
  transient: 'sign_in_unavailable',
}

/** The page for a refusal of which nobody knows what sign-in it belongs to. */
function refusalOfUnknown(
  refusal: ProviderError,
  hasCode: boolean,
  context: RequestContext,
  ports: LoginPorts,
): Response {
  const passing = hasCode ? reasonOfPassing[refusal.failure] : undefined
  if (!passing) return strandedPage('social_refused', context, ports)
  const answer = strandedPage(passing, context, ports)
  for (const [name, value] of Object.entries(retryHeaders(signInFailure(refusal)))) {
    answer.headers.set(name, value)
  }
  return answer
}
