import type { Runtime } from '@drawbridge/shared/runtime.ts'
import type { FirstStep } from '../../core/sign-in/second-factor-step.ts'
import { ProviderError } from '../../core/session/session-provider.ts'
import { captchaFields } from '../pages/captcha.ts'
import { completeLogin } from './complete.ts'
import { renderSecondFactor } from './draw.ts'
import { type SignInFailure, signInFailure } from './sign-in-failure.ts'
import type { SignInVisit, Visit } from './login-subject.ts'

/** Longer than any kind of refusal takes here, and acceptable to users after a wrong password. */
const minRefusalMs = 500

/** Returns the captcha response in a form, whatever the vendor. */
export function captchaTokenIn(fields: URLSearchParams): string | undefined {
  return captchaFields.map((name) => fields.get(name)).find((token) => token) ?? undefined
}

/** Reports a refusal of the provider; rethrows everything else. */
export function reportedFailure(error: unknown, { context }: Visit): SignInFailure {
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
export async function continueLogin(step: FirstStep, visit: SignInVisit): Promise<Response> {
  if (step.kind === 'signed_in') return completeLogin(visit, step)
  const { subject, context } = visit
  context.report('second_factor_asked', 'client' in subject ? { client_id: subject.client.id } : {})
  return renderSecondFactor(visit, step.prompt)
}
