import type { Runtime } from '@drawbridge/shared/runtime.ts'
import { AssertionSigner } from '../core/gateway/assertion.ts'
import { createWorkspaceList, type ListWorkspaces } from '../core/workspaces/workspace-list.ts'
import { reservedScopes } from '../core/tokens/scope.ts'
import type { KeyRing, Sealer } from '../core/seal.ts'
import type { McpEndpoint } from '../mcp/endpoint-config.ts'
import { createPlainEndpoint } from '../mcp/plain/plain-endpoint.ts'
import { createSdkEndpoint } from '../mcp/sdk/sdk-endpoint.ts'
import { notesTools, whoamiTool } from '../mcp/tools/own-tools.ts'
import { createToolContexts } from '../mcp/tools/tool-context.ts'
import type { ToolModule } from '../mcp/tools/tool-module.ts'
import type { Report } from '../observability/log.ts'
import type { Metrics } from '../observability/metrics.ts'
import type { Telemetry } from '../observability/telemetry/telemetry.ts'
import { providers } from '../config/provider.ts'
import type { ServerConfig } from '../config/setting-table.ts'
import { openToolModule, publicToolsOf } from './open-tool-module.ts'
import { version } from '../config/version.ts'

/** The tools of one process, and the endpoint that serves them. */
export interface Tools {
  endpoint: McpEndpoint
  /** Client headers that are passed on to an upstream, in lower case. */
  forwardedHeaders?: readonly string[]
  /** Returns the key set for verifying assertions; undefined without an upstream. */
  keySet?: () => object
  /** Rejects if the upstream does not respond; undefined if there is none to check. */
  ping?: () => Promise<unknown>
  /** Undefined: the app has no workspaces. */
  workspaces?: ListWorkspaces | undefined
  /** Resolves when the module has started; rejects if it failed to. */
  started: Promise<unknown>
  /** Ends the streams and stops the module. Never rejects. */
  close(): Promise<void>
}

/** The tools or the upstream that `/mcp` serves. */
export interface Served {
  /** Scopes besides the one for all tools, with a description of each. */
  scopes: Readonly<Record<string, string>>
  /** The upstream's display name: its URL or command. Undefined: the tools are this server's own. */
  upstream?: string
  /** Owner of the tools, shown to the user who approves them. Undefined: the web app. */
  toolsOf?: string
  /** Names of the tools that can be called without signing in. */
  publicTools: ReadonlySet<string>
  module?: ToolModule
  /** Opens the tools; throws their faults. */
  open(ports: ToolsPorts): Tools
}

/** Serves the tools of a module; without one, those for trying out. */
export function serveModule(
  config: Pick<ServerConfig, 'provider'>,
  module: ToolModule = defaultToolModule(config),
): Served {
  return {
    scopes: module.scopes ?? {},
    publicTools: publicToolsOf(module),
    module,
    open: (ports) => openTools(module, ports),
  }
}

function defaultToolModule(config: Pick<ServerConfig, 'provider'>): ToolModule {
  return {
    instructions: 'Tools of the web app, called as the user who signed in. Start with whoami.',
    tools: providers[config.provider].isTrial ? [whoamiTool, ...notesTools] : [whoamiTool],
  }
}

/** Dependencies of {@link openTools}. */
export interface ToolsPorts {
  config: Pick<ServerConfig, 'providerUrl' | 'providerKey'>
  runtime: Runtime
  /** Seals the state that clients carry for a call waiting for their input. */
  sealer: Sealer
  resourceMetadata: string
  issuer: string
  ring: KeyRing
  metrics: Pick<Metrics, 'outgoingCall'> | undefined
  telemetry: Pick<Telemetry, 'upstream'> | undefined
  report: Report
}

/** Checks a tool module, prepares its tools and starts it. Throws `ToolModuleError` with every fault. */
function openTools(module: ToolModule, ports: ToolsPorts): Tools {
  const { config, runtime, sealer, resourceMetadata, report } = ports
  const { definitions, ...opened } = openToolModule(module, reservedScopes, (tool, error) =>
    report('tool_failed', { tool, error }),
  )
  // Only the MCP SDK can serve registrations of a module; plain tools work without it, in a fraction of the time.
  const createEndpoint = opened.register ? createSdkEndpoint : createPlainEndpoint
  const { ring, issuer } = ports
  const assertions = new AssertionSigner({
    ring,
    issuer,
    audience: issuer,
    type: 'drawbridge-assertion+jwt',
    runtime,
  })
  const contexts = createToolContexts({
    runtime,
    providerOrigin: new URL(config.providerUrl).origin,
    providerKey: config.providerKey,
    assertions,
  })
  const { workspaces } = opened
  const endpoint = createEndpoint({
    serverInfo: { name: 'drawbridge', title: 'Drawbridge', version, ...opened.serverInfo },
    instructions: withPublicTools(
      opened.instructions ?? 'Tools of the web app, called as the user who signed in.',
      publicToolsOf(module),
    ),
    tools: definitions,
    module: opened,
    notifies: opened.start !== undefined,
    sealer,
    runtime,
    resourceMetadata,
    contexts,
    report: (event, error) => report(event, { error }),
  })
  // Asynchronous, because `start` may throw.
  const starting = (async () => (await opened.start?.({ notify: endpoint.notify })) ?? undefined)()
  starting.catch((error: unknown) => report('tools_not_started', { error }))
  return {
    endpoint,
    workspaces: workspaces && createWorkspaceList(async (of) => workspaces(contexts.ofUser(of)), report),
    keySet: () => assertions.keySet(),
    started: starting,
    async close() {
      await endpoint.close()
      const stop = await starting.catch(() => undefined)
      try {
        await stop?.()
      } catch (error) {
        report('tools_not_stopped', { error })
      }
    },
  }
}

/** Adds the public tools to the instructions: a model that knows them can begin with them, and expects the sign-in of others. */
function withPublicTools(instructions: string, publicTools: ReadonlySet<string>): string {
  if (publicTools.size === 0) return instructions
  return `${instructions}\n\nThese tools need no sign-in: ${[...publicTools].join(', ')}. Any other tool asks for it when it is called.`
}
