import { randomBytes } from 'node:crypto'
import { listen } from '../../server/http/listener/listener.ts'
import { createControlledProvider } from '../support/sandbox/controlled-provider.ts'
import type { ProviderAdmin } from '../support/sandbox/provider-admin.ts'
import { systemRuntime } from '../../server/startup/system-runtime.ts'
import { freePort } from '../support/server/free-port.ts'
import { noteServed } from './secret-ledger.ts'
import type { ServerSettings } from './server-process.ts'

/** An auth API on its own port: like a Supabase project for a server configured for one. */
export interface AuthServer {
  /** Origin that plays the web app; the auth API is below it. */
  appUrl: string
  url: string
  admin: ProviderAdmin
  /** Mails it has sent, of all addresses. */
  countMails(): number
  /** Settings of a server that signs users in here. All servers given the same ones are instances of one another. */
  settings: ServerSettings
  close(): Promise<void>
}

/** Another API at the origin of a project's auth API. */
interface DataApi {
  fetch(request: Request): Promise<Response>
  close(): Promise<void>
}

/** Options of an {@link AuthServer}. */
export interface AuthServerOptions {
  tokenTtlSeconds?: number
  /** Starts the data API of the project, which serves everything below `/rest/`. */
  startDataApi?: (auth: { url: string; apiKey: string }) => Promise<DataApi>
}

const apiKey = 'sb_publishable_test'

/** Starts an {@link AuthServer} whose access tokens live for `tokenTtlSeconds`; it accepts the callback of any loopback URL. */
export async function startAuthServer(options: AuthServerOptions = {}): Promise<AuthServer> {
  const port = await freePort()
  const appUrl = `http://localhost:${port}`
  const url = `${appUrl}/auth/v1`
  const provider = createControlledProvider(
    {
      url,
      siteUrl: appUrl,
      redirectAllowList: [],
      tokenTtlSeconds: options.tokenTtlSeconds ?? 3600,
      database: ':memory:',
      socialProviders: ['google', 'keycloak'],
    },
    systemRuntime,
  )
  // Requests between the server and the provider are otherwise invisible to tests.
  const dataApi = await options.startDataApi?.({ url, apiKey })
  const serve = async (request: Request): Promise<Response> =>
    dataApi && new URL(request.url).pathname.startsWith('/rest/')
      ? dataApi.fetch(request)
      : provider.fetch(request)
  const listener = await listen(noteServed(serve), { host: '127.0.0.1', port })
  return {
    appUrl,
    url,
    admin: provider.admin,
    countMails: () => provider.services.mails.length,
    settings: {
      PROVIDER: 'supabase',
      PROVIDER_URL: url,
      PROVIDER_KEY: apiKey,
      APP_URL: appUrl,
      SECRET_KEYS: `test:${randomBytes(32).toString('base64')}`,
      SIGN_IN_LIMIT: '1000',
    },
    async close() {
      await listener.close()
      await dataApi?.close()
      provider.close()
    },
  }
}
