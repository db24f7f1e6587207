import type { Runtime } from '@drawbridge/shared/runtime.ts'
import { createWebApp } from './app/web-app.ts'
import type { FetchHandler } from '../http/endpoint.ts'
import { createHostGuard } from '../http/middleware/guards.ts'
import { createEmbeddedProvider } from './provider/embedded-provider.ts'

export interface SandboxConfig {
  appUrl: string
  providerUrl: string
  baseUrl: string
  cookieName: string
  tokenTtlSeconds: number
  /** Of the one client of the OAuth server, with its secret; without them the OAuth server is off. */
  providerClientId?: string | undefined
  providerClientSecret?: string | undefined
  /** Path of its SQLite database, or `:memory:`. */
  database: string
}

/** Everything at APP_URL if no other provider is configured. */
export interface Sandbox {
  /** Serves APP_URL: the auth API, the pages that play Google and a company, and the demo web app. */
  fetch: FetchHandler
  close(): void
}

// Headers of reverse proxies and tunnels, which could expose this trial to other computers.
const forwardingHeaders = ['forwarded', 'x-forwarded-for', 'x-forwarded-host', 'x-forwarded-proto']
const refusedProxy =
  'The embedded provider and its demo app are for trying things out on this computer, and answer no request that came ' +
  'through a proxy. Open APP_URL itself, or set PROVIDER to supabase or oidc.\n'

/**
 * Starts the embedded provider and the demo web app; tests pass an `openProvider` that they control.
 */
export function createSandbox(
  config: SandboxConfig,
  runtime: Runtime,
  openProvider: typeof createEmbeddedProvider = createEmbeddedProvider,
): Sandbox {
  const { appUrl, providerUrl, baseUrl, cookieName, tokenTtlSeconds, database } = config
  const { providerClientId: id, providerClientSecret: secret } = config
  const redirectUri = `${baseUrl}/oauth/callback`
  const provider = openProvider(
    {
      url: providerUrl,
      siteUrl: appUrl,
      redirectAllowList: [redirectUri],
      oauthClient: id && secret ? { id, secret, redirectUri } : undefined,
      tokenTtlSeconds,
      database,
    },
    runtime,
  )
  const webApp = createWebApp({ appUrl, baseUrl, cookieName }, provider.services)
  const isOwnHost = createHostGuard(appUrl)
  return {
    async fetch(request) {
      if (!isOwnHost(request)) {
        return new Response('This server does not serve that host name.', { status: 421 })
      }
      if (forwardingHeaders.some((name) => request.headers.has(name))) {
        return new Response(refusedProxy, { status: 403, headers: { 'content-type': 'text/plain' } })
      }
      const { pathname } = new URL(request.url)
      return /^\/(?:auth\/v1|google|company)(?:\/|$)/.test(pathname)
        ? provider.fetch(request)
        : webApp.fetch(request)
    },
    close: provider.close,
  }
}
