import { AssertionSigner, type AssertionType } from '../core/gateway/assertion.ts'
import type { CommandUpstream, HttpUpstream, Upstream } from '../core/gateway/upstream.ts'
import { scopeOfTool } from '../core/gateway/upstream-policy.ts'
import { version } from '../config/version.ts'
import { createCommandEndpoint } from '../mcp/command/command-endpoint.ts'
import { callerHeaders } from '../mcp/relay/caller-headers.ts'
import { createRelayEndpoint } from '../mcp/relay/relay-endpoint.ts'
import type { Served, Tools, ToolsPorts } from './open-tools.ts'

/** What serves `/mcp` when an MCP server stands behind it. */
export function serveUpstream(upstream: Upstream): Served {
  const name = upstream.kind === 'http' ? upstream.url : upstream.command
  const { scopes, policy } = upstream
  return {
    scopes,
    publicTools: policy.publicTools,
    upstream: name,
    open: (ports) => openUpstream(upstream, ports),
  }
}

/** Opens the way to an upstream. Nothing is asked of it yet. */
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
    started: Promise.resolve(),
    close: () => opened.endpoint.close(),
  }
}

function openCommand(
  upstream: CommandUpstream,
  { runtime, sealer, resourceMetadata, report }: ToolsPorts,
): Pick<Tools, 'endpoint'> {
  const endpoint = createCommandEndpoint({
    upstream,
    environment: process.env,
    version,
    sealer,
    runtime,
    resourceMetadata,
    report,
  })
  return { endpoint }
}

function openRelay(
  upstream: HttpUpstream,
  { runtime, sealer, ring, issuer, metrics, report }: ToolsPorts,
): Pick<Tools, 'endpoint' | 'keySet' | 'ping'> {
  const signer = (type: AssertionType): AssertionSigner =>
    new AssertionSigner({ ring, issuer, audience: upstream.audience, type, runtime })
  const assertions = signer('drawbridge-assertion+jwt')
  const bearers = signer('at+jwt')
  const { identity } = upstream
  const endpoint = createRelayEndpoint({
    upstream,
    identify: (caller) => callerHeaders(caller, { identity, assertions, bearers }),
    sealer,
    runtime,
    report,
    answered: (status, seconds) => metrics?.outgoingCall('upstream', status, seconds),
  })
  return { endpoint, keySet: () => assertions.keySet(), ping: () => endpoint.ping() }
}
