import type { FirstStep } from '../../core/sign-in/second-factor-step.ts'
import type { ProviderError, ProviderFailure } from '../../core/session/session-provider.ts'
import { finishSocialSignIn } from '../../core/sign-in/sign-in.ts'
import { endUnusedSession, keepOrSignOut } from '../../core/sign-in/sign-in-orphan.ts'
import type { SignInPurpose } from '../../core/sign-in/sign-in-transaction.ts'
import type { SignInVisitor } from '../../core/sign-in/sign-in-limit.ts'
import type { Endpoint } from '../endpoint.ts'
import { continueLogin } from './decide.ts'
import { renderLogin } from './draw.ts'
import { signInErrorPage, loginHandler } from './error-page.ts'
import { provenAccountFailure, retryHeaders, signInFailure, type SignInErrorReason } from './error-table.ts'
import { findSubject, type Login, type LoginPorts, visitorOf } from './login-subject.ts'

/**
 * `GET /oauth/callback`: the return from social sign-in. It completes the sign-in without another click, or asks for a second
 * factor. After a refusal the login page is shown again, where another way can be chosen.
 */
export function createCallbackEndpoint(ports: LoginPorts): Endpoint {
  return {
    path: `${ports.urls.basePath}/oauth/callback`,
    cors: 'none',
    methods: { GET: loginHandler(ports, finishSocial) },
  }
}

async function finishSocial(login: Login): Promise<Response> {
  const binding = login.cookies.csrf.read(login.request)
  const visitor = binding === undefined ? undefined : visitorOf(binding, login)
  const parameters = new URL(login.request.url).searchParams
  const returned = await finishSocialSignIn(parameters, visitor, login.signIn)
  if (returned.kind === 'expired' || visitor === undefined) return signInErrorPage('social_expired', login)
  if (returned.kind === 'returned') return goOn(returned.step, returned.purpose, visitor, login)
  const { failure, purpose } = returned
  login.context.report('sign_in_failed', { failure: failure.failure, message: failure.message })
  if (!purpose) return unmatchedRefusal(failure, parameters.has('code'), login)
  const subject = await findSubject(purpose, visitor, login)
  if (!subject) return signInErrorPage('client_unknown', login)
  return renderLogin(subject, { failure: provenAccountFailure(failure) }, login)
}

/** Continues after a successful first step. If its client has since been removed, ends the session. */
async function goOn(
  step: FirstStep,
  purpose: SignInPurpose,
  visitor: SignInVisitor,
  login: Login,
): Promise<Response> {
  const find = (): ReturnType<typeof findSubject> => findSubject(purpose, visitor, login)
  // An incomplete session is already stored, and will be signed out from there.
  const session = step.kind === 'signed_in' ? step.signIn.session : undefined
  const subject = await (session ? keepOrSignOut(session, login.signIn.provider, find) : find())
  if (subject) return continueLogin(step, subject, login)
  if (session) await endUnusedSession(session, login.signIn)
  return signInErrorPage('client_unknown', login)
}

// The code is still unused: reloading the page completes the sign-in.
const temporaryReasons: Partial<Readonly<Record<ProviderFailure, SignInErrorReason>>> = {
  rate_limited: 'social_rate_limited',
  transient: 'sign_in_unavailable',
}

/** Shows a page for a refusal that cannot be matched to a sign-in. */
function unmatchedRefusal(refusal: ProviderError, hasCode: boolean, login: Login): Response {
  const temporary = hasCode ? temporaryReasons[refusal.failure] : undefined
  if (!temporary) return signInErrorPage('social_refused', login)
  const answer = signInErrorPage(temporary, login)
  for (const [name, value] of Object.entries(retryHeaders(signInFailure(refusal)))) {
    answer.headers.set(name, value)
  }
  return answer
}
