import { OAuthError } from '@drawbridge/shared/oauth/oauth-error.ts'
import {
  cancelSecondFactor,
  type SecondFactorOver,
  trySecondFactor,
} from '../../core/sign-in/second-factor-step.ts'
import type { ProviderFailure } from '../../core/session/session-provider.ts'
import { signInWithPassword, startSocialSignIn, startSsoSignIn } from '../../core/sign-in/sign-in.ts'
import {
  openTransaction,
  type SignInPurpose,
  type SignInTransaction,
} from '../../core/sign-in/sign-in-transaction.ts'
import type { PageErrorCode } from '../error-table.ts'
import { readForm } from '../middleware/body.ts'
import { isOwnFormPost } from '../middleware/guards.ts'
import { redirect } from '../response.ts'
import { completeLogin, refuseLogin } from './complete.ts'
import { takeEmail, takeEmailCode } from './email-form.ts'
import {
  captchaTokenIn,
  continueLogin,
  maxShownEmailLength,
  reportedFailure,
  startRefusalDelay,
} from './sign-in-answer.ts'
import { renderLogin, renderSecondFactor } from './draw.ts'
import { LoginError, type Visit } from './login-error.ts'
import {
  findSubject,
  type LoginPorts,
  type LoginSubject,
  noteAttempt,
  purposeOf,
  visitorOf,
} from './login-subject.ts'
import { provenAccountFailure, type SignInFailure } from './sign-in-failure.ts'

/** The error page for a form whose seal does not open. */
export const sealErrors: Readonly<Record<'invalid' | 'expired' | 'foreign_browser', PageErrorCode>> = {
  invalid: 'transaction_invalid',
  expired: 'transaction_expired',
  foreign_browser: 'foreign_browser',
}

/** Reads a form that one of our own pages posted. Checks neither which page nor in which browser. */
export async function readOwnForm(
  request: Request,
  { urls }: Pick<LoginPorts, 'urls'>,
): Promise<URLSearchParams> {
  if (!isOwnFormPost(request, urls.issuer)) throw new LoginError('foreign_form')
  try {
    return await readForm(request)
  } catch (error) {
    throw error instanceof OAuthError ? new LoginError('form_unreadable') : error
  }
}

/**
 * Handles a form of the login flow, in these steps. A step that refuses throws a {@link LoginError}. The purpose comes from the
 * sealed transaction in the form, regardless of the endpoint it was posted to.
 */
export async function takeLoginForm(
  fields: URLSearchParams,
  visit: Visit,
  ports: LoginPorts,
): Promise<Response> {
  const { subject, secondFactorId, emailPrompt } = await openForm(fields, visit, ports)
  const action = fields.get('action')
  if (action === 'deny') {
    if (secondFactorId !== undefined) await cancelSecondFactor(secondFactorId, ports.signIn)
    return refuseLogin(subject, visit, ports)
  }
  if (secondFactorId !== undefined) return takeSecondFactor(secondFactorId, fields, subject, visit, ports)
  if (action === 'back') return renderLogin(subject, { email: emailPrompt?.email }, visit, ports)
  if (action === 'sso') return takeSso(fields, subject, visit, ports)
  if (action === 'email') return takeEmail(fields, emailPrompt, subject, visit, ports)
  if (emailPrompt) return takeEmailCode(fields.get('code') ?? '', emailPrompt, subject, visit, ports)
  const method = fields.get('provider')
  return method === null
    ? takePassword(fields, subject, visit, ports)
    : takeSocial(method, subject, visit, ports)
}

/** Checks the seal, that this browser got the page, and that the client is still registered. */
async function openForm(
  fields: URLSearchParams,
  visit: Visit,
  ports: LoginPorts,
): Promise<Omit<SignInTransaction, 'purpose'> & { subject: LoginSubject }> {
  const given = ports.cookies.csrf.read(visit.request)
  const opened = openTransaction(fields.get('transaction') ?? '', given, ports.signIn)
  if (opened.kind !== 'open') throw new LoginError(sealErrors[opened.kind])
  const { purpose, ...waiting } = opened.value
  visit.language = ports.languages.find(purpose.language) ?? visit.language
  const subject = await findSubject(purpose, visitorOf(opened.binding, visit, ports), ports)
  if (!subject) throw new LoginError('client_unknown')
  noteAttempt(subject, visit.context)
  return { subject, ...waiting }
}

/** Sends the browser to where the person signs in, or says on the login page why not. */
async function leave(
  start: (purpose: SignInPurpose) => Promise<string>,
  email: string | undefined,
  subject: LoginSubject,
  visit: Visit,
  ports: LoginPorts,
): Promise<Response> {
  try {
    return redirect(await start(purposeOf(subject, visit.language)))
  } catch (error) {
    const state = { email: email?.slice(0, maxShownEmailLength), failure: reportedFailure(error, visit) }
    return renderLogin(subject, state, visit, ports)
  }
}

function takeSocial(
  method: string,
  subject: LoginSubject,
  visit: Visit,
  ports: LoginPorts,
): Promise<Response> {
  const start = (purpose: SignInPurpose): Promise<string> =>
    startSocialSignIn(purpose, method, subject.visitor, ports.signIn)
  return leave(start, undefined, subject, visit, ports)
}

function takeSso(
  fields: URLSearchParams,
  subject: LoginSubject,
  visit: Visit,
  ports: LoginPorts,
): Promise<Response> {
  const email = fields.get('email') ?? ''
  const posted = { email, captchaToken: captchaTokenIn(fields) }
  const start = (purpose: SignInPurpose): Promise<string> =>
    startSsoSignIn(purpose, posted, subject.visitor, ports.signIn)
  return leave(start, email, subject, visit, ports)
}

async function takePassword(
  fields: URLSearchParams,
  subject: LoginSubject,
  visit: Visit,
  ports: LoginPorts,
): Promise<Response> {
  const email = fields.get('email') ?? ''
  const refusalDue = startRefusalDelay(ports.signIn.runtime)
  try {
    const posted = { email, password: fields.get('password') ?? '', captchaToken: captchaTokenIn(fields) }
    const step = await signInWithPassword(posted, subject.visitor, ports.signIn)
    return await continueLogin(step, subject, visit, ports)
  } catch (error) {
    const failure = reportedFailure(error, visit)
    await refusalDue()
    const state = { email: email.slice(0, maxShownEmailLength), failure }
    return renderLogin(subject, state, visit, ports)
  }
}

/** Handles the form of the second-factor page; `id` is the waiting sign-in, taken from the seal. */
async function takeSecondFactor(
  id: string,
  fields: URLSearchParams,
  subject: LoginSubject,
  visit: Visit,
  ports: LoginPorts,
): Promise<Response> {
  const attempt = { id, factorId: fields.get('factor') ?? undefined, code: fields.get('code') ?? '' }
  const result = await trySecondFactor(attempt, subject.visitor, ports.signIn)
  switch (result.kind) {
    case 'signed_in':
      return completeLogin(subject, result, visit, ports)
    case 'again': {
      const { failure, message } = result.failure
      visit.context.report('second_factor_failed', { failure, message })
      return renderSecondFactor(subject, result.prompt, result, visit, ports)
    }
    case 'over': {
      const failure = overFailure(result)
      const message = result.reason === 'refused' ? result.failure.message : undefined
      visit.context.report('second_factor_over', { reason: failure.reason, message })
      return renderLogin(subject, { failure }, visit, ports)
    }
  }
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
