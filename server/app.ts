import { dirname, join } from 'node:path'
import { encodeBase64url } from '@drawbridge/shared/base64url.ts'
import type { Runtime } from '@drawbridge/shared/runtime.ts'
import type { Logger } from 'pino'
import { parseSecretKeys } from './config-value.ts'
import type { ServerConfig } from './config.ts'
import type { AuthorizationCodePorts } from './core/authorization-code.ts'
import type { CallerPorts } from './core/caller.ts'
import { createSealer, type SealingKey } from './core/seal.ts'
import { createSessionKeeper } from './core/session-keeper.ts'
import type { Store } from './core/store.ts'
import { createEmbedded, type Embedded } from './embedded.ts'
import { createAuthorizeEndpoint } from './http/authorize.ts'
import { createBindingCookie } from './http/browser-binding.ts'
import { createCallbackEndpoint } from './http/callback.ts'
import { createHealthEndpoints } from './http/health.ts'
import type { LoginPorts } from './http/login.ts'
import { createMcpGate } from './http/mcp.ts'
import { createMetadataEndpoints, publicUrls } from './http/metadata.ts'
import { createRegisterEndpoint } from './http/register.ts'
import { createRouter, type FetchHandler } from './http/router.ts'
import { createTokenEndpoint } from './http/token.ts'
import { reportTo } from './log.ts'
import { createDemoTools } from './mcp/demo-tools.ts'
import { createMcpEndpoint } from './mcp/endpoint.ts'
import { createGotrueProvider } from './provider/gotrue.ts'
import { createMemoryStore } from './store/memory.ts'
import { readOrCreateSecretKeys } from './store/secret-key-file.ts'
import { openSqliteStore } from './store/sqlite.ts'
import { version } from './version.ts'

const collectEveryMs = 60_000
const collectLimit = 500

/** A running Drawbridge without its sockets. */
export interface App {
  /** Serves BASE_URL. */
  fetch: FetchHandler
  /** What lives at APP_URL, while the embedded provider is in use. */
  embedded: Embedded | undefined
  store: Store
  close(): Promise<void>
}

/** The composition root: opens the store, picks the provider, and hands each endpoint the functions it needs. */
export function createApp(config: ServerConfig, runtime: Runtime, log: Logger): App {
  const store = config.store.kind === 'memory' ? createMemoryStore() : openSqliteStore(config.store.path)
  const sealer = createSealer(sealingKeys(config, runtime), runtime.randomBytes)
  const embedded = createEmbedded(config, runtime)
  const appOrigin = new URL(config.appUrl).origin
  // What is served in this process is called in this process: no socket needs to be open for it.
  const inward: Runtime = {
    ...runtime,
    fetch: (request) =>
      new URL(request.url).origin === appOrigin ? embedded.fetch(request) : runtime.fetch(request),
  }
  const provider = createGotrueProvider(
    {
      url: config.providerUrl,
      apiKey: undefined,
      issuer: config.providerIssuer,
      audience: config.providerAudience,
      hs256Secret: undefined,
      social: config.social,
    },
    inward,
  )
  const report = reportTo(log)
  // Names this process: among the instances that share a store, and in the request ids of its log.
  const instance = encodeBase64url(runtime.randomBytes(9))
  let requests = 0
  const keeper = createSessionKeeper({
    store,
    provider,
    sealer,
    runtime,
    owner: instance,
    report: (event, grantId) => report(event, { grant_id: grantId }),
  })
  const urls = publicUrls(config.baseUrl)
  const codes: AuthorizationCodePorts = {
    store,
    sealer,
    runtime,
    providerIssuer: provider.issuer,
    sessionTtlSeconds: config.sessionTtl,
    accessTokenTtlSeconds: config.accessTokenTtl,
    reportGrantEnd: ({ id, clientId, user }, reason) =>
      report('grant_ended', { grant_id: id, client_id: clientId, sub: user.sub, reason }),
  }
  const login: LoginPorts = {
    urls,
    appUrl: config.appUrl,
    clients: store,
    codes,
    signIn: { store, provider, sealer, runtime, callbackUrl: `${urls.issuer}/oauth/callback` },
    bindingCookie: createBindingCookie(config.baseUrl),
  }
  const callers: CallerPorts = {
    store,
    keeper,
    provider,
    runtime,
    sessionTokens: config.sessionTokens,
    cookieName: config.cookieName,
  }
  const mcp = createMcpEndpoint({
    serverInfo: { name: 'drawbridge', title: 'Drawbridge', version },
    instructions: 'Tools of the web app, called as the user who signed in. Start with whoami.',
    tools: createDemoTools(config.appUrl, inward),
    report: (event, error) => report(event, { error }),
  })
  const fetch = createRouter(
    [
      ...createMetadataEndpoints(urls, 'Drawbridge'),
      createRegisterEndpoint(urls.basePath, {
        store,
        runtime,
        policy: { privateUseRedirectUris: config.privateUseRedirectUris },
      }),
      createAuthorizeEndpoint(login),
      createCallbackEndpoint(login),
      createTokenEndpoint(urls.basePath, { ...codes, clients: store }),
      createMcpGate({ urls, allowedOrigins: config.allowedOrigins, callers, serve: mcp.handle }),
      ...createHealthEndpoints(urls.basePath, {
        store: () => store.findClient(''),
        provider: () => provider.capabilities(),
      }),
    ],
    {
      baseUrl: config.baseUrl,
      createContext: () => {
        requests += 1
        const id = `${instance}-${requests.toString(36)}`
        return { id, report: reportTo(log, { request_id: id }) }
      },
    },
  )
  const collecting = setInterval(() => {
    collectExpired(store, runtime).catch((error: unknown) => report('collect_failed', { error }))
  }, collectEveryMs)
  collecting.unref()

  return {
    fetch,
    embedded,
    store,
    async close() {
      clearInterval(collecting)
      await mcp.close()
      embedded.close()
      await store.close()
    },
  }
}

/** Deletes all that has expired, in batches between which requests are served. */
async function collectExpired(store: Store, runtime: Runtime): Promise<void> {
  while ((await store.collectExpired(runtime.now(), collectLimit)) === collectLimit) await runtime.sleep(10)
}

/** The configured key ring, or the one generated beside the store: for the embedded provider, which holds nothing of value. */
function sealingKeys(config: ServerConfig, runtime: Runtime): readonly SealingKey[] {
  if (config.secretKeys) return config.secretKeys
  if (config.store.kind === 'memory') return [{ kid: 'memory', key: runtime.randomBytes(32) }]
  const path = join(dirname(config.store.path), 'secret-keys')
  const text = readOrCreateSecretKeys(path, () => `generated:${encodeBase64url(runtime.randomBytes(32))}`)
  return parseSecretKeys(text)
}
