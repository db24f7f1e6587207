import { OAuthError } from '@drawbridge/shared/oauth/oauth-error.ts'
import {
  cancelSecondFactor,
  type SecondFactorOver,
  trySecondFactor,
} from '../../core/sign-in/second-factor-step.ts'
import { findAwaiting } from '../../core/sign-in/workspace-step.ts'
import { takeScopes, wantedGrant } from './scope-form.ts'
import { chooseWorkspace } from './workspace-choice.ts'
import type { ProviderFailure } from '../../core/session/session-provider.ts'
import { signInWithPassword, startSocialSignIn, startSsoSignIn } from '../../core/sign-in/sign-in.ts'
import {
  isFirstPage,
  type SignInPurpose,
  type SignInTransaction,
  transactionSeal,
} from '../../core/sign-in/sign-in-transaction.ts'
import type { Endpoint } from '../endpoint.ts'
import type { PageErrorCode } from '../error-table.ts'
import { captchaTokenIn } from '../pages/captcha.ts'
import { readForm } from '../middleware/body.ts'
import { isOwnFormPost } from '../middleware/guards.ts'
import { redirect } from '../response.ts'
import { completeLogin, continueLogin, refuseLogin } from './complete.ts'
import { takeEmail, takeEmailCode } from './email-form.ts'
import { renderLogin, renderSecondFactor } from './draw.ts'
import { LoginError, loginHandler } from './login-error.ts'
import {
  recordAttempt,
  findSignIn,
  loginPaths,
  type LoginPorts,
  type LoginSubject,
  purposeOf,
  type SignInVisit,
  type LoginVisit,
  visitorOf,
} from './login-subject.ts'
import {
  provenAccountFailure,
  reportedFailure,
  type SignInFailure,
  startRefusalDelay,
} from './sign-in-failure.ts'

/** The error page for a form whose seal does not open. */
export const sealErrors: Readonly<Record<'invalid' | 'expired' | 'foreign_browser', PageErrorCode>> = {
  invalid: 'transaction_invalid',
  expired: 'transaction_expired',
  foreign_browser: 'foreign_browser',
}

/**
 * Creates the endpoint of a page of the login flow: GET shows it, POST handles the forms of its sign-ins, and by `take` its other
 * ones.
 */
export function createLoginEndpoint(
  kind: LoginSubject['kind'],
  ports: LoginPorts,
  show: (visit: LoginVisit) => Promise<Response> | Response,
  take?: (fields: URLSearchParams, visit: LoginVisit) => Promise<Response>,
): Endpoint {
  return {
    path: `${ports.urls.basePath}${loginPaths[kind]}`,
    cors: 'none',
    methods: {
      GET: loginHandler(ports, show),
      POST: loginHandler(ports, async (visit) => {
        const fields = await readOwnForm(visit)
        return take && !fields.has('transaction') ? take(fields, visit) : takeLoginForm(fields, visit)
      }),
    },
  }
}

/** Reads a form that one of our own pages posted. Checks neither which page nor in which browser. */
async function readOwnForm({ request, ports }: LoginVisit): Promise<URLSearchParams> {
  if (!isOwnFormPost(request, ports.urls.issuer)) throw new LoginError('foreign_form')
  try {
    return await readForm(request, 'scope')
  } catch (error) {
    throw error instanceof OAuthError ? new LoginError('form_unreadable') : error
  }
}

/**
 * Handles a form of the login flow, in these steps. A step that refuses throws a {@link LoginError}. The purpose comes from the
 * sealed transaction in the form, regardless of the endpoint it was posted to.
 */
async function takeLoginForm(fields: URLSearchParams, arrived: LoginVisit): Promise<Response> {
  const { visit, stored, emailPrompt, notAllowed } = await openForm(fields, arrived)
  const action = fields.get('action')
  if (action === 'deny') {
    if (stored) await cancelSecondFactor(stored.id, visit.ports)
    return refuseLogin(visit, notAllowed)
  }
  if (stored) return takeStored(stored, fields, visit)
  if (action === 'back') return renderLogin(visit, { email: emailPrompt?.email })
  if (action === 'sso') return takeSso(fields, visit)
  if (action === 'email') return takeEmail(fields, emailPrompt, visit)
  if (emailPrompt) return takeEmailCode(fields.get('code') ?? '', emailPrompt, visit)
  const method = fields.get('provider')
  return method === null ? takePassword(fields, visit) : takeSocial(method, visit)
}

/** Checks the seal, that this browser got the page, and that the client is still registered. */
async function openForm(
  fields: URLSearchParams,
  arrived: LoginVisit,
): Promise<Omit<SignInTransaction, 'purpose'> & { visit: SignInVisit }> {
  const { request, ports } = arrived
  const given = ports.cookies.csrf.read(request)
  const opened = transactionSeal.open(fields.get('transaction'), given, ports)
  if (opened.kind === 'foreign_browser') recordAttempt(opened.value.purpose, arrived.context)
  if (opened.kind !== 'open') throw new LoginError(sealErrors[opened.kind])
  const { purpose, ...waiting } = opened.value
  const visit = await findSignIn(purpose, visitorOf(opened.binding, arrived), arrived)
  if (!visit) throw new LoginError('client_unknown')
  return { visit: takeScopes(fields.getAll('scope'), isFirstPage(waiting), visit), ...waiting }
}

/** Sends the browser to where the person signs in, or says on the login page why not. */
async function leave(
  start: (purpose: SignInPurpose) => Promise<string>,
  email: string | undefined,
  visit: SignInVisit,
): Promise<Response> {
  try {
    return redirect(await start(purposeOf(visit)))
  } catch (error) {
    return renderLogin(visit, { email, failure: reportedFailure(error, visit.context) })
  }
}

function takeSocial(method: string, visit: SignInVisit): Promise<Response> {
  const { subject, ports } = visit
  return leave((purpose) => startSocialSignIn(purpose, method, subject.visitor, ports), undefined, visit)
}

function takeSso(fields: URLSearchParams, visit: SignInVisit): Promise<Response> {
  const { subject, ports } = visit
  const email = fields.get('email') ?? ''
  const posted = { email, captchaToken: captchaTokenIn(fields) }
  return leave((purpose) => startSsoSignIn(purpose, posted, subject.visitor, ports), email, visit)
}

async function takePassword(fields: URLSearchParams, visit: SignInVisit): Promise<Response> {
  const { subject, ports } = visit
  const email = fields.get('email') ?? ''
  const refusalDue = startRefusalDelay(ports.runtime)
  try {
    const posted = { email, password: fields.get('password') ?? '', captchaToken: captchaTokenIn(fields) }
    const step = await signInWithPassword(posted, subject.visitor, ports)
    return await continueLogin(step, visit)
  } catch (error) {
    const failure = reportedFailure(error, visit.context)
    await refusalDue()
    return renderLogin(visit, { email, failure })
  }
}

function takeStored(
  { waitsFor, id }: NonNullable<SignInTransaction['stored']>,
  fields: URLSearchParams,
  visit: SignInVisit,
): Promise<Response> {
  return waitsFor === 'workspace' ? takeWorkspace(id, fields, visit) : takeSecondFactor(id, fields, visit)
}

/** Handles the form of the second-factor page; `id` is the waiting sign-in, taken from the seal. */
async function takeSecondFactor(id: string, fields: URLSearchParams, visit: SignInVisit): Promise<Response> {
  const { subject, context, ports } = visit
  const attempt = { id, factorId: fields.get('factor') ?? undefined, code: fields.get('code') ?? '' }
  const result = await trySecondFactor(attempt, subject.visitor, ports)
  switch (result.kind) {
    case 'signed_in':
      return completeLogin(visit, result)
    case 'again': {
      const { failure, message } = result.failure
      context.report('second_factor_failed', { failure, message })
      return renderSecondFactor(visit, result.prompt, result)
    }
    case 'over': {
      const failure = overFailure(result)
      const message = result.reason === 'refused' ? result.failure.message : undefined
      context.report('second_factor_over', { reason: failure.reason, message })
      return renderLogin(visit, { failure })
    }
  }
}

/** Handles the form of the workspace page; `id` is the waiting sign-in, taken from the seal. */
async function takeWorkspace(id: string, fields: URLSearchParams, visit: SignInVisit): Promise<Response> {
  const { subject, ports } = visit
  const { store, runtime } = ports
  const completed = await findAwaiting(id, subject.visitor, ports)
  const wanted = wantedGrant(subject)
  if (completed && wanted) {
    const posted = fields.get('workspace') ?? wanted.workspaceId
    const choice = await chooseWorkspace(completed, wanted, visit, { id, posted })
    if (choice instanceof Response) return choice
    // Only one of several posts completes the sign-in.
    if (await store.removeSecondFactor(id, false, runtime.now()))
      return completeLogin(visit, { ...completed, choice })
  }
  return renderLogin(visit, { failure: { reason: 'workspace_gone' } })
}

// The incomplete session has ended at the provider, or its token has expired: the account is fine.
const sessionOver: ReadonlySet<ProviderFailure> = new Set(['terminal', 'expired', 'invalid_token'])

function overFailure(result: SecondFactorOver): SignInFailure {
  switch (result.reason) {
    case 'gone':
      return { reason: 'second_factor_gone' }
    case 'wrong_codes':
      return { reason: 'second_factor_wrong_codes' }
    case 'refused':
      return sessionOver.has(result.failure.failure)
        ? { reason: 'second_factor_gone' }
        : provenAccountFailure(result.failure)
  }
}
