import { decodeBase64Lenient, decodeUtf8 } from '@drawbridge/shared/base64url.ts'
import { OAuthError } from '@drawbridge/shared/oauth-error.ts'
import { type AuthorizationCodePorts, redeemAuthorizationCode } from '../core/authorization-code.ts'
import {
  authenticateClient,
  type Client,
  type ClientCredentials,
  type ClientStore,
  type GrantType,
  grantTypes,
} from '../core/client.ts'
import { rotateRefreshToken } from '../core/refresh-token.ts'
import type { TokenResponse } from '../core/token-issue.ts'
import { json } from './answer.ts'
import { readForm } from './body.ts'
import { everyone } from './cors.ts'
import type { Endpoint } from './endpoint.ts'

/** What the token endpoint needs. */
export interface TokenPorts extends AuthorizationCodePorts {
  clients: ClientStore
}

/** `POST /oauth/token` (RFC 6749 section 3.2) for authorization_code and refresh_token. */
export function createTokenEndpoint(basePath: string, ports: TokenPorts): Endpoint {
  return {
    path: `${basePath}/oauth/token`,
    cors: everyone,
    methods: {
      async POST(request, context) {
        const form = await readForm(request)
        const asked = required(form, 'grant_type')
        const grantType = grantTypes.find((known) => known === asked)
        if (!grantType) {
          throw new OAuthError(
            'unsupported_grant_type',
            `grant_type must be one of ${grantTypes.join(', ')}.`,
          )
        }
        const credentials = readClientCredentials(request.headers.get('authorization'), form)
        const client = await authenticateClient(ports.clients, credentials)
        const response = await redemptions[grantType](form, client, ports)
        context.report('token_issued', { client_id: client.id, grant_type: grantType })
        return json(response, 200, { pragma: 'no-cache' })
      },
    },
  }
}

type Redemption = (form: URLSearchParams, client: Client, ports: TokenPorts) => Promise<TokenResponse>

const redemptions: Readonly<Record<GrantType, Redemption>> = {
  authorization_code: (form, client, ports) =>
    redeemAuthorizationCode(
      {
        client,
        code: required(form, 'code'),
        codeVerifier: optional(form, 'code_verifier'),
        redirectUri: optional(form, 'redirect_uri'),
        resources: form.getAll('resource'),
      },
      ports,
    ),
  refresh_token: (form, client, ports) =>
    rotateRefreshToken(
      {
        client,
        refreshToken: required(form, 'refresh_token'),
        scope: optional(form, 'scope'),
        resources: form.getAll('resource'),
      },
      ports,
    ),
}

/** The client's identification, by Basic header or body but never both (RFC 6749 section 2.3). */
function readClientCredentials(header: string | null, form: URLSearchParams): ClientCredentials {
  const id = optional(form, 'client_id')
  const secret = optional(form, 'client_secret')
  if (header === null) {
    if (id === undefined) throw new OAuthError('invalid_client', 'client_id is missing.')
    return { id, secret }
  }
  const basic = readBasicCredentials(header)
  if (secret !== undefined) {
    throw new OAuthError('invalid_request', 'The client authenticates twice. Use one method.')
  }
  if (id !== undefined && id !== basic.id) {
    throw new OAuthError('invalid_request', 'client_id differs between the header and the body.')
  }
  return basic
}

function readBasicCredentials(header: string): ClientCredentials {
  const encoded = /^Basic +([A-Za-z0-9+/=_-]+) *$/i.exec(header)?.[1]
  const bytes = encoded === undefined ? undefined : decodeBase64Lenient(encoded)
  const text = bytes && decodeUtf8(bytes)
  const colon = text?.indexOf(':') ?? -1
  if (text === undefined || colon < 1) {
    throw new OAuthError('invalid_client', 'The Authorization header is not a valid Basic one.')
  }
  // RFC 6749 section 2.3.1: both halves are form-encoded before they are joined.
  return { id: formDecode(text.slice(0, colon)), secret: formDecode(text.slice(colon + 1)) }
}

function formDecode(text: string): string {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '))
  } catch {
    return text
  }
}

function optional(form: URLSearchParams, name: string): string | undefined {
  const value = form.get(name)
  // RFC 6749 section 3.1: a parameter without a value counts as omitted.
  return value === null || value === '' ? undefined : value
}

function required(form: URLSearchParams, name: string): string {
  const value = optional(form, name)
  if (value === undefined) throw new OAuthError('invalid_request', `${name} is missing.`)
  return value
}
