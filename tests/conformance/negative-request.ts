import type { CaseRequest, Expected, Fields, Step } from './negative-case.ts'

/** Expects an error response (RFC 6749 section 5.2). */
export const bad = (error: string, status = 400): Expected => ({ status, error })

export const badRequest: Expected = bad('invalid_request')
export const badGrant: Expected = bad('invalid_grant')
export const badTarget: Expected = bad('invalid_target')
export const badScope: Expected = bad('invalid_scope')
export const clientFails: Expected = bad('invalid_client', 401)

/** The response to a client whose Authorization header failed. */
export const challenged: Expected = { ...clientFails, headers: { 'www-authenticate': /^Basic / } }

/** The response to a body of another type. */
export const otherType: Expected = bad('invalid_request', 415)

/** The response to another method than POST. */
export const onlyPost: Expected = { ...bad('method_not_allowed', 405), headers: { allow: /\bPOST\b/ } }

/** A token response. */
export const issued: Expected = { status: 200, json: { token_type: 'Bearer' } }

/** Builds a request to the token endpoint. */
export const token = (form: Fields, headers: Record<string, string> = {}): CaseRequest => ({
  path: '/oauth/token',
  form,
  headers,
})

/** A valid redemption of the stage's code. */
export const codeForm = {
  grant_type: 'authorization_code',
  client_id: '{client}',
  code: '{code}',
  code_verifier: '{verifier}',
  redirect_uri: '{redirect_uri}',
}

/** A valid refresh. */
export const refreshForm = {
  grant_type: 'refresh_token',
  client_id: '{client}',
  refresh_token: '{refresh_token}',
}

/** Builds a request of {@link codeForm} with changes. */
export const redeem = (changes: Fields = {}): CaseRequest => token({ ...codeForm, ...changes })

/** Builds a request of {@link refreshForm} with changes. */
export const refresh = (changes: Fields = {}): CaseRequest => token({ ...refreshForm, ...changes })

/** Builds a request to the revocation endpoint. */
export const revoke = (form: Fields, headers: Record<string, string> = {}): CaseRequest => ({
  path: '/oauth/revoke',
  form: { client_id: '{client}', ...form },
  headers,
})

/** Expects that an access token, by its name on the stage, is refused at `/mcp`. */
export const tokenIsDead = (name: string): Step => ({
  request: { path: '/mcp', json: {}, headers: { authorization: `Bearer {${name}}` } },
  expected: { status: 401, headers: { 'www-authenticate': /error="invalid_token"/ } },
})
