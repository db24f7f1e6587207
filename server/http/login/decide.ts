import { OAuthError } from '@drawbridge/shared/oauth/oauth-error.ts'
import { ProviderError } from '../../core/session/session-provider.ts'
import { cancelSecondFactor } from '../../core/sign-in/second-factor-step.ts'
import { signInWithPassword, startSocialSignIn } from '../../core/sign-in/sign-in.ts'
import { openTransaction } from '../../core/sign-in/sign-in-transaction.ts'
import { redirect } from '../response.ts'
import { readForm } from '../middleware/body.ts'
import type { RequestContext } from '../endpoint.ts'
import { isOwnFormPost } from '../middleware/guards.ts'
import { findSubject, type LoginPorts, type LoginSubject, purposeOf, visitorOf } from './login-subject.ts'
import { refuseLogin } from './complete.ts'
import { renderLogin } from './login-render.ts'
import { continueLogin, takeSecondFactor } from './login-second-factor.ts'
import { startRefusalFloor } from './login-timing.ts'
import { captchaFields } from '../pages/captcha.ts'
import { signInFailure } from './sign-in-message.ts'
import { type StrandedReason, strandedPage } from './error-page.ts'

const maxShownEmailLength = 320

/** What is said about a form whose seal does not open. */
export const sealRefusals: Readonly<Record<'invalid' | 'expired' | 'foreign_browser', StrandedReason>> = {
  invalid: 'transaction_invalid',
  expired: 'transaction_expired',
  foreign_browser: 'foreign_browser',
}

/** The fields of a form that a page of ours posted, or why it is not read. Not checked: which page, and in which browser. */
export async function readOwnForm(
  request: Request,
  { urls }: Pick<LoginPorts, 'urls'>,
): Promise<URLSearchParams | StrandedReason> {
  if (!isOwnFormPost(request, urls.issuer)) return 'foreign_form'
  try {
    return await readForm(request)
  } catch (error) {
    if (error instanceof OAuthError) return 'form_unreadable'
    throw error
  }
}

/**
 * Takes a form of a page of the login flow: a first step, a code of the second factor, or a refusal. What it is for comes out
 * of the sealed transaction in it, whichever endpoint it was posted to.
 */
export async function takeLoginForm(
  request: Request,
  fields: URLSearchParams,
  context: RequestContext,
  ports: LoginPorts,
): Promise<Response> {
  const opened = await openForm(request, fields, context, ports)
  if (typeof opened === 'string') return strandedPage(opened, context, ports)
  const { subject, secondFactorId } = opened
  if (fields.get('action') === 'deny') {
    if (secondFactorId !== undefined) await cancelSecondFactor(secondFactorId, ports.signIn)
    return refuseLogin(subject, context, ports)
  }
  return secondFactorId === undefined
    ? takeFirstStep(fields, subject, context, ports)
    : takeSecondFactor(secondFactorId, fields, subject, context, ports)
}

/** What the form is about, or why it may not be acted on. */
async function openForm(
  request: Request,
  fields: URLSearchParams,
  context: RequestContext,
  ports: LoginPorts,
): Promise<{ subject: LoginSubject; secondFactorId: string | undefined } | StrandedReason> {
  const given = ports.cookies.binding.read(request)
  const opened = openTransaction(fields.get('transaction') ?? '', given, ports.signIn)
  if (opened.kind !== 'open') return sealRefusals[opened.kind]
  const { purpose, secondFactorId, binding } = opened
  const visitor = visitorOf(request, binding, context, ports)
  const subject = await findSubject(purpose, visitor, ports)
  return subject ? { subject, secondFactorId } : 'client_unknown'
}

async function takeFirstStep(
  fields: URLSearchParams,
  subject: LoginSubject,
  context: RequestContext,
  ports: LoginPorts,
): Promise<Response> {
  const method = fields.get('provider')
  const floor = startRefusalFloor(ports.signIn.runtime)
  try {
    if (method !== null) {
      return redirect(await startSocialSignIn(purposeOf(subject), method, subject.visitor, ports.signIn))
    }
    const step = await signInWithPassword(postedPassword(fields), subject.visitor, ports.signIn)
    return await continueLogin(step, subject, context, ports)
  } catch (error) {
    if (!(error instanceof ProviderError)) throw error
    context.report('sign_in_failed', { failure: error.failure, message: error.message })
    if (method === null) await floor.reached()
    const email = fields.get('email')?.slice(0, maxShownEmailLength)
    return renderLogin(subject, { email, failure: signInFailure(error) }, context, ports)
  }
}

function postedPassword(fields: URLSearchParams): Parameters<typeof signInWithPassword>[0] {
  return {
    email: fields.get('email') ?? '',
    password: fields.get('password') ?? '',
    captchaToken: captchaFields.map((name) => fields.get(name)).find((token) => token) ?? undefined,
  }
}
