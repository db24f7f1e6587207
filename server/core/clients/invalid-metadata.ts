import { OAuthError } from '@drawbridge/shared/oauth/oauth-error.ts'

/** The refusal of client metadata (RFC 7591 section 3.2.2); `description` is for the author of the client. */
export function invalidMetadata(description: string): OAuthError {
  return new OAuthError('invalid_client_metadata', description)
}
