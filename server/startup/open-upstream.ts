import { AssertionSigner, type AssertionType } from '../core/gateway/assertion.ts'
import type { CommandUpstream, HttpUpstream, Upstream } from '../core/gateway/upstream.ts'
import { scopeOfTool } from '../core/gateway/upstream-policy.ts'
import { ConfigError } from '../config/config.ts'
import { version } from '../config/version.ts'
import { createCommandEndpoint } from '../mcp/command/command-endpoint.ts'
import { processUserFault } from '../mcp/command/process/process-user.ts'
import { callerHeaders } from '../mcp/relay/caller-headers.ts'
import { createRelayEndpoint } from '../mcp/relay/relay-endpoint.ts'
import type { Served, Tools, ToolsPorts } from './open-tools.ts'

/** Serves an upstream at `/mcp`. Throws {@link ConfigError} if it cannot be started as configured. */
export function serveUpstream(upstream: Upstream): Served {
  const fault = upstream.kind === 'command' && upstream.user ? processUserFault() : undefined
  if (fault !== undefined) throw new ConfigError([fault])
  const { name, scopes, policy } = upstream
  return {
    scopes,
    publicTools: policy.publicTools,
    upstream: name ?? (upstream.kind === 'http' ? upstream.url : programOf(upstream)),
    toolsOf: name ?? 'this MCP server',
    open: (ports) => openUpstream(upstream, ports),
  }
}

/** Returns the program of a command: for `npx -y PACKAGE` the package. Other arguments may be secret. */
function programOf({ command, args }: CommandUpstream): string {
  if (!/^(?:npx|bunx|uvx|node|python3?)$/.test(command)) return command
  return args.find((arg) => !['-y', '--yes', '-q', '-m', '-u'].includes(arg))?.replace(/^-.*/, '') || command
}

/** Opens the connection to an upstream, without sending a request yet. */
function openUpstream(upstream: Upstream, ports: ToolsPorts): Tools {
  const { policy } = upstream
  const opened = upstream.kind === 'http' ? openRelay(upstream, ports) : openCommand(upstream, ports)
  return {
    ...opened,
    scopesOfCalls: (calls) => [
      ...new Set(
        calls.flatMap(({ event, name }) =>
          event === 'tool_called' ? (scopeOfTool(policy, name) ?? []) : [],
        ),
      ),
    ],
    close: () => opened.endpoint.close(),
  }
}

function openCommand(
  upstream: CommandUpstream,
  { runtime, sealer, resourceMetadata, report }: ToolsPorts,
): Pick<Tools, 'endpoint' | 'started'> {
  const endpoint = createCommandEndpoint({
    upstream,
    environment: process.env,
    version,
    sealer,
    runtime,
    resourceMetadata,
    report,
  })
  void endpoint.tryStart()
  return { endpoint, started: Promise.resolve() }
}

function openRelay(
  upstream: HttpUpstream,
  { runtime, sealer, ring, issuer, metrics, telemetry, report }: ToolsPorts,
): Pick<Tools, 'endpoint' | 'keySet' | 'ping' | 'refusesStrangers' | 'started'> {
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
    ping: () => endpoint.ping(),
    refusesStrangers: () => endpoint.refusesStrangers(),
    started: upstream.policy.publicTools.size > 0 ? endpoint.meetStranger() : Promise.resolve(),
  }
}
