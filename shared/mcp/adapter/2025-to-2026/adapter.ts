import { isJsonObject } from '../../../json-object.ts'
import type { JsonObject } from '../../../json-object.ts'
import { jsonRpcCode } from '../../json-rpc.ts'
import type { JsonRpcNotification, JsonRpcRequest } from '../../json-rpc.ts'
import { legacyRevisions, mcpMetaKey, modernRevision } from '../../mcp-protocol.ts'
import type { Runtime } from '../../../runtime.ts'
import { CallError, errorMember, resultObject, toError2025 } from '../call-error.ts'
import { mapClientCapabilities, mapServerCapabilities } from '../capabilities.ts'
import { createClientRequests } from './client-requests.ts'
import { toResult2025 } from './result.ts'
import type { Revision2025 } from './result.ts'
import { createSubscriptions } from './subscriptions.ts'
import { completeCall, createUpstream2026 } from './request.ts'
import { createLocalCalls } from '../local-calls.ts'
import type { LocalCall } from '../local-calls.ts'
import { logSeverity, metaOf } from '../params.ts'
import { createDeadlines } from '../deadlines.ts'
import type { DescribeFailure, LocalPeer, Server2026, Adapter } from '../ports.ts'

/** What {@link createAdapterFrom2025To2026} needs. */
export interface PortsFrom2025To2026 {
  local: LocalPeer
  server: Server2026
  describeFailure: DescribeFailure
  runtime: Runtime
  /** A result of `server/discover` that is known already. */
  discovered?: JsonObject
}

/**
 * Connects a 2025 client to a 2026-07-28 server. The adapter does what the server no longer has: `initialize`,
 * `ping`, `logging/setLevel`, subscriptions, and requests to the client. Methods that are not
 * known pass. `take` returns at once; the answer comes later.
 */
export function createAdapterFrom2025To2026(ports: PortsFrom2025To2026): Adapter {
  const { local, server, runtime } = ports
  const deadlines = createDeadlines(runtime)
  const calls = createLocalCalls(local)
  const clientRequests = createClientRequests(local, runtime, deadlines)
  let client: { info: JsonObject | undefined; capabilities: JsonObject } = {
    info: undefined,
    capabilities: {},
  }
  let revision: Revision2025 = legacyRevisions[0]
  let logLevel: unknown
  const upstream = createUpstream2026(server, () => ({
    [mcpMetaKey.protocolVersion]: modernRevision,
    ...(client.info && { [mcpMetaKey.clientInfo]: client.info }),
    [mcpMetaKey.clientCapabilities]: client.capabilities,
    ...(logLevel !== undefined && { [mcpMetaKey.logLevel]: logLevel }),
  }))
  const callPorts = {
    upstream,
    clientRequests,
    deadlines,
    runtime,
    clientCapabilities: () => client.capabilities,
  }
  let discovered = ports.discovered === undefined ? undefined : Promise.resolve(ports.discovered)
  const subscriptions = createSubscriptions({
    notice: calls.notify,
    upstream,
    runtime,
    serverCapabilities,
  })

  function discover(): Promise<JsonObject> {
    discovered ??= askDiscover().catch((error: unknown) => {
      discovered = undefined
      throw error
    })
    return discovered
  }

  async function askDiscover(): Promise<JsonObject> {
    const response = await upstream.request('server/discover', undefined)
    if (!('error' in response)) return resultObject(response)
    const { code, message, data } = toError2025(response.error, 'server/discover', undefined)
    throw new CallError(code, message, data)
  }

  async function serverCapabilities(): Promise<JsonObject> {
    return mapServerCapabilities((await discover())['capabilities'])
  }

  async function initialize({ params }: JsonRpcRequest): Promise<JsonObject> {
    const info = params?.['clientInfo']
    logLevel = undefined
    client = {
      info: isJsonObject(info) ? info : undefined,
      capabilities: mapClientCapabilities(params?.['capabilities']),
    }
    const requested = params?.['protocolVersion']
    revision = legacyRevisions.find((known) => known === requested) ?? legacyRevisions[0]
    return toInitializeResult(revision, await discover())
  }

  function setLogLevel({ params }: JsonRpcRequest): JsonObject {
    const level = params?.['level']
    // The server would refuse every later request with an unknown level.
    if (logSeverity(level) === undefined)
      throw new CallError(jsonRpcCode.invalidParams, 'There is no such log level.')
    logLevel = level
    return {}
  }

  const own: ReadonlyMap<string, (request: JsonRpcRequest) => JsonObject | Promise<JsonObject>> = new Map<
    string,
    (request: JsonRpcRequest) => JsonObject | Promise<JsonObject>
  >([
    ['initialize', initialize],
    ['ping', () => ({})],
    ['logging/setLevel', setLogLevel],
    ['resources/subscribe', ({ params }) => subscriptions.subscribe(params?.['uri'])],
    ['resources/unsubscribe', ({ params }) => subscriptions.unsubscribe(params?.['uri'])],
  ])

  async function carry(call: LocalCall): Promise<JsonObject> {
    const { method } = call.request
    return toResult2025(method, await completeCall(call, callPorts), revision)
  }

  async function serve(call: LocalCall): Promise<void> {
    try {
      await call.answer(await (own.get(call.request.method)?.(call.request) ?? carry(call)))
    } catch (error) {
      if (call.isOpen()) await call.fail(errorMember(error, ports.describeFailure))
    }
  }

  function takeNotification({ method, params }: JsonRpcNotification): void {
    if (method === 'notifications/cancelled') calls.cancel(params?.['requestId'])
    // The rest has no counterpart: a 2026-07-28 client tells its server nothing but cancellations.
    else if (method === 'notifications/initialized') subscriptions.begin()
  }

  return {
    async take(message) {
      if (!('method' in message)) clientRequests.take(message)
      else if (!('id' in message)) takeNotification(message)
      else {
        const call = calls.begin(message)
        if (call !== undefined) void serve(call)
      }
    },
    reopen: () => subscriptions.reopen(),
    async close() {
      clientRequests.close()
      subscriptions.close()
      calls.close()
      deadlines.close()
    },
  }
}

/** The result of `initialize`, built from the result of `server/discover`. */
function toInitializeResult(protocolVersion: Revision2025, discovered: JsonObject): JsonObject {
  const { capabilities, instructions } = discovered
  // Older servers of 2026-07-28 have it in the body.
  const info = metaOf(discovered)[mcpMetaKey.serverInfo] ?? discovered['serverInfo']
  return {
    protocolVersion,
    capabilities: mapServerCapabilities(capabilities),
    serverInfo: { name: 'unknown', version: '0', ...(isJsonObject(info) && info) },
    ...(typeof instructions === 'string' && { instructions }),
  }
}
