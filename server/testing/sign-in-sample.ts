import { createCodeVerifier, deriveCodeChallenge } from '@drawbridge/shared/pkce.ts'
import type { AuthorizationRequest } from '../core/authorization-request.ts'
import type { Client } from '../core/client.ts'
import type { SignIn } from '../core/session-provider.ts'
import { start } from './grant-sample.ts'

/** The one resource of the samples. */
export const resource = 'https://mcp.example.com/mcp'

/** PKCE verifier behind every {@link authorizationRequest}. */
export const challengeVerifier: string = createCodeVerifier((length) => new Uint8Array(length).fill(9))

const codeChallenge = await deriveCodeChallenge(challengeVerifier)

/** A public client with one loopback redirect URI. */
export function publicClient(overrides: Partial<Client> = {}): Client {
  return {
    id: 'mcpc_public',
    kind: 'registered',
    name: 'Sample',
    uri: undefined,
    redirectUris: ['http://127.0.0.1/callback'],
    grantTypes: ['authorization_code', 'refresh_token'],
    authMethod: 'none',
    secretHash: undefined,
    createdAt: start,
    ...overrides,
  }
}

/** An accepted request of {@link publicClient}. */
export function authorizationRequest(overrides: Partial<AuthorizationRequest> = {}): AuthorizationRequest {
  return {
    clientId: 'mcpc_public',
    redirectUri: 'http://127.0.0.1:4711/callback',
    state: 'state',
    scope: 'mcp offline_access',
    resource,
    codeChallenge,
    ...overrides,
  }
}

/** A completed sign-in at the provider, made at {@link start}; its token lasts an hour. */
export function signInSample(name = 'ada', expiresAt: number = start + 3600): SignIn {
  return {
    session: {
      accessToken: `provider-access-token-of-${name}`,
      refreshToken: `provider-refresh-token-of-${name}`,
      expiresAt,
    },
    identity: {
      sub: `sub ${name}`,
      email: `${name}@example.com`,
      name: undefined,
      secondFactor: false,
      expiresAt,
    },
  }
}
