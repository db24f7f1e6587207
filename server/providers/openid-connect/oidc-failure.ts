import { retryAfterSeconds } from '@drawbridge/shared/retry-after.ts'
import { ProviderError } from '../../core/session/session-provider.ts'
import { failureOfStatus } from '../provider-response.ts'

/** Why a call through the OpenID Connect library failed, as far as known. */
export type OidcFailure =
  /** No response arrived. */
  | { kind: 'unreachable'; error: ProviderError }
  /** The response has an error status. `code` is its OAuth error code. */
  | { kind: 'refused'; status: number; code: string | undefined; retryAfterSeconds: number | undefined }
  /** The browser returned with an OAuth error instead of an authorization code. */
  | { kind: 'returned_error'; code: string }
  /** A successful but unusable response. `reason` names the rule it breaks. */
  | { kind: 'unusable'; reason: string }

/**
 * Reads an error of the library. Its errors contain whole responses, tokens included, so only an error code and the library's own
 * sentence are kept.
 */
export async function readOidcFailure(error: unknown): Promise<OidcFailure> {
  if (error instanceof ProviderError) return { kind: 'unreachable', error }
  const { cause, response, code: rule } = asRecord(error)
  if (cause instanceof ProviderError) return { kind: 'unreachable', error: cause }
  if (rule === 'OAUTH_AUTHORIZATION_RESPONSE_ERROR') {
    return { kind: 'returned_error', code: errorCode(error) ?? 'unknown' }
  }
  const answer = [response, cause].find((value) => value instanceof Response)
  if (answer && !answer.ok) {
    const code = errorCode(error) ?? errorCode(await readJson(answer))
    const seconds = retryAfterSeconds(Object.fromEntries(answer.headers))
    return { kind: 'refused', status: answer.status, code, retryAfterSeconds: seconds }
  }
  return { kind: 'unusable', reason: cause instanceof Error ? cause.message : messageOf(error) }
}

/** Returns true if the same call may succeed later: too many requests, or a fault of the provider or a gateway. */
export function isPassing(status: number): boolean {
  return failureOfStatus(status) !== 'protocol'
}

/** Returns the {@link ProviderError} of an idempotent call. `what` completes "The OpenID provider refused ...". */
export function plainFailure(failure: OidcFailure, what: string): ProviderError {
  switch (failure.kind) {
    case 'unreachable':
      return failure.error
    case 'refused': {
      const { status, code = 'without an error code', retryAfterSeconds } = failure
      const hint = ['invalid_client', 'unauthorized_client'].includes(code)
        ? ' Check the client id and secret, and what the provider allows this client.'
        : ''
      const message = `The OpenID provider refused ${what}: ${status} ${code}.${hint}`
      return new ProviderError(failureOfStatus(status), message, { retryAfterSeconds })
    }
    case 'returned_error':
      return new ProviderError('protocol', `The OpenID provider refused ${what}: ${failure.code}.`)
    case 'unusable': {
      const message = `The OpenID provider gave an unusable answer to ${what}: ${failure.reason}`
      return new ProviderError('protocol', message)
    }
  }
}

/** Accepts only text that looks like a code: longer text may repeat the request. */
function errorCode(value: unknown): string | undefined {
  const { error } = asRecord(value)
  return typeof error === 'string' && /^[\w.-]{1,60}$/.test(error) ? error : undefined
}

async function readJson(answer: Response): Promise<unknown> {
  try {
    return await answer.json()
  } catch {
    return undefined
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : 'a value that is not an error was thrown'
}

function asRecord(value: unknown): Record<string, unknown> {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {}
}
