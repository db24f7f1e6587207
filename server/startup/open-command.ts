import { version } from '../config/version.ts'
import type { CommandUpstream } from '../core/gateway/upstream.ts'
import { createCommandEndpoint } from '../mcp/command/command-endpoint.ts'
import type { Tools, ToolsPorts } from './open-tools.ts'

/** Opens the endpoint that serves a command, and starts its first process. */
export function openCommand(
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
