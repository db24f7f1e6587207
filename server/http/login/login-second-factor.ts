import {
  type FirstStep,
  type SecondFactorOver,
  type SecondFactorPrompt,
  type SecondFactorRetry,
  trySecondFactor,
} from '../../core/sign-in/second-factor-step.ts'
import type { ProviderFailure } from '../../core/session/session-provider.ts'
import { page } from '../response.ts'
import type { RequestContext } from '../endpoint.ts'
import { type LoginPorts, type LoginSubject, notePageOpen } from './login-subject.ts'
import { completeLogin } from './complete.ts'
import { renderLogin } from './login-render.ts'
import { subjectPageView } from './draw.ts'
import { secondFactorPage } from '../pages/second-factor-page.ts'
import {
  failureText,
  provenAccountFailure,
  retryHeaders,
  type SignInFailure,
  signInFailure,
  signInMessages,
} from './sign-in-message.ts'

/** Goes on from a successful first step: to what the sign-in is for, or to the page that asks for a code. */
export async function continueLogin(
  step: FirstStep,
  subject: LoginSubject,
  context: RequestContext,
  ports: LoginPorts,
): Promise<Response> {
  if (step.kind === 'signed_in') return completeLogin(subject, step, context, ports)
  context.report('second_factor_asked', 'client' in subject ? { client_id: subject.client.id } : {})
  return renderSecondFactor(subject, step.prompt, undefined, ports)
}

/** Takes the form of the second-factor page; `id` names the sign-in that waits, as it came out of the seal. */
export async function takeSecondFactor(
  id: string,
  fields: URLSearchParams,
  subject: LoginSubject,
  context: RequestContext,
  ports: LoginPorts,
): Promise<Response> {
  const attempt = { id, factorId: fields.get('factor') ?? undefined, code: fields.get('code') ?? '' }
  const result = await trySecondFactor(attempt, subject.visitor, ports.signIn)
  switch (result.kind) {
    case 'signed_in':
      return completeLogin(subject, result, context, ports)
    case 'again': {
      const { failure, message } = result.failure
      context.report('second_factor_failed', { failure, message })
      return renderSecondFactor(subject, result.prompt, result, ports)
    }
    case 'over': {
      const failure = overFailure(result)
      const message = result.reason === 'refused' ? result.failure.message : undefined
      context.report('second_factor_over', { reason: failure.reason, message })
      return renderLogin(subject, { failure }, context, ports)
    }
  }
}

// The half-way session has ended at the provider, or its token has: nothing else is wrong with the account.
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

async function renderSecondFactor(
  subject: LoginSubject,
  { id, factors }: SecondFactorPrompt,
  retry: SecondFactorRetry | undefined,
  ports: LoginPorts,
): Promise<Response> {
  await notePageOpen(subject, ports)
  const failure = retry && signInFailure(retry.failure)
  const html = secondFactorPage({
    ...subjectPageView(subject, id, ports),
    factors,
    ...(retry && { chosen: retry.factorId }),
    ...(failure && { error: `${failureText(failure)}${codesLeft(retry)}` }),
  })
  return page(html, failure ? signInMessages[failure.reason].status : 200, {
    ...(failure && retryHeaders(failure)),
    'set-cookie': ports.cookies.binding.write(subject.visitor.binding),
  })
}

function codesLeft({ codesLeft: left }: SecondFactorRetry): string {
  if (left === undefined) return ''
  return left === 1 ? ' One attempt is left.' : ` ${left}\u00a0attempts are left.`
}
