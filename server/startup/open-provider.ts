import { dirname, join } from 'node:path'
import type { Runtime } from '@drawbridge/shared/runtime.ts'
import type { SessionProvider } from '../core/session/session-provider.ts'
import { createAppProvider } from '../providers/app/app.ts'
import { createGotrueProvider } from '../providers/supabase/supabase.ts'
import { createOidcProvider } from '../providers/openid-connect/openid-connect.ts'
import { providers } from '../config/provider.ts'
import type { ServerConfig } from '../config/setting-table.ts'
import { embeddedDatabase } from '../config/store-address.ts'
import type { Sandbox, SandboxConfig } from '../sandbox/sandbox.ts'

/** A sandbox that loads while the server starts. */
export interface OpenSandbox {
  /** Waits until it is loaded; rejects if loading fails. */
  fetch(request: Request): Promise<Response>
  ready: Promise<unknown>
  close(): Promise<void>
}

export type LoadSandbox = (config: SandboxConfig, runtime: Runtime) => Promise<Sandbox>

/** Opens the sandbox, if `config` has the embedded provider. Loads its code only then: production servers never run it. */
export function openSandbox(
  config: ServerConfig,
  runtime: Runtime,
  load: LoadSandbox = loadSandbox,
): OpenSandbox | undefined {
  if (!providers[config.provider].isTrial) return undefined
  const { embeddedTokenTtl, store } = config
  // Its database is next to the store.
  const database = store.kind === 'sqlite' ? join(dirname(store.path), embeddedDatabase) : ':memory:'
  const loading = load({ ...config, tokenTtlSeconds: embeddedTokenTtl, database }, runtime)
  // Reported by `ready` and by every request.
  loading.catch(() => {})
  return {
    ready: loading,
    fetch: async (request) => (await loading).fetch(request),
    close: async () => (await loading.catch(() => undefined))?.close(),
  }
}

async function loadSandbox(config: SandboxConfig, runtime: Runtime): Promise<Sandbox> {
  const { createSandbox } = await import('../sandbox/sandbox.ts')
  return createSandbox(config, runtime)
}

/** Opens the configured session provider. The embedded one speaks like Supabase Auth and is reached through `runtime`. */
export function openProvider(
  config: ServerConfig,
  runtime: Pick<Runtime, 'now' | 'randomBytes' | 'fetch'>,
): SessionProvider {
  const { providerIssuer: issuer, providerAudience: audience, providerClientId: clientId } = config
  const { protocol, isTrial } = providers[config.provider]
  if (protocol === 'app') {
    const { baseUrl, signInSecret: secret = '', sessionUrl } = config
    return createAppProvider({ issuer, baseUrl, secret, sessionUrl }, runtime)
  }
  if (protocol === 'openid_connect') {
    return createOidcProvider(
      {
        issuer,
        audience,
        clientId: clientId ?? '',
        clientSecret: config.providerClientSecret,
        scope: config.providerScope,
        parameters: config.providerParameters,
        label: new URL(config.providerUrl).host,
        readsUserinfo: config.access !== undefined,
      },
      runtime,
    )
  }
  return createGotrueProvider(
    {
      url: config.providerUrl,
      apiKey: config.providerKey,
      issuer,
      audience: audience ?? 'authenticated',
      hs256Secret: config.providerJwtSecret,
      social: config.social?.map(({ id }) => id),
      socialScopes: new Map(config.social?.map(({ id, scopes }) => [id, scopes])),
      captcha: config.captcha,
      password: config.password,
      email: config.emailSignIn,
      secondFactor: config.secondFactor,
      client:
        clientId === undefined
          ? undefined
          : {
              id: clientId,
              secret: config.providerClientSecret ?? '',
              // With a page of its own the web app needs no button here.
              label: config.signInUrl === undefined && !isTrial ? config.appName : undefined,
            },
    },
    runtime,
  )
}

/** Calls of APP_URL stay in this process: they need no open socket. */
export function withSandbox(runtime: Runtime, sandbox: OpenSandbox, appUrl: string): Runtime {
  const { origin } = new URL(appUrl)
  return {
    ...runtime,
    fetch: (request, options) =>
      new URL(request.url).origin === origin ? sandbox.fetch(request) : runtime.fetch(request, options),
  }
}
