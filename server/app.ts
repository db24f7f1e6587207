import { encodeBase64url } from '@drawbridge/shared/base64url.ts'
import type { Runtime } from '@drawbridge/shared/runtime.ts'
import { traceIdOf } from '@drawbridge/shared/trace-context.ts'
import type { ServerConfig } from './config/setting.ts'
import { AccessControl } from './core/access/access-control.ts'
import { createGrantUse } from './core/session/grant-use.ts'
import { createScopeCatalogue } from './core/tokens/scope.ts'
import { createSealer, type KeyRing, type Sealer } from './core/seal.ts'
import { openKnownAccounts } from './core/sign-in/device-cookie.ts'
import { createSessionKeeper } from './core/session/session-keeper.ts'
import { shareSessions } from './core/session/shared-session.ts'
import { createSignOutWorker } from './core/session/sign-out-worker.ts'
import type { Store } from './core/store.ts'
import { createEndpoints } from './startup/endpoint-table.ts'
import { createAddressChain, createClientAddress } from './http/listener/client-address.ts'
import { publicUrls, tokenPaths } from './http/public-urls.ts'
import type { RequestGate } from './http/listener/guarded-server.ts'
import { createLoginCookies, type LoginCookies } from './http/login/cookies.ts'
import { createHttpApp } from './http/app.ts'
import type { FetchHandler, Peer, RequestContext } from './http/endpoint.ts'
import { createSteadyCheck } from './http/health.ts'
import { createLoadShedding } from './http/listener/load-shedding.ts'
import { type Log, type LogBindings, nameTokenRefusals, type Report, reportTo } from './observability/log.ts'
import { observeFetch, observeStore } from './observability/metrics-observer.ts'
import { openAccessPolicy } from './startup/open-access.ts'
import { openClients } from './startup/open-clients.ts'
import { type LoadSandbox, openProvider, type OpenSandbox, openSandbox } from './startup/open-provider.ts'
import { openKeyRing, openStore } from './startup/open-store.ts'
import { defaultToolModule, type Served, serveModule } from './startup/open-tools.ts'
import { startUpkeep } from './startup/upkeep.ts'

/** A running Drawbridge without its sockets. */
export interface App {
  /** Serves BASE_URL. */
  fetch: FetchHandler
  /** Runs before {@link fetch}: sheds load that would only be refused, to protect good clients. */
  gate: RequestGate
  /** Serves APP_URL when the embedded provider is configured. */
  sandbox: OpenSandbox | undefined
  store: Store
  ring: KeyRing
  /** Rejects when the store, the tools or the sandbox cannot be used, so that the start fails. */
  prepare(): Promise<void>
  /** Makes `/readyz` fail from now on. Requests are still served. */
  drain(): void
  /** Ends the streams of `/mcp` that only wait for notifications, which would hold up a shutdown. */
  endStreams(): void
  close(): Promise<void>
}

/**
 * The composition root: opens the store, picks the provider, and hands each endpoint the functions it needs. `served` is
 * what /mcp offers instead of the tools for trying out; `ToolModuleError` is thrown when that is a module that cannot be used.
 */
export function createApp(
  config: ServerConfig,
  runtime: Runtime,
  log: Log,
  served: Served = serveModule(defaultToolModule(config)),
  loadSandbox?: LoadSandbox,
): App {
  const store = observeStore(openStore(config.store), log.metrics)
  try {
    return compose({ store, config, runtime, log, served, loadSandbox })
  } catch (error) {
    // Nothing uses the store yet, and an invalid file must not keep the database locked.
    store.close().catch(() => {})
    throw error
  }
}

interface Parts {
  store: Store
  config: ServerConfig
  runtime: Runtime
  log: Log
  served: Served
  loadSandbox: LoadSandbox | undefined
}

function compose({ store, config, runtime, log, served, loadSandbox }: Parts): App {
  const report = reportTo(log)
  const ring = openKeyRing(config, runtime, report)
  const sealer = createSealer(ring, runtime.randomBytes)
  const sandbox = openSandbox(config, runtime, loadSandbox)
  const targets = {
    [new URL(config.appUrl).origin]: 'app',
    [new URL(config.providerUrl).origin]: 'provider',
  }
  const outward = observeFetch(runtime, targets, log.metrics)
  const inward = sandbox ? withSandbox(runtime, sandbox, config.appUrl) : outward
  const opened = { store, provider: openProvider(config, inward), sealer, runtime }
  const sessions =
    config.providerSessions === 'one' ? shareSessions(opened) : { ...opened, endingProvider: opened.provider }
  const { provider } = sessions
  // Identifies this process among the instances that share a store.
  const instance = encodeBase64url(runtime.randomBytes(9))
  let isDraining = false
  const reportAboutGrant = (event: string, grantId: string | undefined, error?: unknown): void =>
    report(event, { grant_id: grantId, error })
  const access = new AccessControl({ provider, policy: openAccessPolicy(config, runtime, report) })
  const keeper = createSessionKeeper({
    store: sessions.store,
    provider,
    providerIssuer: provider.issuer,
    sealer,
    runtime,
    owner: instance,
    checkSeconds: config.sessionCheck,
    mustProbeNew: () => provider.profileNeedsProbe && access.hasRules,
    report: reportAboutGrant,
  })
  const signOuts = createSignOutWorker({
    store,
    provider: sessions.endingProvider,
    providerIssuer: provider.issuer,
    sealer,
    runtime,
    report: reportAboutGrant,
  })
  const grantUses = createGrantUse({ store, runtime })
  const urls = publicUrls(config.baseUrl)
  const scopes = createScopeCatalogue(served.scopes)
  const tools = served.open({
    config,
    runtime: inward,
    sealer,
    resourceMetadata: urls.resourceMetadata,
    issuer: urls.issuer,
    ring,
    metrics: log.metrics,
    report,
  })
  const clients = openClients(config, runtime, store, report)
  const cookies = createLoginCookies(config.baseUrl)
  const endpoints = createEndpoints({
    config,
    cookies,
    runtime,
    store,
    provider,
    sealer,
    keeper,
    urls,
    scopes,
    clients,
    tools,
    publicTools: served.publicTools,
    grantUses,
    access,
    readiness: {
      store: () => store.findClient(''),
      keys: () => checkKeys(store, ring),
      provider: createSteadyCheck(() => provider.ping()),
      ...(tools.ping && { upstream: createSteadyCheck(tools.ping) }),
    },
    isDraining: () => isDraining,
    report,
  })
  const fetch = createHttpApp(endpoints, {
    baseUrl: config.baseUrl,
    allowedHosts: config.allowedHosts,
    ...(log.metrics && { observer: log.metrics }),
    createContext: createRequestContexts(config, runtime, log),
  })
  const upkeep = startUpkeep({ store, signOuts, keeper, grantUses }, runtime, report)

  return {
    fetch,
    gate: createGate(config, { cookies, sealer, runtime, report }),
    sandbox,
    store,
    ring,
    async prepare() {
      await sandbox?.ready
      await store.prepare()
      await tools.started
    },
    drain: () => void (isDraining = true),
    endStreams: () => tools.endpoint.endStreams(),
    async close() {
      await upkeep.stop()
      await grantUses.flush().catch((error: unknown) => report('upkeep_failed', { error }))
      await tools.close()
      // The provider may still be answering, and its answers must be stored.
      await keeper.settle()
      await sandbox?.close()
      await store.close()
    },
  }
}

/** With an https base URL only a proxy, which ends TLS, connects to this server. */
function reachOf({ baseUrl }: ServerConfig): { onlyByProxy: boolean } {
  return { onlyByProxy: baseUrl.startsWith('https:') }
}

function createRequestContexts(
  config: ServerConfig,
  runtime: Runtime,
  log: Log,
): (request: Request, peer: Peer | undefined) => RequestContext {
  const { basePath } = publicUrls(config.baseUrl)
  const clientAddress = createClientAddress(config.trustedProxies, reachOf(config))
  const warn = warnWithoutAddress(basePath, reportTo(log))
  const pathsOfTokens = tokenPaths(basePath)
  const nextId = createRequestIds(runtime)
  return (request, peer) => {
    const id = nextId()
    const address = clientAddress(request, peer)
    warn(address, request)
    const bindings: LogBindings = {
      request_id: id,
      trace_id: traceIdOf(request.headers.get('traceparent')),
      address,
    }
    const report = nameTokenRefusals(reportTo(log, bindings), request.url, pathsOfTokens)
    const trace = (traceparent: unknown): void => {
      bindings.trace_id ??= traceIdOf(traceparent)
    }
    return { id, address, report, trace }
  }
}

/**
 * Creates the ids of requests. They are random: every client sees them, and they must not tell how many requests there were.
 * They are drawn 256 at a time, because a call of the generator takes a tenth of the time of a short request.
 */
function createRequestIds({ randomBytes }: Pick<Runtime, 'randomBytes'>): () => string {
  const idLength = 16
  let ids = ''
  return () => {
    if (ids === '') ids = encodeBase64url(randomBytes(256 * 12))
    const id = ids.slice(0, idLength)
    ids = ids.slice(idLength)
    return id
  }
}

function createGate(
  config: ServerConfig,
  {
    cookies,
    sealer,
    runtime,
    report,
  }: { cookies: LoginCookies; sealer: Sealer; runtime: Runtime; report: Report },
): RequestGate {
  const { basePath } = publicUrls(config.baseUrl)
  const pathsOfTokens = tokenPaths(basePath)
  return createLoadShedding({
    addressOf: createAddressChain(config.trustedProxies, reachOf(config)),
    runtime,
    report,
    tokenPaths: pathsOfTokens,
    isKnownBrowser: (cookieHeader) =>
      openKnownAccounts(cookies.device.readFrom(cookieHeader), { sealer, runtime }).length > 0,
    // Not /oauth/revoke and /oauth/device_authorization: any public client gets a good response there, and a secret that it
    // sends along is ignored. A client with a real secret also uses the token endpoint.
    provingPaths: [...pathsOfTokens, ...['/mcp', '/oauth/introspect'].map((path) => basePath + path)],
  })
}

/**
 * Warns once that limits per address do not apply, at the first request without an address if none had one before. Health probes
 * of the machine itself do not count.
 */
function warnWithoutAddress(
  basePath: string,
  report: Report,
): (address: string | undefined, request: Request) => void {
  const probes = new Set(['/healthz', '/readyz'].map((path) => basePath + path))
  let settled = false
  return (address, request) => {
    if (settled) return
    if (address === undefined && probes.has(new URL(request.url).pathname)) return
    settled = true
    if (address === undefined) report('address_unknown')
  }
}

/** Calls of APP_URL stay in this process: they need no open socket. */
function withSandbox(runtime: Runtime, sandbox: OpenSandbox, appUrl: string): Runtime {
  const { origin } = new URL(appUrl)
  return {
    ...runtime,
    fetch: (request, options) =>
      new URL(request.url).origin === origin ? sandbox.fetch(request) : runtime.fetch(request, options),
  }
}

/** Rejects when a stored value is sealed with a key that is missing from the ring. */
async function checkKeys(store: Store, ring: KeyRing): Promise<void> {
  const isMissing = (kid: string): boolean => ring.keys().every((key) => key.kid !== kid)
  const missing = (): Promise<string[]> =>
    store.listSealingKeys().then((kids) => kids.filter((kid) => isMissing(kid)))
  if ((await missing()).length === 0) return
  ring.refresh()
  const [kid] = await missing()
  if (kid !== undefined) throw new Error(`The key ring lacks ${kid}.`)
}
