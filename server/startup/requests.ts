import { encodeBase64url } from '@drawbridge/shared/base64url.ts'
import type { Runtime } from '@drawbridge/shared/runtime.ts'
import { traceIdOf } from '@drawbridge/shared/trace-context.ts'
import type { ServerConfig } from '../config/setting-table.ts'
import type { AttemptBook } from '../core/attempts/attempt-book.ts'
import type { Sealer } from '../core/seal.ts'
import { openKnownAccounts } from '../core/sign-in/device-cookie.ts'
import { createAttemptWatch } from '../http/attempt-watch.ts'
import type { RemoteSocket, RequestContext } from '../http/endpoint.ts'
import { healthPaths } from '../http/health.ts'
import { createAddressChain, createClientAddress } from '../http/listener/client-address.ts'
import type { RequestGate } from '../http/listener/guarded-server.ts'
import { createLoadShedding } from '../http/listener/load-shedding.ts'
import type { LoginCookies } from '../http/cookies.ts'
import { publicUrls, tokenPaths } from '../http/public-urls.ts'
import { logEvents } from '../observability/log-event.ts'
import { type Log, type LogBindings, nameTokenRefusals, type Report, reportTo } from '../observability/log.ts'

/** With an https base URL only a proxy, which ends TLS, connects to this server. */
function reachOf({ baseUrl }: ServerConfig): { onlyByProxy: boolean } {
  return { onlyByProxy: baseUrl.startsWith('https:') }
}

/** Creates the function that gives each request its id, the address of its client and its log. */
export function createRequestContexts(
  config: ServerConfig,
  runtime: Runtime,
  log: Log,
  attempts: AttemptBook,
): (request: Request, peer: RemoteSocket | undefined) => RequestContext {
  const { basePath } = publicUrls(config.baseUrl)
  const clientAddress = createClientAddress(config.trustedProxies, reachOf(config))
  const warn = warnWithoutAddress(basePath, reportTo(log))
  const pathsOfTokens = tokenPaths(basePath)
  const watchAttempt = createAttemptWatch(attempts, basePath, (event) => logEvents[event])
  return (request, peer) => {
    // Random: every client sees it, and it must not tell how many requests there were.
    const id = encodeBase64url(runtime.randomBytes(12))
    const address = clientAddress(request, peer)
    warn(address, request)
    const bindings: LogBindings = {
      request_id: id,
      trace_id: traceIdOf(request.headers.get('traceparent')),
      address,
    }
    const report = nameTokenRefusals(reportTo(log, bindings), request.url, pathsOfTokens)
    // The context in the message comes first: the headers may carry a proxy's.
    const trace: RequestContext['trace'] = ({ message, traceparent }) => {
      bindings.trace_id = traceIdOf(traceparent) ?? bindings.trace_id
      return message
    }
    return watchAttempt(request, { id, address, report, trace })
  }
}

/** Creates the gate that runs before the requests of one server are read. */
export function createGate(
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
    healthPaths: healthPaths(basePath),
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
  const probes = new Set(healthPaths(basePath))
  let settled = false
  return (address, request) => {
    if (settled) return
    if (address === undefined && probes.has(new URL(request.url).pathname)) return
    settled = true
    if (address === undefined) report('address_unknown')
  }
}
