import { ProviderError } from '../../core/session/session-provider.ts'
import { type EmailRequested, requestEmail, tryEmailCode } from '../../core/sign-in/email-sign-in.ts'
import type { EmailPrompt } from '../../core/sign-in/sign-in-transaction.ts'
import { renderEmailCode, renderLogin } from './draw.ts'
import type { Visit } from './login-error.ts'
import { type LoginPorts, type LoginSubject, purposeOf } from './login-subject.ts'
import {
  captchaTokenIn,
  continueLogin,
  maxShownEmailLength,
  reportedFailure,
  startRefusalDelay,
} from './sign-in-answer.ts'
import { type SignInFailure, signInFailure } from './sign-in-failure.ts'

/**
 * Sends a mail, or another one on the page that waits for the code: then to the address of the first. The page comes after the same
 * time for every address, whether or not the mail has been sent by then.
 */
export async function takeEmail(
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

/** Handles the code of a mail. */
export async function takeEmailCode(
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
