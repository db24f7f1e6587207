import { ProviderError, type ProviderFailure } from '../../core/session/session-provider.ts'

/** Why a call through the OpenID Connect library failed, as far as it can be told. */
export type OidcFailure =
  /** No answer arrived. */
  | { kind: 'unreachable'; error: ProviderError }
  /** The response has an error status. `code` is its OAuth error code. */
  | { kind: 'refused'; status: number; code: string | undefined; retryAfterSeconds: number | undefined }
  /** The browser came back with an OAuth error instead of an authorization code. */
  | { kind: 'returned_error'; code: string }
  /** The answer is a success, and cannot be used. `reason` names the rule it breaks. */
  | { kind: 'unusable'; reason: string }

/**
 * Reads what the library threw. Its errors carry whole answers, tokens included, so nothing of them goes further than
 * an error code and the library's own sentence.
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
    return { kind: 'refused', status: answer.status, code, retryAfterSeconds: retryAfter(answer) }
  }
  return { kind: 'unusable', reason: cause instanceof Error ? cause.message : messageOf(error) }
}

/** The same call may succeed later: too many requests, or a fault of the provider or of what stands before it. */
export function isPassing(status: number): boolean {
  return status >= 500 || status === 429 || status === 408
}

/**
 * The {@link ProviderError} of a call that changes nothing when it is made again. `what` completes "The OpenID provider
 * refused ...".
 */
export function plainFailure(failure: OidcFailure, what: string): ProviderError {
  switch (failure.kind) {
    case 'unreachable':
      return failure.error
    case 'refused':
      return new ProviderError(
        failureOfStatus(failure.status),
        refusalMessage(failure, what),
        retryAfterOption(failure),
      )
    case 'returned_error':
      return new ProviderError('protocol', `The OpenID provider refused ${what}: ${failure.code}.`)
    case 'unusable':
      return new ProviderError('protocol', unusableMessage(failure, what))
  }
}

function failureOfStatus(status: number): ProviderFailure {
  if (status === 429) return 'rate_limited'
  return isPassing(status) ? 'transient' : 'protocol'
}

/** What the log says about a refusal. */
export function refusalMessage(failure: OidcFailure & { kind: 'refused' }, what: string): string {
  const { status, code } = failure
  const hint =
    code === 'invalid_client' || code === 'unauthorized_client'
      ? ' Check the client id and secret, and what the provider allows this client.'
      : ''
  return `The OpenID provider refused ${what}: ${status} ${code ?? 'without an error code'}.${hint}`
}

/** What the log says about an answer that cannot be used. */
export function unusableMessage(failure: OidcFailure & { kind: 'unusable' }, what: string): string {
  return `The OpenID provider gave an unusable answer to ${what}: ${failure.reason}`
}

/** The option of a {@link ProviderError} that says when to come back, if the provider did. */
export function retryAfterOption(failure: OidcFailure & { kind: 'refused' }): {
  retryAfterSeconds?: number
} {
  return failure.retryAfterSeconds === undefined ? {} : { retryAfterSeconds: failure.retryAfterSeconds }
}

// A date is not worth a clock here.
function retryAfter(answer: Response): number | undefined {
  const text = answer.headers.get('retry-after') ?? ''
  return /^\d{1,6}$/.test(text) ? Number(text) : undefined
}

/** Only text that looks like a code: anything longer may repeat what was sent. */
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
