import { OAuthError } from '@drawbridge/shared/oauth/oauth-error.ts'

/** The parameter `name` of a form; one without a value counts as omitted (RFC 6749 section 3.1). */
export function optionalParameter(form: URLSearchParams, name: string): string | undefined {
  const value = form.get(name)
  return value === null || value === '' ? undefined : value
}

/** As {@link optionalParameter}. Throws `invalid_request` when it is omitted. */
export function requiredParameter(form: URLSearchParams, name: string): string {
  const value = optionalParameter(form, name)
  if (value === undefined) throw new OAuthError('invalid_request', `${name} is missing.`)
  return value
}
