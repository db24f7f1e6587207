import type { Runtime } from '@drawbridge/shared/runtime.ts'
import { OAuthError } from '@drawbridge/shared/oauth/oauth-error.ts'
import {
  cancelSecondFactor,
  type FirstStep,
  type SecondFactorOver,
  trySecondFactor,
} from '../../core/sign-in/second-factor-step.ts'
import { ProviderError, type ProviderFailure } from '../../core/session/session-provider.ts'
import { signInWithPassword, startSocialSignIn } from '../../core/sign-in/sign-in.ts'
import { openTransaction } from '../../core/sign-in/sign-in-transaction.ts'
import { readForm } from '../middleware/body.ts'
import { isOwnFormPost } from '../middleware/guards.ts'
import { captchaFields } from '../pages/captcha.ts'
import { redirect } from '../response.ts'
import { completeLogin, refuseLogin } from './complete.ts'
import { renderLogin, renderSecondFactor } from './draw.ts'
import { signInErrorPage } from './error-page.ts'
import {
  provenAccountFailure,
  type SignInFailure,
  signInFailure,
  type SignInErrorReason,
} from './error-table.ts'
import { findSubject, type Login, type LoginSubject, purposeOf, visitorOf } from './login-subject.ts'

const maxShownEmailLength = 320

/** Longer than any kind of refusal takes here, and acceptable to users after a wrong password. */
const minRefusalMs = 500

/** The error page for a form whose seal does not open. */
export const sealErrors: Readonly<Record<'invalid' | 'expired' | 'foreign_browser', SignInErrorReason>> = {
  invalid: 'transaction_invalid',
  expired: 'transaction_expired',
  foreign_browser: 'foreign_browser',
}

/**
 * Handles a form that one of our own pages posted: of the login flow, or one that `takeOther` handles. Checks neither which page
 * posted it nor in which browser.
 */
export async function takeOwnForm<Request extends Login>(
  login: Request,
  takeOther?: (fields: URLSearchParams, login: Request) => Promise<Response>,
): Promise<Response> {
  const fields = await readOwnForm(login)
  if (typeof fields === 'string') return signInErrorPage(fields, login)
  return takeOther && !fields.has('transaction') ? takeOther(fields, login) : takeLoginForm(fields, login)
}

/** Returns the fields of the form, or the reason for refusing it. */
async function readOwnForm({ request, urls }: Login): Promise<URLSearchParams | SignInErrorReason> {
  if (!isOwnFormPost(request, urls.issuer)) return 'foreign_form'
  try {
    return await readForm(request)
  } catch (error) {
    if (error instanceof OAuthError) return 'form_unreadable'
    throw error
  }
}

/**
 * Handles a form of the login flow: a first step, a code of the second factor, or a refusal. Its purpose comes from the sealed
 * transaction in it, regardless of the endpoint it was posted to.
 */
async function takeLoginForm(fields: URLSearchParams, login: Login): Promise<Response> {
  const opened = await openForm(fields, login)
  if (typeof opened === 'string') return signInErrorPage(opened, login)
  const { subject, secondFactorId } = opened
  if (fields.get('action') === 'deny') {
    if (secondFactorId !== undefined) await cancelSecondFactor(secondFactorId, login.signIn)
    return refuseLogin(subject, login)
  }
  return secondFactorId === undefined
    ? takeFirstStep(fields, subject, login)
    : takeSecondFactor(secondFactorId, fields, subject, login)
}

/** Opens the form's transaction, or returns the reason for refusing it. */
async function openForm(
  fields: URLSearchParams,
  login: Login,
): Promise<{ subject: LoginSubject; secondFactorId: string | undefined } | SignInErrorReason> {
  const given = login.cookies.csrf.read(login.request)
  const opened = openTransaction(fields.get('transaction') ?? '', given, login.signIn)
  if (opened.kind !== 'open') return sealErrors[opened.kind]
  const { purpose, secondFactorId, binding } = opened
  const visitor = visitorOf(binding, login)
  const subject = await findSubject(purpose, visitor, login)
  return subject ? { subject, secondFactorId } : 'client_unknown'
}

async function takeFirstStep(
  fields: URLSearchParams,
  subject: LoginSubject,
  login: Login,
): Promise<Response> {
  const method = fields.get('provider')
  const refusalDue = startRefusalDelay(login.signIn.runtime)
  try {
    if (method !== null) {
      return redirect(await startSocialSignIn(purposeOf(subject), method, subject.visitor, login.signIn))
    }
    const step = await signInWithPassword(postedPassword(fields), subject.visitor, login.signIn)
    return await continueLogin(step, subject, login)
  } catch (error) {
    if (!(error instanceof ProviderError)) throw error
    login.context.report('sign_in_failed', { failure: error.failure, message: error.message })
    if (method === null) await refusalDue()
    const email = fields.get('email')?.slice(0, maxShownEmailLength)
    return renderLogin(subject, { email, failure: signInFailure(error) }, login)
  }
}

function postedPassword(fields: URLSearchParams): Parameters<typeof signInWithPassword>[0] {
  return {
    email: fields.get('email') ?? '',
    password: fields.get('password') ?? '',
    captchaToken: captchaFields.map((name) => fields.get(name)).find((token) => token) ?? undefined,
  }
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
export async function continueLogin(step: FirstStep, subject: LoginSubject, login: Login): Promise<Response> {
  if (step.kind === 'signed_in') return completeLogin(subject, step, login)
  login.context.report('second_factor_asked', 'client' in subject ? { client_id: subject.client.id } : {})
  return renderSecondFactor(subject, step.prompt, undefined, login)
}

/** Handles the form of the second-factor page; `id` is the waiting sign-in, taken from the seal. */
async function takeSecondFactor(
  id: string,
  fields: URLSearchParams,
  subject: LoginSubject,
  login: Login,
): Promise<Response> {
  const attempt = { id, factorId: fields.get('factor') ?? undefined, code: fields.get('code') ?? '' }
  const result = await trySecondFactor(attempt, subject.visitor, login.signIn)
  switch (result.kind) {
    case 'signed_in':
      return completeLogin(subject, result, login)
    case 'again': {
      const { failure, message } = result.failure
      login.context.report('second_factor_failed', { failure, message })
      return renderSecondFactor(subject, result.prompt, result, login)
    }
    case 'over': {
      const failure = overFailure(result)
      const message = result.reason === 'refused' ? result.failure.message : undefined
      login.context.report('second_factor_over', { reason: failure.reason, message })
      return renderLogin(subject, { failure }, login)
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
