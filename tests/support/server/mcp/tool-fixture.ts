import { AssertionSigner } from '../../../../server/core/gateway/assertion.ts'
import { IncomingCalls, type IncomingCallsPorts } from '../../../../server/core/access/call-record.ts'
import { fullAccess } from '../../../../server/core/access/access-rules.ts'
import type { Caller, SignedInCaller } from '../../../../server/core/tokens/caller.ts'
import { createSealer, fixedKeyRing } from '../../../../server/core/seal.ts'
import type { McpEndpointConfig } from '../../../../server/mcp/endpoint-config.ts'
import { prepareTool, type ReportToolFailure } from '../../../../server/mcp/tools/tool.ts'
import { createToolContexts, type ClientChannel } from '../../../../server/mcp/tools/tool-context.ts'
import type { ToolContext, ToolDeclaration, ToolModule } from '../../../../server/mcp/tools/tool-module.ts'
import { createFakeRuntime } from '../fake-runtime.ts'

/** Origin of the session provider of {@link toolContextSample} and {@link endpointConfigSample}, and its API key. */
export const providerOrigin = 'https://ref.provider.example'
export const providerKey = 'anon-key'

/** Signs what tools ask for. */
export const assertionsSample: AssertionSigner = new AssertionSigner({
  ring: fixedKeyRing([{ kid: 'k1', key: new Uint8Array(32) }]),
  issuer: 'https://mcp.example',
  audience: 'https://mcp.example',
  type: 'drawbridge-assertion+jwt',
  runtime: createFakeRuntime(),
})

/** Ada, identified by an access token of ours. */
export const callerSample: SignedInCaller = {
  credential: 'access_token',
  user: { id: 'https://provider#ada', sub: 'ada', email: undefined, name: undefined, emailVerified: false },
  clientId: 'mcpc_1',
  grantId: 'grant-1',
  workspace: undefined,
  scope: 'mcp',
  access: fullAccess,
  expiresAt: 2_000_000_000,
  providerToken: () => 'provider-token',
  isLive: async () => true,
}

/** A call of {@link waitingTool}. */
export interface WaitingCall {
  /** Lets it end. */
  go: () => void
  /** Reports progress that has grown. */
  progress: () => void
  aborted: boolean
}

/** Creates a tool named `wait` whose calls report progress, are added to `calls`, and wait to be released. */
export function waitingTool(calls: WaitingCall[]): ToolDeclaration {
  return {
    name: 'wait',
    async call(_input, { signal, progress }) {
      const call = { go: () => {}, progress: () => progress(calls.length), aborted: false }
      signal.addEventListener('abort', () => (call.aborted = true))
      progress(0)
      const going = new Promise<void>((resolve) => (call.go = resolve))
      calls.push(call)
      await going
      return 'done'
    },
  }
}

/** Creates the calls of one HTTP request of `caller`, reported to `report`. */
export function callsSample(
  caller: Caller = callerSample,
  report: IncomingCallsPorts['report'] = () => {},
): IncomingCalls {
  return new IncomingCalls({ caller, revision: undefined, requestBytes: 100, report, nowMs: () => 0 })
}

/** Creates a tool context whose requests go to `answer`. */
export function toolContextSample(
  answer: (request: Request, signal: AbortSignal | undefined) => Promise<Response>,
  { caller = callerSample, channel = {} }: { caller?: Caller; channel?: Partial<ClientChannel> } = {},
): ToolContext {
  const runtime = {
    fetch: (request: Request, { signal }: { signal?: AbortSignal } = {}) => answer(request, signal),
  }
  const contexts = createToolContexts({ runtime, providerOrigin, providerKey, assertions: assertionsSample })
  return contexts.ofCall(caller, {
    signal: new AbortController().signal,
    progress() {},
    log() {},
    ...channel,
  }) as ToolContext
}

/** Returns the configuration of an endpoint for `module`. Errors of tools go to `report`, their requests to `fetch`. */
export function endpointConfigSample(
  module: ToolModule,
  report: ReportToolFailure = (_tool, error) => {
    throw error
  },
  fetch?: (request: Request) => Promise<Response>,
): McpEndpointConfig {
  const runtime = { ...createFakeRuntime(1_750_000_000), ...(fetch && { fetch }) }
  const ring = fixedKeyRing([{ kid: 'k1', key: new Uint8Array(32) }])
  return {
    serverInfo: { name: 'sample', version: '1' },
    instructions: 'Use them.',
    tools: (module.tools ?? []).map((tool: ToolDeclaration) => prepareTool(tool, report)),
    module,
    notifies: module.start !== undefined,
    contexts: createToolContexts({ runtime, providerOrigin, providerKey, assertions: assertionsSample }),
    sealer: createSealer(ring, runtime.randomBytes),
    runtime,
    resourceMetadata: 'https://mcp.example/.well-known/oauth-protected-resource/mcp',
    report: () => {},
  }
}
