import { AuthError } from '../provider/auth-error.ts'
import type { Failure } from './pages.ts'
import en from './texts/en.json' with { type: 'json' }

/** Returns why the provider refused; rethrows everything else. A ban reads like a wrong password. */
export function failureOf(error: unknown): Failure {
  if (!(error instanceof AuthError)) throw error
  return error.code === 'user_banned' ? 'invalid_credentials' : failureOfCode(error.code)
}

/** Returns why a social sign-in failed, from its redirect; the text in the URL is never shown. */
export function failureOfRedirect(parameters: URLSearchParams): Failure {
  const code = parameters.get('error_code') ?? parameters.get('error') ?? ''
  if (code === 'user_banned') return 'banned'
  // Single sign-on that was refused: it says nothing of an address or a password.
  return code === 'validation_failed' ? 'unknown' : failureOfCode(code)
}

function failureOfCode(code: string): Failure {
  return Object.hasOwn(en.texts.failures, code) ? (code as Failure) : 'unknown'
}
