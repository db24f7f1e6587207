import { isJsonObject } from '../../../json-object.ts'
import type { JsonObject } from '../../../json-object.ts'
import { jsonRpcCode } from '../../json-rpc.ts'
import type { JsonRpcNotification, JsonRpcRequest } from '../../json-rpc.ts'
import { legacyRevisions, mcpMetaKey, modernRevision } from '../../mcp-protocol.ts'
import type { Runtime } from '../../../runtime.ts'
import { CallError, errorMember, resultObject, toLegacyError } from '../call-error.ts'
import { mapClientCapabilities, mapServerCapabilities } from '../capabilities.ts'
import { createLocalAsker } from './client-requests.ts'
import { carryCall } from './request.ts'
import { toLegacyResult } from './result.ts'
import type { LegacyRevision } from './result.ts'
import { createSubscriptions } from './subscriptions.ts'
import { createModernUpstream } from './upstream.ts'
import { createLocalCalls } from '../local-calls.ts'
import type { LocalCall } from '../local-calls.ts'
import { logSeverity, metaOf } from '../params.ts'
import { createDeadlines } from '../deadlines.ts'
import type { DescribeFailure, LocalPeer, ModernServer, Translator } from '../ports.ts'

/** What {@link createLegacyToModern} needs. */
export interface LegacyToModernPorts {
  local: LocalPeer
  server: ModernServer
  describeFailure: DescribeFailure
  runtime: Runtime
  /** A result of `server/discover` that is known already. */
  discovered?: JsonObject
}

/**
 * Lets a client of the 2025 era talk to a 2026-07-28 server. What the server does not have any more is done here: `initialize`,
 * `ping`, `logging/setLevel`, subscriptions, and the requests that a server of that era sends its client. Methods that are not
 * known pass. `take` returns at once; the answer comes later.
 */
export function createLegacyToModern(ports: LegacyToModernPorts): Translator {
  const { local, server, runtime } = ports
  const deadlines = createDeadlines(runtime)
  const calls = createLocalCalls(local)
  const asker = createLocalAsker(local, runtime, deadlines)
  let client: { info: JsonObject | undefined; capabilities: JsonObject } = {
    info: undefined,
    capabilities: {},
  }
  let revision: LegacyRevision = legacyRevisions[0]
  let logLevel: unknown
  const upstream = createModernUpstream(server, () => ({
    [mcpMetaKey.protocolVersion]: modernRevision,
    ...(client.info && { [mcpMetaKey.clientInfo]: client.info }),
    [mcpMetaKey.clientCapabilities]: client.capabilities,
    ...(logLevel !== undefined && { [mcpMetaKey.logLevel]: logLevel }),
  }))
  const callPorts = {
    upstream,
    asker,
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
    const response = await upstream.ask('server/discover', undefined)
    if (!('error' in response)) return resultObject(response)
    const { code, message, data } = toLegacyError(response.error, 'server/discover', undefined)
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
    // A server would refuse every later request that carries something else.
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
    return toLegacyResult(method, await carryCall(call, callPorts), revision)
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
      if (!('method' in message)) asker.take(message)
      else if (!('id' in message)) takeNotification(message)
      else {
        const call = calls.begin(message)
        if (call !== undefined) void serve(call)
      }
    },
    reopen: () => subscriptions.reopen(),
    async close() {
      asker.close()
      subscriptions.close()
      calls.close()
      deadlines.close()
    },
  }
}

/** `initialize` as a server of the 2025 era would answer it, made of the result of `server/discover`. */
function toInitializeResult(protocolVersion: LegacyRevision, discovered: JsonObject): JsonObject {
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
