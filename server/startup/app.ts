import { encodeBase64url } from '@drawbridge/shared/base64url.ts'
import type { Runtime } from '@drawbridge/shared/runtime.ts'
import { readLogoFile, readTextsFiles } from '../config/document-file.ts'
import type { ServerConfig } from '../config/setting-table.ts'
import { AccessControl } from '../core/access/access-control.ts'
import { AttemptBook } from '../core/attempts/attempt-book.ts'
import { BackgroundWork, type WaitUntil } from '../core/background-work.ts'
import { GrantUses } from '../core/session/grant-use.ts'
import type { SessionProvider } from '../core/session/session-provider.ts'
import { ScopeCatalogue } from '../core/tokens/scope.ts'
import { createSealer, type KeyRing, type Sealer } from '../core/seal.ts'
import { SessionKeeper } from '../core/session/session-keeper.ts'
import { withServices } from '../core/session/service-session.ts'
import { shareSessions } from '../core/session/shared-session.ts'
import { SignOutWorker } from '../core/session/sign-out-worker.ts'
import type { Store } from '../core/store.ts'
import { createEndpoints } from './endpoint-table.ts'
import { valueOr } from '../core/document.ts'
import { Languages } from '../texts/languages.ts'
import { publicUrls } from '../http/public-urls.ts'
import type { RequestGate } from '../http/listener/guarded-server.ts'
import { createLoginCookies } from '../http/cookies.ts'
import { createLook, type Look } from '../http/pages/look.ts'
import { createHttpApp } from '../http/http-app.ts'
import type { FetchHandler } from '../http/endpoint.ts'
import { createSteadyCheck, type ReadinessChecks } from '../http/health.ts'
import { type Log, type Report, reportTo } from '../observability/log.ts'
import { joinObservers, observeFetch, observeStore } from '../observability/operation-observer.ts'
import { openAccessPolicy } from './open-access.ts'
import { openClients } from './open-clients.ts'
import {
  type LoadSandbox,
  openProvider,
  type OpenSandbox,
  openSandbox,
  withSandbox,
} from './open-provider.ts'
import { checkKeys, openKeyRing, openStore } from './open-store.ts'
import type { Served, Tools } from './open-tools.ts'
import { createGate, createRequestContexts } from './requests.ts'
import { createUpkeep } from './upkeep.ts'

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
  /** Does all upkeep once. Never rejects. */
  upkeep(): Promise<void>
  close(): Promise<void>
}

export interface AppOptions {
  loadSandbox?: LoadSandbox | undefined
  /** For a process that may be stopped after each answer: what is left to do then goes here, and nothing is done at an interval. */
  waitUntil?: WaitUntil | undefined
}

/**
 * The composition root: opens the store, picks the provider, and hands each endpoint the functions it needs. `served` is
 * what /mcp offers; `ToolModuleError` is thrown when that is a module that cannot be used.
 */
export function createApp(
  config: ServerConfig,
  runtime: Runtime,
  log: Log,
  served: Served,
  options: AppOptions = {},
): App {
  const store = observeStore(openStore(config.store), joinObservers(log.metrics, log.telemetry))
  try {
    return compose(store, config, runtime, log, served, options)
  } catch (error) {
    // Nothing uses the store yet, and an invalid file must not keep the database locked.
    store.close().catch(() => {})
    throw error
  }
}

function compose(
  store: Store,
  ...[config, runtime, log, served, { loadSandbox, waitUntil } = {}]: Parameters<typeof createApp>
): App {
  const report = reportTo(log)
  const ring = openKeyRing(config, runtime, report)
  const sandbox = openSandbox(config, runtime, loadSandbox)
  const common = { store, config, runtime, report, sealer: createSealer(ring, runtime.randomBytes) }
  const inward = openNetwork(config, runtime, log, sandbox)
  const sessions = openSessions(common, inward)
  const grantUses = new GrantUses({ store, runtime })
  const attempts = new AttemptBook({ store, runtime })
  const urls = publicUrls(config.baseUrl)
  const { metrics, telemetry } = log
  const tools = served.open({ ...common, ...urls, runtime: inward, ring, metrics, telemetry })
  const cookies = createLoginCookies(config.baseUrl)
  const pages = openPages(config)
  const background = new BackgroundWork()
  let isDraining = false
  const endpoints = createEndpoints({
    ...common,
    ...sessions,
    ...pages,
    background,
    cookies,
    urls,
    scopes: new ScopeCatalogue(served.scopes, served.toolsOf),
    clients: openClients(config, runtime, store, report),
    tools,
    publicTools: served.publicTools,
    grantUses,
    readiness: readinessChecks({ store, ring, tools }, sessions.provider),
    isDraining: () => isDraining,
    telemetry,
  })
  const upkeep = createUpkeep({ ...sessions, store, grantUses, attempts }, runtime, report)
  const fetch = createHttpApp(endpoints, {
    ...pages,
    baseUrl: config.baseUrl,
    ...(metrics && { observer: metrics }),
    createContext: createRequestContexts(config, runtime, log, attempts),
  })
  if (!waitUntil) upkeep.start()
  const finish = () => Promise.all([background.settle(), upkeep.afterRequest()])
  return {
    fetch: waitUntil ? waiting(fetch, finish, waitUntil) : fetch,
    upkeep: () => upkeep.run(),
    gate: createGate(config, { ...common, cookies }),
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
      await tools.close()
      await background.settle()
      // The provider may still be answering, and its answers must be stored.
      await sessions.keeper.settle()
      await sandbox?.close()
      await store.close()
    },
  }
}

/** Hands each request and what it leaves to do to `waitUntil`: the client may be gone before there is an answer. */
function waiting(fetch: FetchHandler, finish: () => Promise<unknown>, waitUntil: WaitUntil): FetchHandler {
  return (request, peer) => {
    const answered = fetch(request, peer)
    waitUntil(answered.then(finish, finish))
    return answered
  }
}

/** Returns the checks that must pass before a balancer sends requests here. */
function readinessChecks(
  { store, ring, tools }: { store: Store; ring: KeyRing; tools: Tools },
  provider: SessionProvider,
): ReadinessChecks {
  // A slow disk is not an outage.
  const writes = createSteadyCheck(() => store.proveWritable())
  return {
    // The read first: it gets over a connection that broke.
    store: async () => {
      await store.findClient('')
      await writes()
    },
    keys: () => checkKeys(store, ring),
    provider: createSteadyCheck(() => provider.ping()),
    ...(tools.ping && { upstream: createSteadyCheck(tools.ping) }),
  }
}

function openPages(config: ServerConfig): { look: Look; languages: Languages } {
  const { appName, appAccent } = config
  return {
    look: createLook({ appName, appAccent, logoUrl: valueOr(readLogoFile(config), undefined) }),
    languages: new Languages(valueOr(readTextsFiles(config), [])),
  }
}

/** Opens the network as the provider and the tools see it: observed, and with the sandbox in it. */
function openNetwork(
  config: ServerConfig,
  runtime: Runtime,
  log: Log,
  sandbox: OpenSandbox | undefined,
): Runtime {
  if (sandbox) return withSandbox(runtime, sandbox, config.appUrl)
  const targets = {
    [new URL(config.appUrl).origin]: 'app',
    [new URL(config.providerUrl).origin]: 'provider',
  }
  return observeFetch(runtime, targets, joinObservers(log.metrics, log.telemetry))
}

function openSessions(
  common: { store: Store; config: ServerConfig; runtime: Runtime; sealer: Sealer; report: Report },
  inward: Runtime,
) {
  const { store, config, runtime, sealer, report } = common
  const opened = { store, provider: withServices(openProvider(config, inward)), sealer, runtime }
  const shared = config.providerSessions === 'one' ? shareSessions(opened) : { ...opened, isInUse: undefined }
  const { provider } = shared
  const access = new AccessControl({ provider, policy: openAccessPolicy(config, runtime, report) })
  const ports = {
    providerIssuer: provider.issuer,
    sealer,
    runtime,
    report: (event: string, grantId: string | undefined, error?: unknown): void =>
      report(event, { grant_id: grantId, error }),
  }
  const keeper = new SessionKeeper({
    ...ports,
    store: shared.store,
    provider,
    // Identifies this process among the instances that share a store.
    owner: encodeBase64url(runtime.randomBytes(9)),
    checkSeconds: config.sessionCheck,
    mustProbeNew: () => provider.profileNeedsProbe && access.policy !== undefined,
  })
  const signOuts = new SignOutWorker({ ...ports, store, provider, isInUse: shared.isInUse })
  return { provider, access, keeper, signOuts }
}
