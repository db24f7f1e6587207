/** An error response of the auth API. Its message is public; `code` is one of that API's error codes. */
export class AuthError extends Error {
  readonly status: number
  readonly code: string

  constructor(status: number, code: string, message: string) {
    super(message)
    this.name = 'AuthError'
    this.status = status
    this.code = code
  }
}

const versionHeader = 'x-supabase-api-version'
const namedCodesSince = '2024-01-01'

/**
 * Renders the error body in the dialect that the request asks for: since API version 2024-01-01 `{code, message}` with a string
 * code (and the version echoed, without which the client does not read it), before that `{code: <status>, error_code, msg}`.
 */
export function renderAuthError(error: AuthError, request: Request): Response {
  const version = request.headers.get(versionHeader) ?? ''
  const named = /^\d{4}-\d{2}-\d{2}$/.test(version) && version >= namedCodesSince
  const body = named
    ? { code: error.code, message: error.message }
    : { code: error.status, error_code: error.code, msg: error.message }
  const headers: Record<string, string> = { 'x-sb-error-code': error.code }
  if (named) headers[versionHeader] = namedCodesSince
  return Response.json(body, { status: error.status, headers })
}
