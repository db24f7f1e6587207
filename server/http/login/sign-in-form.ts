import type { Runtime } from '@drawbridge/shared/runtime.ts'
import { OAuthError } from '@drawbridge/shared/oauth/oauth-error.ts'
import {
  cancelSecondFactor,
  type FirstStep,
  type SecondFactorOver,
  trySecondFactor,
} from '../../core/sign-in/second-factor-step.ts'
import { ProviderError, type ProviderFailure } from '../../core/session/session-provider.ts'
import { signInWithPassword, startSocialSignIn, startSsoSignIn } from '../../core/sign-in/sign-in.ts'
import { type EmailRequested, requestEmail, tryEmailCode } from '../../core/sign-in/email-sign-in.ts'
import {
  type EmailPrompt,
  openTransaction,
  type SignInTransaction,
} from '../../core/sign-in/sign-in-transaction.ts'
import type { PageErrorCode } from '../error-table.ts'
import { readForm } from '../middleware/body.ts'
import { isOwnFormPost } from '../middleware/guards.ts'
import { captchaFields } from '../pages/captcha.ts'
import { redirect } from '../response.ts'
import { completeLogin, refuseLogin } from './complete.ts'
import { renderEmailCode, renderLogin, renderSecondFactor } from './draw.ts'
import { LoginError, type Visit } from './login-error.ts'
import {
  findSubject,
  type LoginPorts,
  type LoginSubject,
  noteAttempt,
  purposeOf,
  visitorOf,
} from './login-subject.ts'
import { provenAccountFailure, type SignInFailure, signInFailure } from './sign-in-failure.ts'

const maxShownEmailLength = 320

/** Longer than any kind of refusal takes here, and acceptable to users after a wrong password. */
const minRefusalMs = 500

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

async function takeSocial(
  method: string,
  subject: LoginSubject,
  visit: Visit,
  ports: LoginPorts,
): Promise<Response> {
  try {
    return redirect(
      await startSocialSignIn(purposeOf(subject, visit.language), method, subject.visitor, ports.signIn),
    )
  } catch (error) {
    return renderLogin(subject, { failure: reportedFailure(error, visit) }, visit, ports)
  }
}

async function takeSso(
  fields: URLSearchParams,
  subject: LoginSubject,
  visit: Visit,
  ports: LoginPorts,
): Promise<Response> {
  const email = fields.get('email') ?? ''
  try {
    const posted = { email, captchaToken: captchaTokenIn(fields) }
    return redirect(
      await startSsoSignIn(purposeOf(subject, visit.language), posted, subject.visitor, ports.signIn),
    )
  } catch (error) {
    const state = { email: email.slice(0, maxShownEmailLength), failure: reportedFailure(error, visit) }
    return renderLogin(subject, state, visit, ports)
  }
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

function captchaTokenIn(fields: URLSearchParams): string | undefined {
  return captchaFields.map((name) => fields.get(name)).find((token) => token) ?? undefined
}

/**
 * Sends a mail, or another one on the page that waits for the code: then to the address of the first. The page comes after the same
 * time for every address, whether or not the mail has been sent by then.
 */
async function takeEmail(
  fields: URLSearchParams,
  known: EmailPrompt | undefined,
  subject: LoginSubject,
  visit: Visit,
  ports: LoginPorts,
): Promise<Response> {
  const email = known?.email ?? fields.get('email') ?? ''
  const answerDue = startRefusalDelay(ports.signIn.runtime)
  const { context } = visit
  const asked = await askForEmail().catch((error: unknown) => reportedFailure(error, visit))
  await answerDue()
  if (!('reason' in asked)) return renderEmailCode(subject, asked, undefined, visit, ports)
  if (known && asked.reason === 'rate_limited')
    return renderEmailCode(subject, known, { failure: asked }, visit, ports)
  return renderLogin(subject, { email: email.slice(0, maxShownEmailLength), failure: asked }, visit, ports)

  async function askForEmail(): Promise<EmailPrompt | SignInFailure> {
    const posted = { email, captchaToken: captchaTokenIn(fields) }
    const { prompt, sent } = await requestEmail(
      posted,
      purposeOf(subject, visit.language),
      subject.visitor,
      ports.signIn,
    )
    const failed = await failureBefore(answerDue(), sent, visit)
    if (failed) return signInFailure(failed)
    context.report('email_requested', 'client' in subject ? { client_id: subject.client.id } : {})
    return prompt
  }
}

/** Returns a failure that may be shown and that is known before `due`. Reports every failure, later ones too. */
async function failureBefore(
  due: Promise<void>,
  sent: EmailRequested['sent'],
  { context }: Visit,
): Promise<ProviderError | undefined> {
  let isOver = false
  const reported = sent.then((failed) => {
    if (!failed || failed.error.failure === 'invalid_credentials') return undefined
    const { failure, message } = failed.error
    context.report('sign_in_failed', { failure, message })
    return failed.isForAll ? failed.error : undefined
  })
  reported.catch((error: unknown) => {
    if (isOver) context.report('email_link_lost', { error })
  })
  try {
    return (await Promise.race([reported, due])) ?? undefined
  } finally {
    isOver = true
  }
}

async function takeEmailCode(
  code: string,
  prompt: EmailPrompt,
  subject: LoginSubject,
  visit: Visit,
  ports: LoginPorts,
): Promise<Response> {
  const { context } = visit
  const over = (failure: SignInFailure): Promise<Response> =>
    renderLogin(subject, { email: prompt.email, failure }, visit, ports)
  try {
    const result = await tryEmailCode(code, prompt, subject.visitor, ports.signIn)
    if (result.kind === 'step') return await continueLogin(result.step, subject, visit, ports)
    if (result.kind === 'over') {
      context.report('sign_in_failed', {
        failure: 'wrong_code',
        message: 'The code of a mail can no longer be used.',
      })
      return await over({ reason: 'email_code_over' })
    }
    const failure = reportedFailure(result.failure, visit)
    const shown = failure.reason === 'wrong_code' ? { reason: 'wrong_email_code' as const } : failure
    return await renderEmailCode(
      subject,
      prompt,
      { failure: shown, codesLeft: result.codesLeft },
      visit,
      ports,
    )
  } catch (error) {
    return over(reportedFailure(error, visit))
  }
}

/** Reports a refusal of the provider; rethrows everything else. */
function reportedFailure(error: unknown, { context }: Visit): SignInFailure {
  if (!(error instanceof ProviderError)) throw error
  context.report('sign_in_failed', { failure: error.failure, message: error.message })
  return signInFailure(error)
}

/**
 * Starts the minimum duration of refusing a password; await the result for the rest of it. Wrong passwords, unknown accounts and
 * accounts over their limit cost this server and the provider different work, and the response time must not tell which it was
 * (OWASP Authentication Cheat Sheet, authentication responses). Does not hide a provider that takes longer.
 */
export function startRefusalDelay(
  runtime: Pick<Runtime, 'sleep'>,
  milliseconds: () => number = () => performance.now(),
): () => Promise<void> {
  const startedAt = milliseconds()
  return async () => {
    const left = Math.ceil(minRefusalMs - (milliseconds() - startedAt))
    if (left > 0) await runtime.sleep(left)
  }
}

/** Continues after a successful first step: completes the sign-in, or asks for a code. */
export async function continueLogin(
  step: FirstStep,
  subject: LoginSubject,
  visit: Visit,
  ports: LoginPorts,
): Promise<Response> {
  if (step.kind === 'signed_in') return completeLogin(subject, step, visit, ports)
  visit.context.report('second_factor_asked', 'client' in subject ? { client_id: subject.client.id } : {})
  return renderSecondFactor(subject, step.prompt, undefined, visit, ports)
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
