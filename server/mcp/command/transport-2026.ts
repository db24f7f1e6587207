import { PerRequestHTTPServerTransport, SdkError } from '@modelcontextprotocol/server'
import type { JsonRpcRequest } from '@drawbridge/shared/mcp/json-rpc.ts'
import { legacyRevisions, mcpErrorCode, modernRevision } from '@drawbridge/shared/mcp/mcp-protocol.ts'
import { isOffered } from '../answered-calls.ts'
import { keepAliveMs } from '../event-stream.ts'
import type { Reply } from '@drawbridge/shared/text-response.ts'
import type { Incoming } from '../incoming.ts'
import type { OpenStreams } from '../open-streams.ts'
import { errorResponse } from '../plain/plain-answer.ts'
import { checkMessage } from '../plain/plain-check.ts'
import type { Transport2026 } from '../sdk/transports.ts'
import { createSubscribe, openSubscription, subscriptionLimits } from '../subscriptions.ts'
import { headerMismatchError, parameterHeaderMismatch } from '../tools/header-check.ts'
import { ForwardedClient, type ForwardingPorts } from './forwarded-client.ts'
import type { ProcessSlot } from './process-slot.ts'

/**
 * Serves clients of 2026-07-28 by processes of that revision: each message is a client of its own. If the command knows earlier
 * revisions only, the answer names them, so that a client that knows both begins a session.
 */
export function createCommandTransport2026(clients: ForwardingPorts, streams: OpenStreams): Transport2026 {
  const subscribe = createSubscribe(subscriptionLimits, streams)

  async function serve(
    message: JsonRpcRequest,
    client: ForwardedClient,
    request: Request,
    incoming: Incoming,
  ): Promise<Reply> {
    const { slot } = client
    if (message.method === 'subscriptions/listen') {
      const { changes, greeted } = slot
      return subscribe(message.id, incoming, greeted.serverInfo, () =>
        openSubscription(message, greeted.serverInfo, changes),
      )
    }
    const { caller, calls } = incoming
    const refused = refuseHeaders(message, slot, request)
    if (refused && isOffered(String(message.params?.['name']), caller, clients.known)) return refused
    const transport = new PerRequestHTTPServerTransport({
      classification: { era: 'modern', revision: modernRevision },
      keepAliveMs,
    })
    await client.connect(transport)
    try {
      const response = await transport.handleMessage(message, { request })
      return streams.track(response, { caller, calls, kind: 'call' })
    } catch (error) {
      if (!(error instanceof SdkError)) throw error
      return { status: 499, headers: {}, body: null }
    }
  }

  return {
    async handle(request, incoming) {
      // Which tool has which header parameters its process knows.
      const checked = checkMessage(request.headers, incoming.body, new Map())
      if (checked.kind === 'refused') {
        clients.report('mcp_rejected', { error: new Error(checked.error.message) })
        return errorResponse(checked.status, checked.error, checked.id)
      }
      if (checked.kind !== 'revision_2026') return { status: 202, headers: {}, body: null }
      const message = checked.message as JsonRpcRequest
      if (clients.pool.lacks2026) return unsupported(message)
      const client = new ForwardedClient({ kind: '2026-07-28', incoming: () => incoming }, clients)
      const release = await client.hold(incoming)
      try {
        if (client.slot.greeted.era === 'legacy') return unsupported(message)
        return await serve(message, client, request, incoming)
      } finally {
        release()
      }
    },
    async close() {},
  }
}

/** The answer to clients of 2026-07-28 if the command knows earlier revisions only (MCP 2026-07-28 versioning). */
function unsupported({ id }: JsonRpcRequest): Reply {
  const error = {
    code: mcpErrorCode.unsupportedProtocolVersion,
    message: `The server behind this one does not know ${modernRevision}. Begin with initialize at ${legacyRevisions[0]} or earlier.`,
    data: { supported: [...legacyRevisions], requested: modernRevision },
  }
  return errorResponse(400, error, id)
}

/** Arguments that are repeated in headers must agree with them, as far as the process has said which. */
function refuseHeaders(
  { id, method, params = {} }: JsonRpcRequest,
  { headerParameters }: ProcessSlot,
  request: Request,
): Reply | undefined {
  if (method !== 'tools/call') return undefined
  const parameters = headerParameters.get(String(params['name'])) ?? []
  const mismatch = parameterHeaderMismatch(parameters, params['arguments'], request.headers)
  return mismatch && errorResponse(400, headerMismatchError(mismatch), id)
}
