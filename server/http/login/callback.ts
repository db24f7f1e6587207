import { deniedPurpose } from '../../core/sign-in/app-sign-in.ts'
import type { FirstStep } from '../../core/sign-in/second-factor-step.ts'
import type { ProviderFailure, SessionProvider } from '../../core/session/session-provider.ts'
import { finishSocialSignIn } from '../../core/sign-in/sign-in.ts'
import { endUnusedSession, keepOrSignOut } from '../../core/sign-in/sign-in-orphan.ts'
import type { SignInPurpose } from '../../core/sign-in/sign-in-transaction.ts'
import type { SignInVisitor } from '../../core/sign-in/sign-in-limit.ts'
import type { Endpoint } from '../endpoint.ts'
import type { PageErrorCode } from '../error-table.ts'
import { renderLogin } from './draw.ts'
import { LoginError, loginHandler } from './login-error.ts'
import { findSignIn, type LoginPorts, type LoginVisit, visitorOf } from './login-subject.ts'
import { continueLogin, refuseLogin } from './complete.ts'
import { provenAccountFailure } from './sign-in-failure.ts'

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

// The code is still unused: reloading the page completes the sign-in.
const temporaryReasons: Partial<Readonly<Record<ProviderFailure, PageErrorCode>>> = {
  rate_limited: 'social_rate_limited',
  transient: 'sign_in_unavailable',
}

/** A return without a pending sign-in may come from a mailed link, if mails are on: then the code in the mail still works. */
async function expiredError(provider: SessionProvider): Promise<PageErrorCode> {
  const capabilities = await provider.capabilities().catch(() => undefined)
  return capabilities?.email === undefined ? 'social_expired' : 'mail_link_expired'
}

async function finishSocial(visit: LoginVisit): Promise<Response> {
  const { request, context, ports } = visit
  const binding = ports.cookies.csrf.read(request)
  const visitor = binding === undefined ? undefined : visitorOf(binding, visit)
  const parameters = new URL(request.url).searchParams
  const denied = deniedPurpose(parameters, binding, ports)
  if (denied && visitor) {
    const found = await findSignIn(denied, visitor, visit)
    if (!found) throw new LoginError('client_unknown')
    return refuseLogin(found)
  }
  const returned = await finishSocialSignIn(parameters, visitor, ports)
  if (returned.kind === 'expired' || visitor === undefined)
    throw new LoginError(await expiredError(ports.provider))
  if (returned.kind === 'returned') return goOn(returned.step, returned.purpose, visitor, visit)
  const { failure, purpose } = returned
  context.report('sign_in_failed', { failure: failure.failure, message: failure.message })
  if (!purpose) {
    // It cannot be matched to a sign-in.
    const temporary = parameters.has('code') ? temporaryReasons[failure.failure] : undefined
    throw temporary
      ? new LoginError(temporary, { retryAfterSeconds: failure.retryAfterSeconds })
      : new LoginError('social_refused')
  }
  const found = await findSignIn(purpose, visitor, visit)
  if (!found) throw new LoginError('client_unknown')
  return renderLogin(found, { failure: provenAccountFailure(failure) })
}

/** Continues after a successful first step. If its client has since been removed, ends the session. */
async function goOn(
  step: FirstStep,
  purpose: SignInPurpose,
  visitor: SignInVisitor,
  visit: LoginVisit,
): Promise<Response> {
  const { ports } = visit
  const find = (): ReturnType<typeof findSignIn> => findSignIn(purpose, visitor, visit)
  // An incomplete session is already stored, and will be signed out from there.
  const session = step.kind === 'signed_in' ? step.signIn.session : undefined
  const found = await (session ? keepOrSignOut(session, ports.provider, find) : find())
  if (found) return continueLogin(step, found)
  if (session) await endUnusedSession(session, ports)
  throw new LoginError('client_unknown')
}
