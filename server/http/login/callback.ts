import type { FirstStep } from '../../core/sign-in/second-factor-step.ts'
import type { ProviderError, ProviderFailure } from '../../core/session/session-provider.ts'
import { finishSocialSignIn } from '../../core/sign-in/sign-in.ts'
import { endUnusedSession, keepOrSignOut } from '../../core/sign-in/sign-in-orphan.ts'
import type { SignInPurpose } from '../../core/sign-in/sign-in-transaction.ts'
import type { SignInVisitor } from '../../core/sign-in/sign-in-limit.ts'
import type { Endpoint, EndpointHandler, RequestContext } from '../endpoint.ts'
import { continueLogin } from './decide.ts'
import { renderLogin } from './draw.ts'
import { provenAccountFailure, retryHeaders, signInFailure } from './sign-in-message.ts'
import { type SignInErrorReason, signInErrorPage, withClientErrorPages } from './error-page.ts'
import { findSubject, type LoginPorts, visitorOf } from './login-subject.ts'

/**
 * `GET /oauth/callback`: the return from social sign-in. It completes the sign-in without another click, or asks for a second
 * factor. After a refusal the login page is shown again, where another way can be chosen.
 */
export function createCallbackEndpoint(ports: LoginPorts): Endpoint {
  const handler: EndpointHandler = async (request, context) => {
    const binding = ports.cookies.csrf.read(request)
    const visitor = binding === undefined ? undefined : visitorOf(request, binding, context, ports)
    const parameters = new URL(request.url).searchParams
    const returned = await finishSocialSignIn(parameters, visitor, ports.signIn)
    if (returned.kind === 'expired' || visitor === undefined) {
      return signInErrorPage('social_expired', context, ports)
    }
    if (returned.kind === 'returned') {
      return goOn(returned.step, returned.purpose, visitor, context, ports)
    }
    const { failure, purpose } = returned
    context.report('sign_in_failed', { failure: failure.failure, message: failure.message })
    if (!purpose) return unmatchedRefusal(failure, parameters.has('code'), context, ports)
    const subject = await findSubject(purpose, visitor, ports)
    if (!subject) return signInErrorPage('client_unknown', context, ports)
    return renderLogin(subject, { failure: provenAccountFailure(failure) }, context, ports)
  }
  return {
    path: `${ports.urls.basePath}/oauth/callback`,
    cors: 'none',
    methods: { GET: withClientErrorPages(handler, ports) },
  }
}

/** Goes on from a first step that succeeded. When its client is gone by now, the session is ended. */
async function goOn(
  step: FirstStep,
  purpose: SignInPurpose,
  visitor: SignInVisitor,
  context: RequestContext,
  ports: LoginPorts,
): Promise<Response> {
  const find = (): ReturnType<typeof findSubject> => findSubject(purpose, visitor, ports)
  // A half-way session is in the store already, and will be signed out from there.
  const session = step.kind === 'signed_in' ? step.signIn.session : undefined
  const subject = await (session ? keepOrSignOut(session, ports.signIn.provider, find) : find())
  if (subject) return continueLogin(step, subject, context, ports)
  if (session) await endUnusedSession(session, ports.signIn)
  return signInErrorPage('client_unknown', context, ports)
}

// The code is still unused: reloading the page completes the sign-in.
const temporaryReasons: Partial<Readonly<Record<ProviderFailure, SignInErrorReason>>> = {
  rate_limited: 'social_rate_limited',
  transient: 'sign_in_unavailable',
}

/** The page for a refusal that cannot be matched to a sign-in. */
function unmatchedRefusal(
  refusal: ProviderError,
  hasCode: boolean,
  context: RequestContext,
  ports: LoginPorts,
): Response {
  const temporary = hasCode ? temporaryReasons[refusal.failure] : undefined
  if (!temporary) return signInErrorPage('social_refused', context, ports)
  const answer = signInErrorPage(temporary, context, ports)
  for (const [name, value] of Object.entries(retryHeaders(signInFailure(refusal)))) {
    answer.headers.set(name, value)
  }
  return answer
}
