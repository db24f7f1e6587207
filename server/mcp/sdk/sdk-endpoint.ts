import type { McpEndpoint, McpEndpointConfig } from '../endpoint-config.ts'
import { OpenStreams } from '../open-streams.ts'
import { type SubscriptionLimits, subscriptionLimits } from '../subscriptions.ts'
import { createServerFactory } from './sdk-server.ts'
import { SessionChanges } from './sessions/session-changes.ts'
import { type SessionLimits, sessionLimits } from './sessions/session-table.ts'
import { createTransport2026 } from './transport-2026-07-28.ts'
import { serveOnTransports } from './transports.ts'

export interface EndpointLimits {
  sessions: SessionLimits
  subscriptions: SubscriptionLimits
}

const standardLimits: EndpointLimits = {
  sessions: sessionLimits,
  subscriptions: subscriptionLimits,
}

/**
 * Creates the endpoint for all revisions on the MCP SDK.
 *
 * 2026-07-28 goes through the SDK's handler. Messages of earlier revisions are served independently: they get a plain
 * JSON response, or a stream if the caller asked for progress, and need no preceding `initialize`. A module that asks
 * the client gets sessions as well, which begin with `initialize`.
 */
export function createSdkEndpoint(
  config: McpEndpointConfig,
  limits: EndpointLimits = standardLimits,
): McpEndpoint {
  const streams = new OpenStreams(config.runtime)
  const servers = createServerFactory(config)
  const transport2026 = createTransport2026({ config, limits: limits.subscriptions, servers, streams })
  const sessions = new SessionChanges()
  const all = [transport2026.notify, sessions.notify]
  return {
    ...serveOnTransports({
      config,
      limits: limits.sessions,
      streams,
      transport2026,
      createPeer(serving) {
        const server = servers.create(serving)
        if (serving.kind === 'session') sessions.join(server.server)
        return server
      },
      hasSessions: config.module.asksClient === true,
    }),
    notify: {
      toolsChanged: () => all.forEach((each) => each.toolsChanged()),
      promptsChanged: () => all.forEach((each) => each.promptsChanged()),
      resourcesChanged: () => all.forEach((each) => each.resourcesChanged()),
      resourceUpdated: (uri) => all.forEach((each) => each.resourceUpdated(uri)),
    },
    has: (call) => servers.has(call),
  }
}
