/** An error response of the authorization server. */
export class OAuthFailure extends Error {
  readonly code: string
  readonly status: number

  constructor(code: string, description: string, status = 400) {
    super(description)
    this.code = code
    this.status = status
  }
}
