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

/** An error of the OAuth server, in the shape of RFC 6749 section 5.2. */
export class OAuthServerError extends AuthError {
  constructor(code: string, message: string) {
    super(400, code, message)
  }
}

const versionHeader = 'x-supabase-api-version'
const namedCodesSince = '2024-01-01'

/**
 * Renders the error body in the dialect that the request asks for: since API version 2024-01-01 `{code, message}` with a string
 * code (and the version echoed, without which the client does not read it), before that `{code: <status>, error_code, msg}`.
 */
export function renderAuthError(error: AuthError, request: Request): Response {
  const { code: name, message } = error
  if (error instanceof OAuthServerError)
    return Response.json({ error: name, error_description: message }, { status: 400 })
  const version = request.headers.get(versionHeader) ?? ''
  const named = /^\d{4}-\d{2}-\d{2}$/.test(version) && version >= namedCodesSince
  const body = named ? { code: name, message } : { code: error.status, error_code: name, msg: message }
  const headers: Record<string, string> = { 'x-sb-error-code': name }
  if (named) headers[versionHeader] = namedCodesSince
  return Response.json(body, { status: error.status, headers })
}
