import { isJsonObject, type JsonObject } from '@drawbridge/shared/json-object.ts'
import { CallError, errorObject } from '@drawbridge/shared/mcp/adapter/call-error.ts'
import { inputMethods } from '@drawbridge/shared/mcp/adapter/input-required.ts'
import { jsonRpcCode, type JsonRpcMessage, type JsonRpcRequest } from '@drawbridge/shared/mcp/json-rpc.ts'
import { legacyRevisions, mcpMetaKey, modernRevision } from '@drawbridge/shared/mcp/mcp-protocol.ts'
import { metaOf } from '@drawbridge/shared/mcp/params.ts'
import { intercepted, pipeline, type Send, type Step } from '@drawbridge/shared/mcp/pipeline.ts'
import { AnsweredCalls, isOffered } from '../answered-calls.ts'
import type { UpstreamPolicy } from '../../core/gateway/upstream.ts'
import type { ServingContext } from '../endpoint-config.ts'
import type { Incoming } from '../incoming.ts'
import type { KnownTools } from '../known-tools.ts'
import type { RequestStateCodec } from '../sdk/request-state.ts'
import { unknownTool } from '../tools/tool-result.ts'
import type { AdaptedProcess, CallContext } from './adapted-process.ts'
import { describeFailure } from './process/process-connection.ts'
import type { ProcessSlot } from './process-slot.ts'

export interface CallPorts {
  policy: UpstreamPolicy
  known: KnownTools
  states: RequestStateCodec
}

type CallStep = Step<CallContext, JsonRpcRequest>
type SendCall = Send<CallContext, JsonRpcRequest>

const step = (send: CallStep['send']): CallStep => ({ send })

/**
 * Sends a request of a client through these steps, in this order, and then to the process; what comes back passes them in reverse.
 * `adapted` is set if the process speaks another revision than the client.
 */
export function callSteps(
  kind: ServingContext['kind'],
  slot: ProcessSlot,
  ports: CallPorts,
  adapted: AdaptedProcess | undefined,
): SendCall {
  const last: SendCall = adapted
    ? (request, context) => adapted.send(request, context)
    : toOwnRevision(kind, slot)
  return pipeline([forwardedMethods(kind, slot), recordedCalls(ports), sealedStates(kind, ports)], last)
}

/** Methods that a shared process gets. Any other could leave something of one person for another. */
const sharedMethods =
  /^(?:initialize|ping|server\/discover|tools\/(?:list|call)|resources\/(?:list|templates\/list|read)|prompts\/(?:list|get)|completion\/complete)$/

/** Never forwarded: what would outlive its call, and what the client's revision or way of connecting does not have. */
const refusedMethods: Readonly<Record<ServingContext['kind'], RegExp>> = {
  session: /^(?:subscriptions|tasks|events)\//,
  stateless: /^(?:(?:subscriptions|tasks|events)\/.*|logging\/setLevel|resources\/(?:un)?subscribe)$/,
  '2026-07-28': /^(?:(?:tasks|events)\/.*|initialize|ping|logging\/setLevel|resources\/(?:un)?subscribe)$/,
}

/** Refuses methods that are not forwarded. */
function forwardedMethods(kind: ServingContext['kind'], { isShared }: ProcessSlot): CallStep {
  return step(async (request, context, next) => {
    const { method } = request
    if (refusedMethods[kind].test(method) || (isShared && !sharedMethods.test(method)))
      throw new CallError(jsonRpcCode.methodNotFound, 'Method not found')
    return next(request, context)
  })
}

/**
 * Records how calls end, and removes from results what the caller may not see: hidden tools are reported as unknown. Answers with what
 * later steps throw.
 */
function recordedCalls({ policy, known }: CallPorts): CallStep {
  return step(async (request, context, next) => {
    const { incoming, signal } = context
    const ports = { policy, known, withTaskIds: undefined }
    const answered = new AnsweredCalls({ ...incoming, body: request }, ports)
    const recorded = intercepted<CallContext, JsonRpcMessage>(context, (message, deliver) =>
      deliver('method' in message ? message : answered.passResponse(message)),
    )
    signal.addEventListener('abort', () => answered.end('cancelled'), { once: true })
    const name = String(request.params?.['name'])
    const isHidden = request.method === 'tools/call' && !isOffered(name, incoming.caller, policy)
    try {
      if (isHidden) throw new CallError(jsonRpcCode.invalidParams, unknownTool(name))
      await next(request, recorded)
    } catch (error) {
      if (isHidden) answered.end('refused_rule')
      const refusal = errorObject(error, describeFailure)
      await recorded.deliver({ jsonrpc: '2.0', id: request.id, error: refusal })
    }
  })
}

/** Seals the state of a call that waits for input, and opens the one that comes back, so that each belongs to one person. */
function sealedStates(kind: ServingContext['kind'], { states }: CallPorts): CallStep {
  const opened = (request: JsonRpcRequest, incoming: Incoming): JsonRpcRequest => {
    const { method, params = {} } = request
    const { requestState } = params
    if (typeof requestState !== 'string' || !inputMethods.has(method)) return request
    try {
      return { ...request, params: { ...params, requestState: states.open(requestState, incoming) } }
    } catch {
      throw new CallError(jsonRpcCode.invalidParams, 'Invalid or expired requestState', {
        reason: 'invalid_request_state',
      })
    }
  }
  const sealed = (message: JsonRpcMessage, incoming: Incoming): JsonRpcMessage => {
    const result = 'result' in message ? message.result : undefined
    if (!isJsonObject(result) || result['requestState'] === undefined) return message
    const requestState = states.seal(result['requestState'], incoming)
    return { ...message, result: { ...result, requestState } }
  }
  return step(async (request, context, next) => {
    if (kind !== '2026-07-28') return next(request, context)
    const { incoming } = context
    const sealing = intercepted<CallContext, JsonRpcMessage>(context, (message, deliver) =>
      deliver(sealed(message, incoming)),
    )
    return next(opened(request, incoming), sealing)
  })
}

/** Sends to a process of the client's revision. Answers what is between the client and this server. */
function toOwnRevision(kind: ServingContext['kind'], slot: ProcessSlot): SendCall {
  return async ({ id, method, params = {} }, { signal, deliver }) => {
    const resultOf = async (): Promise<JsonObject> => {
      const { era, serverInfo } = slot.greeted
      switch (method) {
        case 'initialize':
          return { ...slot.presentationFor(kind), protocolVersion: revisionFor(params['protocolVersion']) }
        case 'server/discover':
          return { ...slot.presentationFor(kind), supportedVersions: [modernRevision] }
        case 'ping':
          return {}
      }
      const result = await slot.request(method, params, { signal, onMessage: deliver })
      if (era === 'legacy') return result
      const _meta = { ...metaOf(result), [mcpMetaKey.serverInfo]: serverInfo }
      return { resultType: 'complete', ...result, _meta }
    }
    await deliver({ jsonrpc: '2.0', id, result: await resultOf() })
  }
}

function revisionFor(requested: unknown): string {
  return legacyRevisions.find((known) => known === requested) ?? legacyRevisions[0]
}
