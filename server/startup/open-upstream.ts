import { AssertionSigner, type AssertionType } from '../core/gateway/assertion.ts'
import type { CommandUpstream, HttpUpstream, Upstream } from '../core/gateway/upstream.ts'
import { ConfigError } from '@drawbridge/shared/settings/setting.ts'
import { version } from '../config/version.ts'
import { processUserFault } from '../mcp/command/process/process-user.ts'
import { callerHeaders } from '../mcp/relay/caller-headers.ts'
import { createRelayEndpoint } from '../mcp/relay/relay-endpoint.ts'
import { readBounded } from '../providers/provider-response.ts'
import { createWorkspaceList, type WorkspaceUser } from '../core/workspaces/workspace-list.ts'
import type { Runtime } from '@drawbridge/shared/runtime.ts'
import type { Served, Tools, ToolsPorts } from './open-tools.ts'

const fetchTimeoutMs = 10_000

/** Serves an upstream at `/mcp`. Throws {@link ConfigError} if it cannot be started as configured. */
export async function serveUpstream(upstream: Upstream): Promise<Served> {
  if (upstream.kind === 'http') return serveHttpUpstream(upstream)
  const fault = upstream.user ? processUserFault() : undefined
  if (fault !== undefined) throw new ConfigError([fault])
  return servedAs(upstream, programOf(upstream), await commandOpener(upstream))
}

/** Serves an MCP server at a URL at `/mcp`. */
export function serveHttpUpstream(upstream: HttpUpstream): Served {
  return servedAs(upstream, upstream.url, (ports) => openRelay(upstream, ports))
}

function servedAs(upstream: Upstream, place: string, openEndpoint: (ports: ToolsPorts) => Opened): Served {
  const { name, scopes, policy } = upstream
  return {
    scopes,
    publicTools: policy.publicTools,
    upstream: name ?? place,
    toolsOf: name ?? 'this MCP server',
    open: (ports) => openUpstream(upstream, openEndpoint(ports), ports),
  }
}

/** Returns the program of a command: for `npx -y PACKAGE` the package. Other arguments may be secret. */
function programOf({ command, args }: CommandUpstream): string {
  if (!/^(?:npx|bunx|uvx|node|python3?)$/.test(command)) return command
  return args.find((arg) => !['-y', '--yes', '-q', '-m', '-u'].includes(arg))?.replace(/^-.*/, '') || command
}

type Opened = Omit<Tools, 'close' | 'started'>

/** Returns what opens the endpoint in front of a command. Only that needs the MCP SDK. */
async function commandOpener(upstream: CommandUpstream): Promise<(ports: ToolsPorts) => Opened> {
  const { createCommandEndpoint } = await import('../mcp/command/command-endpoint.ts')
  return ({ runtime, sealer, resourceMetadata, report }) => {
    const ports = { version, sealer, runtime, resourceMetadata, report }
    const endpoint = createCommandEndpoint({ upstream, environment: process.env, ...ports })
    void endpoint.tryStart()
    return { endpoint }
  }
}

function openUpstream(
  { workspacesUrl }: Upstream,
  opened: Opened,
  { runtime, report }: Pick<ToolsPorts, 'runtime' | 'report'>,
): Tools {
  return {
    ...opened,
    started: Promise.resolve(),
    workspaces:
      workspacesUrl === undefined
        ? undefined
        : createWorkspaceList((of) => fetchWorkspaces(workspacesUrl, of, runtime), report),
    close: () => opened.endpoint.close(),
  }
}

/** Requests the workspaces as the user, from an app that the operator trusts: wherever else it redirects gets no token. */
async function fetchWorkspaces(
  url: string,
  { providerToken }: WorkspaceUser,
  runtime: Pick<Runtime, 'fetch'>,
): Promise<unknown> {
  const headers = { authorization: `Bearer ${providerToken()}`, accept: 'application/json' }
  const request = new Request(url, { headers, redirect: 'error' })
  const response = await runtime.fetch(request, { signal: AbortSignal.timeout(fetchTimeoutMs) })
  const body = await readBounded(response)
  if (!response.ok) throw new TypeError(`the app answers ${response.status}`)
  return JSON.parse(body.toString())
}

function openRelay(
  upstream: HttpUpstream,
  { runtime, sealer, ring, issuer, metrics, telemetry, report }: ToolsPorts,
): Opened {
  const signer = (type: AssertionType): AssertionSigner =>
    new AssertionSigner({ ring, issuer, audience: upstream.audience, type, runtime })
  const assertions = signer('drawbridge-assertion+jwt')
  const bearers = signer('at+jwt')
  const { identity } = upstream
  const endpoint = createRelayEndpoint({
    upstream,
    identify: (caller) => callerHeaders(caller, { identity, assertions, bearers }),
    sealer,
    ring,
    runtime,
    report,
    observe(given) {
      const began = performance.now()
      const { request, answered } = telemetry?.upstream(given) ?? { request: given }
      return {
        request,
        answered(answer) {
          metrics?.outgoingCall('upstream', answer?.statusCode, (performance.now() - began) / 1000)
          answered?.(answer)
        },
      }
    },
  })
  return {
    endpoint,
    keySet: () => assertions.keySet(),
    forwardedHeaders: upstream.forward,
    ping: () => endpoint.ping(),
  }
}
