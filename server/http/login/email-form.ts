import type { ProviderError, ProviderFailure } from '../../core/session/session-provider.ts'
import { type EmailRequested, requestEmail, tryEmailCode } from '../../core/sign-in/email-sign-in.ts'
import type { EmailPrompt } from '../../core/sign-in/sign-in-transaction.ts'
import type { RequestContext } from '../endpoint.ts'
import { captchaTokenIn } from '../pages/captcha.ts'
import { continueLogin } from './complete.ts'
import { renderEmailCode, renderLogin } from './draw.ts'
import { purposeOf, type SignInVisit } from './login-subject.ts'
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
  const posted = { email: known?.email ?? fields.get('email') ?? '', captchaToken: captchaTokenIn(fields) }
  const pageDue = startRefusalDelay(visit.ports.runtime)
  const asked = await askForMail(posted, pageDue, visit)
  await pageDue()
  if ('prompt' in asked) return renderEmailCode(visit, asked.prompt)
  if (known && statusOf(asked.failure) === 429) return renderEmailCode(visit, known, asked)
  return renderLogin(visit, { email: posted.email, ...asked })
}

/** Asks for the mail. Fails only for reasons that may be shown and that are known when the page is due. */
async function askForMail(
  posted: { email: string; captchaToken: string | undefined },
  pageDue: () => Promise<void>,
  visit: SignInVisit,
): Promise<{ prompt: EmailPrompt } | { failure: SignInFailure }> {
  const { subject, context, ports } = visit
  try {
    const { prompt, sent } = await requestEmail(posted, purposeOf(visit), subject.visitor, ports)
    const sending = reportedSending(sent, context)
    const failed = await Promise.race([sending, pageDue().then(() => 'too late' as const)])
    if (failed === 'too late') sending.catch((error: unknown) => context.report('email_link_lost', { error }))
    else if (failed) return { failure: signInFailure(failed) }
    context.report('email_requested', { client_id: subject.client?.id })
    return { prompt }
  } catch (error) {
    return { failure: reportedFailure(error, context) }
  }
}

// Failures that the person caused and can correct.
const ofVisitor: ReadonlySet<ProviderFailure> = new Set(['bad_email', 'captcha'])

/** Reports why a mail was not sent. Resolves with the failure if it may be shown. */
async function reportedSending(
  sent: EmailRequested['sent'],
  context: RequestContext,
): Promise<ProviderError | undefined> {
  const failed = await sent
  if (!failed || failed.error.failure === 'invalid_credentials') return undefined
  const { failure, message } = failed.error
  const isOfVisitor = ofVisitor.has(failure)
  context.report(isOfVisitor ? 'sign_in_failed' : 'email_not_sent', { failure, message })
  return failed.isForAll ? failed.error : undefined
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
    const result = await tryEmailCode(code, prompt, subject.visitor, ports)
    if (result.kind === 'step') return await continueLogin(result.step, visit)
    if (result.kind === 'over') {
      context.report('sign_in_failed', {
        failure: 'wrong_code',
        message: 'The code of a mail can no longer be used.',
      })
      return await over({ reason: 'email_code_over' })
    }
    const failure = reportedFailure(result.failure, context)
    const shown = failure.reason === 'wrong_code' ? { reason: 'wrong_email_code' as const } : failure
    return await renderEmailCode(visit, prompt, { failure: shown, codesLeft: result.codesLeft })
  } catch (error) {
    return over(reportedFailure(error, context))
  }
}
