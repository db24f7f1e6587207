import { OAuthError } from '@drawbridge/shared/oauth/oauth-error.ts'

/**
 * Whether `text` may be a `scope` parameter: printable ASCII without `"` and `\` (RFC 6749 section 3.3 and appendix A.4).
 * More than one blank between two scopes is let pass.
 */
export function isScopeText(text: string): boolean {
  return /^[\x20\x21\x23-\x5B\x5D-\x7E]*$/.test(text)
}

/** What a request with another `scope` is told. */
export const unreadableScope = {
  error: 'invalid_scope',
  description: 'scope holds a character that no scope has.',
} as const

/** Throws `invalid_scope` unless `scope` is omitted or {@link isScopeText}. */
export function requireScopeText(scope: string | undefined): void {
  if (scope !== undefined && !isScopeText(scope)) {
    throw new OAuthError(unreadableScope.error, unreadableScope.description)
  }
}
