import { randomBytes } from 'node:crypto'
import { listen } from '../../server/http/listener.ts'
import {
  createEmbeddedProvider,
  type EmbeddedAdmin,
} from '../../server/provider/embedded/embedded-provider.ts'
import { systemRuntime } from '../../server/system-runtime.ts'
import { freePort } from './free-port.ts'
import type { ServerSettings } from './server-process.ts'

/** An auth API on a port of its own: what a Supabase project is to a server that is configured for one. */
export interface AuthServer {
  /** Origin that plays the web app; the auth API is below it. */
  appUrl: string
  url: string
  admin: EmbeddedAdmin
  /** Settings of a server that signs people in here. All servers given the same ones are instances of one another. */
  settings: ServerSettings
  close(): Promise<void>
}

/** Starts an {@link AuthServer} whose access tokens live for `tokenTtlSeconds`; it accepts the callback of any loopback URL. */
export async function startAuthServer(options: { tokenTtlSeconds?: number } = {}): Promise<AuthServer> {
  const port = await freePort()
  const appUrl = `http://localhost:${port}`
  const url = `${appUrl}/auth/v1`
  const provider = createEmbeddedProvider(
    {
      url,
      siteUrl: appUrl,
      redirectAllowList: ['http://localhost:*/oauth/callback'],
      tokenTtlSeconds: options.tokenTtlSeconds ?? 3600,
      database: ':memory:',
      socialProviders: ['google', 'keycloak'],
    },
    systemRuntime,
  )
  const listener = await listen(provider.fetch, { host: '127.0.0.1', port })
  return {
    appUrl,
    url,
    admin: provider.admin,
    settings: {
      PROVIDER: 'supabase',
      PROVIDER_URL: url,
      PROVIDER_KEY: 'sb_publishable_test',
      APP_URL: appUrl,
      SECRET_KEYS: `test:${randomBytes(32).toString('base64')}`,
      SIGN_IN_LIMIT: '1000',
    },
    async close() {
      await listener.close()
      provider.close()
    },
  }
}
