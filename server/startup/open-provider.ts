import type { Runtime } from '@drawbridge/shared/runtime.ts'
import type { SessionProvider } from '../core/session/session-provider.ts'
import { createGotrueProvider } from '../providers/supabase/supabase.ts'
import { createOidcProvider } from '../providers/openid-connect/openid-connect.ts'
import type { ServerConfig } from '../config/setting.ts'
import type { FetchHandler } from '../http/endpoint.ts'

/** What answers at APP_URL in this process: the embedded provider and the demo web app. */
export interface Sandbox {
  fetch: FetchHandler
  close(): void
}

/** A sandbox that loads while the server starts. */
export interface OpenSandbox {
  /** Waits until it is loaded; rejects when it cannot be. */
  fetch(request: Request): Promise<Response>
  ready: Promise<unknown>
  close(): Promise<void>
}

/** How a sandbox is loaded. */
export type LoadSandbox = (config: ServerConfig, runtime: Runtime) => Promise<Sandbox>

/** The sandbox, if `config` has the embedded provider. Its code is loaded only then: no production server runs it. */
export function openSandbox(
  config: ServerConfig,
  runtime: Runtime,
  load: LoadSandbox = loadSandbox,
): OpenSandbox | undefined {
  if (config.provider !== 'embedded') return undefined
  const loading = load(config, runtime)
  // Reported by `ready` and by every request.
  loading.catch(() => {})
  return {
    ready: loading,
    fetch: async (request) => (await loading).fetch(request),
    close: async () => (await loading.catch(() => undefined))?.close(),
  }
}

async function loadSandbox(config: ServerConfig, runtime: Runtime): Promise<Sandbox> {
  const { createSandbox } = await import('../sandbox/sandbox.ts')
  return createSandbox(config, runtime)
}

/** The session provider that `config` names. The embedded one speaks like Supabase Auth and is reached through `runtime`. */
export function openProvider(
  config: ServerConfig,
  runtime: Pick<Runtime, 'now' | 'randomBytes' | 'fetch'>,
): SessionProvider {
  const { providerIssuer: issuer, providerAudience: audience } = config
  if (config.provider === 'oidc') {
    return createOidcProvider(
      {
        issuer,
        audience,
        clientId: config.providerClientId ?? '',
        clientSecret: config.providerClientSecret,
        scope: config.providerScope,
        parameters: config.providerParameters,
        label: config.providerName,
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
      social: config.social,
      captcha: config.captcha,
      secondFactor: config.secondFactor,
    },
    runtime,
  )
}
