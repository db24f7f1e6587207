import type { Implementation } from '@modelcontextprotocol/server'
import { hasOddNumber } from '@drawbridge/shared/exact-json.ts'
import type { Reply } from '@drawbridge/shared/text-response.ts'
import type { CommandUpstream } from '../../core/gateway/upstream.ts'
import { callsOf } from '../../core/access/call-record.ts'
import { KnownTools } from '../known-tools.ts'
import type { McpEndpoint, McpEndpointConfig } from '../endpoint-config.ts'
import { failureResponse, internalError } from '../failure-response.ts'
import { OpenStreams, ownerOf } from '../open-streams.ts'
import { RequestStateCodec } from '../sdk/request-state.ts'
import { sessionLimits } from '../sdk/sessions.ts'
import { ToolLearning } from '../tool-learning.ts'
import { serveOnTransports } from '../sdk/transports.ts'
import { ForwardedClient, type ForwardingPorts } from './forwarded-client.ts'
import { ExactIds } from './exact-ids.ts'
import { createProcessGuardian } from './process/process-guardian.ts'
import { ProcessPool } from './process-pool.ts'
import type { CommandEvent } from './process/command-process.ts'
import { createCommandTransport2026 } from './transport-2026.ts'
import { Unavailable } from './start-limits.ts'

export interface CommandEndpointConfig extends Pick<
  McpEndpointConfig,
  'sealer' | 'runtime' | 'resourceMetadata'
> {
  upstream: CommandUpstream
  /** This server's own environment, of which processes get next to nothing. */
  environment: Readonly<Record<string, string | undefined>>
  /** Version of this server, which processes see as their client. */
  version: string
  report: (event: CommandEvent | 'mcp_rejected', fields: Record<string, unknown>) => void
}

export interface CommandEndpoint extends McpEndpoint {
  /** Returns the number of processes, including those that start or end. */
  processCount(): number
  /** Starts and stops one process, as {@link ProcessPool.tryStart} does. Resolves with how the server presents itself. */
  tryStart(): Promise<Implementation | undefined>
}

/**
 * Creates the endpoint that serves `/mcp` by processes of a command that speaks MCP over stdio. {@link ProcessPool} decides which process
 * serves a client; {@link ForwardedClient} takes the client's messages there.
 */
export function createCommandEndpoint(config: CommandEndpointConfig): CommandEndpoint {
  const { upstream, environment, version, sealer, runtime, resourceMetadata } = config
  const known = new KnownTools(upstream.policy)
  const learning = new ToolLearning(known, runtime)
  const guardian = createProcessGuardian(environment['PATH'], (error) =>
    config.report('upstream_unguarded', { error }),
  )
  const clientInfo = { name: 'drawbridge', title: 'Drawbridge', version }
  const pool = new ProcessPool({ ...config, clientInfo, guardian })
  const ports: ForwardingPorts = {
    pool,
    known,
    states: new RequestStateCodec(sealer, runtime),
    report: config.report,
  }
  const report = (_event: string, error: unknown): void => config.report('mcp_rejected', { error })
  const streams = new OpenStreams(runtime)
  const ids = new ExactIds(runtime)
  const transports = serveOnTransports({
    config: { runtime, resourceMetadata, report },
    limits: sessionLimits,
    streams,
    transport2026: createCommandTransport2026(ports, streams),
    createPeer: (serving) => new ForwardedClient(serving, ports),
    hasSessions: true,
  })

  return {
    ...transports,
    has: (call) => known.has(call),
    scopeOf: (tool) => known.scopeOf(tool),
    async learn(_request, incoming) {
      if (learning.isNeeded(incoming))
        await learning.learn(ownerOf(incoming.caller), (params, signal) =>
          pool.askOne(incoming.caller, (slot) => slot.request('tools/list', params, { signal })),
        )
      return undefined
    },
    async handle(request, given, caller, calls, text) {
      const body = text !== undefined && hasOddNumber(text) ? ids.read(text) : given
      const isExact = body !== given || request.headers.has('last-event-id')
      const restored = (reply: Reply): Reply | Promise<Reply> => (isExact ? ids.restore(reply) : reply)
      try {
        return await restored(await transports.handle(request, body, caller, calls))
      } catch (error) {
        if (!(error instanceof Unavailable)) throw error
        for (const call of callsOf(body)) calls.refuse(call, { outcome: 'failed', isKnown: known.has(call) })
        const { status, message, retryAfterSeconds: seconds } = error
        const headers = seconds === undefined ? {} : { 'retry-after': String(seconds) }
        return restored(failureResponse(status, internalError(message), body, headers))
      }
    },
    processCount: () => pool.size,
    tryStart: async () => (await pool.tryStart())?.serverInfo,
    async close() {
      await pool.close()
      await transports.close()
      guardian.close()
    },
  }
}
