import { ProviderError, type ProviderFailure } from '../../core/session/session-provider.ts'
import { type EmailRequested, requestEmail, tryEmailCode } from '../../core/sign-in/email-sign-in.ts'
import type { EmailPrompt } from '../../core/sign-in/sign-in-transaction.ts'
import { captchaTokenIn } from '../pages/captcha.ts'
import { continueLogin } from './complete.ts'
import { renderEmailCode, renderLogin } from './draw.ts'
import { purposeOf, type SignInVisit, type Visit } from './login-subject.ts'
import {
  reportedFailure,
  type SignInFailure,
  signInFailure,
  startRefusalDelay,
  statusOf,
} from './sign-in-failure.ts'

/**
 * Sends a mail, or another one on the page that waits for the code: then to the address of the first. The page comes after the same
 * time for every address, whether or not the mail has been sent by then.
 */
export async function takeEmail(
  fields: URLSearchParams,
  known: EmailPrompt | undefined,
  visit: SignInVisit,
): Promise<Response> {
  const email = known?.email ?? fields.get('email') ?? ''
  const { subject, context, ports } = visit
  const answerDue = startRefusalDelay(ports.signIn.runtime)
  const asked = await askForEmail().catch((error: unknown) => reportedFailure(error, visit))
  await answerDue()
  if (!('reason' in asked)) return renderEmailCode(visit, asked)
  if (known && statusOf(asked) === 429) return renderEmailCode(visit, known, { failure: asked })
  return renderLogin(visit, { email, failure: asked })

  async function askForEmail(): Promise<EmailPrompt | SignInFailure> {
    const posted = { email, captchaToken: captchaTokenIn(fields) }
    const { prompt, sent } = await requestEmail(posted, purposeOf(visit), subject.visitor, ports.signIn)
    const failed = await failureBefore(answerDue(), sent, visit)
    if (failed) return signInFailure(failed)
    context.report('email_requested', 'client' in subject ? { client_id: subject.client.id } : {})
    return prompt
  }
}

// What the person did, and can do better.
const ofVisitor: ReadonlySet<ProviderFailure> = new Set(['bad_email', 'captcha'])

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
    if (ofVisitor.has(failure)) context.report('sign_in_failed', { failure, message })
    else context.report('email_not_sent', { failure, message })
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

/** Handles the code of a mail. */
export async function takeEmailCode(
  code: string,
  prompt: EmailPrompt,
  visit: SignInVisit,
): Promise<Response> {
  const { subject, context, ports } = visit
  const over = (failure: SignInFailure): Promise<Response> =>
    renderLogin(visit, { email: prompt.email, failure })
  try {
    const result = await tryEmailCode(code, prompt, subject.visitor, ports.signIn)
    if (result.kind === 'step') return await continueLogin(result.step, visit)
    if (result.kind === 'over') {
      context.report('sign_in_failed', {
        failure: 'wrong_code',
        message: 'The code of a mail can no longer be used.',
      })
      return await over({ reason: 'email_code_over' })
    }
    const failure = reportedFailure(result.failure, visit)
    const shown = failure.reason === 'wrong_code' ? { reason: 'wrong_email_code' as const } : failure
    return await renderEmailCode(visit, prompt, { failure: shown, codesLeft: result.codesLeft })
  } catch (error) {
    return over(reportedFailure(error, visit))
  }
}
