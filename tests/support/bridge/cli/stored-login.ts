import { join } from 'node:path'
import type { Credential } from '../../../../bridge/credentials/credential.ts'
import { loginId } from '../../../../bridge/credentials/credential-store.ts'
import { openFileStore } from '../credentials/usual-login.ts'
import { systemRuntime } from '../../../../bridge/config/system-runtime.ts'

/** Stores a login under `home`, with its key in a file. Returns its credential. */
export async function storeLogin(
  home: string,
  serverUrl: string,
  changes: Partial<Credential> = {},
): Promise<Credential> {
  const at = systemRuntime.now()
  const credential: Credential = {
    generation: 1,
    serverUrl,
    profile: 'default',
    issuer: 'https://as.example',
    tokenEndpoint: 'https://as.example/token',
    client: { clientId: 'client-1', tokenEndpointAuthMethod: 'none', origin: 'dynamic' },
    tokens: {
      accessToken: 'sEcReT-access',
      refreshToken: 'sEcReT-refresh',
      issuedAt: at,
      expiresAt: at + 3600,
      scope: 'mcp',
    },
    signedInAt: at,
    signInId: 'first',
    ...changes,
  }
  const { profile, client: identity } = credential
  const staticClient = identity.origin === 'static' ? identity : undefined
  await openFileStore(join(home, '.drawbridge')).write(
    loginId({ serverUrl, staticClient, profile }),
    credential,
  )
  return credential
}
