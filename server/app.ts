import { encodeBase64url } from '@drawbridge/shared/base64url.ts'
import type { Runtime } from '@drawbridge/shared/runtime.ts'
import type { Logger } from 'pino'
import type { ServerConfig } from './setting.ts'
import type { AuthorizationCodePorts } from './core/authorization-code.ts'
import type { CallerPorts } from './core/caller.ts'
import { createSealer, type KeyRing } from './core/seal.ts'
import { createSessionKeeper } from './core/session-keeper.ts'
import { createSignOutWorker } from './core/sign-out-worker.ts'
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
import { createMcpEndpoint } from './mcp/endpoint.ts'
import { createNotesTools } from './mcp/notes-tools.ts'
import { whoamiTool } from './mcp/whoami-tool.ts'
import { openKeyRing } from './open-key-ring.ts'
import { openProvider } from './open-provider.ts'
import { openStore } from './open-store.ts'
import { startUpkeep } from './upkeep.ts'
import { version } from './version.ts'

/** A running Drawbridge without its sockets. */
export interface App {
  /** Serves BASE_URL. */
  fetch: FetchHandler
  /** What lives at APP_URL, while the embedded provider is in use. */
  embedded: Embedded | undefined
  store: Store
  /** Rejects when the store cannot be used. Requests find that out by themselves; a start should not succeed first. */
  prepare(): Promise<void>
  close(): Promise<void>
}

/** The composition root: opens the store, picks the provider, and hands each endpoint the functions it needs. */
export function createApp(config: ServerConfig, runtime: Runtime, log: Logger): App {
  const store = openStore(config.store)
  const report = reportTo(log)
  const ring = openKeyRing(config, runtime, report)
  const sealer = createSealer(ring, runtime.randomBytes)
  const embedded = config.provider === 'embedded' ? createEmbedded(config, runtime) : undefined
  const inward = embedded ? withEmbedded(runtime, embedded, config.appUrl) : runtime
  const provider = openProvider(config, inward)
  // Names this process: among the instances that share a store, and in the request ids of its log.
  const instance = encodeBase64url(runtime.randomBytes(9))
  let requests = 0
  const reportAboutGrant = (event: string, grantId: string | undefined, error?: unknown): void =>
    report(event, { grant_id: grantId, error })
  const keeper = createSessionKeeper({
    store,
    provider,
    providerIssuer: provider.issuer,
    sealer,
    runtime,
    owner: instance,
    checkSeconds: config.sessionCheck,
    report: reportAboutGrant,
  })
  const signOuts = createSignOutWorker({
    store,
    provider,
    providerIssuer: provider.issuer,
    sealer,
    runtime,
    report: reportAboutGrant,
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
    signIn: {
      store,
      provider,
      sealer,
      runtime,
      callbackUrl: `${urls.issuer}/oauth/callback`,
      limitPerMinute: config.signInLimit,
    },
    bindingCookie: createBindingCookie(config.baseUrl),
  }
  const callers: CallerPorts = {
    store,
    keeper,
    provider,
    runtime,
    // A provider whose tokens cannot be verified here has no cookie either.
    sessionTokens: config.sessionTokens && provider.verify !== undefined,
    cookieName: config.cookieName,
    checkSeconds: config.sessionCheck,
  }
  const mcp = createMcpEndpoint({
    serverInfo: { name: 'drawbridge', title: 'Drawbridge', version },
    instructions: 'Tools of the web app, called as the user who signed in. Start with whoami.',
    tools: [whoamiTool, ...(embedded ? createNotesTools(config.appUrl, inward) : [])],
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
        keys: () => checkKeys(store, ring),
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
  const upkeep = startUpkeep({ store, signOuts, keeper }, runtime, report)

  return {
    fetch,
    embedded,
    store,
    prepare: () => store.prepare(),
    async close() {
      await upkeep.stop()
      await mcp.close()
      // The provider may still be answering, and what it says has to be stored.
      await keeper.settle()
      embedded?.close()
      await store.close()
    },
  }
}

/** What is served in this process is called in this process: no socket needs to be open for it. */
function withEmbedded(runtime: Runtime, embedded: Embedded, appUrl: string): Runtime {
  const { origin } = new URL(appUrl)
  return {
    ...runtime,
    fetch: (request, options) =>
      new URL(request.url).origin === origin ? embedded.fetch(request) : runtime.fetch(request, options),
  }
}

/** Rejects when something stored is sealed with a key that is not in the ring: it cannot be used until the key is back. */
async function checkKeys(store: Store, ring: KeyRing): Promise<void> {
  const isMissing = (kid: string): boolean => ring.keys().every((key) => key.kid !== kid)
  const missing = (): Promise<string[]> =>
    store.listSealingKeys().then((kids) => kids.filter((kid) => isMissing(kid)))
  if ((await missing()).length === 0) return
  ring.refresh()
  const [kid] = await missing()
  if (kid !== undefined) throw new Error(`The key ring lacks ${kid}.`)
}
