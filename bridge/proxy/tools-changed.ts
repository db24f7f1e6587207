import { isJsonObject } from '@drawbridge/shared/json-object.ts'
import type { JsonRpcRequest } from '@drawbridge/shared/mcp/json-rpc.ts'
import { parseWireMessage, toWireMessage } from '@drawbridge/shared/mcp/message.ts'
import type { WireMessage } from '@drawbridge/shared/mcp/message.ts'
import type { PendingRequests } from './pending-requests.ts'
import { isSubscription } from '@drawbridge/shared/mcp/adapter/subscription-filter.ts'
import type { ClientState } from './client-state.ts'
import { subscriptionNotice } from '../sign-in/authorization-prompt.ts'

const method = 'notifications/tools/list_changed'

/** The messages that tell the client, in each era in which it wants to know, that it should list the tools again. */
export function toolsChangedNotices(client: ClientState, pendingRequests: PendingRequests): WireMessage[] {
  const notices = client.initialized === undefined ? [] : [toWireMessage({ jsonrpc: '2.0', method })]
  for (const call of pendingRequests.calls()) {
    if (!isSubscription(call)) continue
    const wanted = (parseWireMessage(call.wire) as JsonRpcRequest).params?.['notifications']
    if (isJsonObject(wanted) && wanted['toolsListChanged'] === true)
      notices.push(toWireMessage(subscriptionNotice(method, call.id)))
  }
  return notices
}
