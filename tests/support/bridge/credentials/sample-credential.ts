import type { Credential } from '../../../../bridge/credentials/credential.ts'

/** Creates a complete login whose secrets all end in `-secret`. */
export function sampleCredential(changes: Partial<Credential> = {}): Credential {
  return {
    generation: 1,
    serverUrl: 'https://server.test/mcp',
    profile: 'default',
    issuer: 'https://issuer.test',
    tokenEndpoint: 'https://issuer.test/token',
    resource: 'https://server.test/mcp',
    client: {
      clientId: 'client',
      clientSecret: 'client-secret',
      tokenEndpointAuthMethod: 'client_secret_basic',
      origin: 'dynamic',
    },
    tokens: {
      accessToken: 'access-secret',
      refreshToken: 'refresh-secret',
      issuedAt: 1_700_000_000,
      expiresAt: 1_700_003_600,
      scope: 'mcp',
    },
    signedInAt: 1_700_000_000,
    ...changes,
  }
}
