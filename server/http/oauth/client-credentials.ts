import { decodeBase64Lenient, decodeUtf8 } from '@drawbridge/shared/base64url.ts'
import { OAuthError } from '@drawbridge/shared/oauth/oauth-error.ts'
import { assertedClientId, assertionType } from '../../core/clients/client-assertion.ts'
import {
  authenticateClient,
  type ClientAuthenticationPorts,
  type ClientCredentials,
  type ClientProof,
} from '../../core/clients/client-authentication.ts'
import { type Client, ClientUnavailableError } from '../../core/clients/client.ts'
import { optionalParameter } from '../middleware/body.ts'

/**
 * Authenticates the client of a request to the token endpoint and its siblings, with exactly one method: Basic header,
 * `client_secret` or `client_assertion` in the form, or none for a public client (RFC 6749 section 2.3, RFC 7521 section 4.2).
 *
 * Throws `invalid_request` for two methods, `invalid_client` (401) for an unknown or unauthenticated client, and
 * `temporarily_unavailable` (503) when it cannot be checked right now: a client must not discard its tokens because of that.
 */
export async function readClient(
  request: Request,
  form: URLSearchParams,
  ports: ClientAuthenticationPorts,
): Promise<Client> {
  const credentials = readClientCredentials(request.headers.get('authorization'), form)
  try {
    return await authenticateClient(credentials, ports)
  } catch (cause) {
    if (!(cause instanceof ClientUnavailableError)) throw cause
    if (cause.problem === 'no_client') throw new OAuthError('invalid_client', cause.message, { cause })
    const { retryAfterSeconds, problem } = cause
    throw new OAuthError('temporarily_unavailable', cause.message, {
      cause,
      ...(problem === 'limited' && { status: 429 }),
      ...(retryAfterSeconds !== undefined && { retryAfterSeconds }),
    })
  }
}

/**
 * Reads the client credentials of a request. Throws like {@link readClient}; looks nothing up yet.
 *
 * @internal
 */
export function readClientCredentials(header: string | null, form: URLSearchParams): ClientCredentials {
  const id = optionalParameter(form, 'client_id')
  const inForm = readFormProof(form)
  if (header !== null) {
    const basic = readBasicCredentials(header)
    if (inForm.kind !== 'none') {
      throw new OAuthError('invalid_request', 'The client authenticates with two methods. Use one.')
    }
    return { id: sameId(basic.id, id), proof: basic.proof }
  }
  if (inForm.kind === 'assertion') {
    const subject = assertedClientId(inForm.assertion)
    if (subject === undefined) {
      throw new OAuthError('invalid_client', 'The client assertion is not a signed JWT with a sub.')
    }
    return { id: sameId(subject, id), proof: inForm }
  }
  if (id === undefined) throw new OAuthError('invalid_client', 'client_id is missing.')
  return { id, proof: inForm }
}

function sameId(proven: string, given: string | undefined): string {
  if (given !== undefined && given !== proven) {
    throw new OAuthError('invalid_request', 'client_id does not match the authenticated client.')
  }
  return proven
}

function readFormProof(form: URLSearchParams): ClientProof {
  const secret = optionalParameter(form, 'client_secret')
  const assertion = optionalParameter(form, 'client_assertion')
  const type = optionalParameter(form, 'client_assertion_type')
  if (assertion === undefined && type === undefined) {
    return secret === undefined ? { kind: 'none' } : { kind: 'secret', secret }
  }
  if (secret !== undefined) {
    throw new OAuthError('invalid_request', 'The client authenticates with two methods. Use one.')
  }
  if (assertion === undefined || type === undefined) {
    throw new OAuthError('invalid_request', 'Send both client_assertion and client_assertion_type.')
  }
  if (type !== assertionType) {
    throw new OAuthError('invalid_client', `client_assertion_type must be ${assertionType}.`)
  }
  return { kind: 'assertion', assertion }
}

function readBasicCredentials(header: string): ClientCredentials {
  const encoded = /^Basic +([A-Za-z0-9+/=_-]+) *$/i.exec(header)?.[1]
  const bytes = encoded === undefined ? undefined : decodeBase64Lenient(encoded)
  const text = bytes && decodeUtf8(bytes)
  const colon = text?.indexOf(':') ?? -1
  if (text === undefined || colon < 1) {
    throw new OAuthError('invalid_client', 'The Authorization header is not a valid Basic header.')
  }
  // RFC 6749 section 2.3.1: both halves are form-encoded before they are joined.
  const secret = formDecode(text.slice(colon + 1))
  return {
    id: formDecode(text.slice(0, colon)),
    proof: secret === '' ? { kind: 'none' } : { kind: 'secret', secret },
  }
}

function formDecode(text: string): string {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '))
  } catch {
    return text
  }
}
