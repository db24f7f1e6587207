import { isJsonObject } from '@drawbridge/shared/json-object.ts'
import type { JsonRpcRequest } from '@drawbridge/shared/mcp/json-rpc.ts'
import { parseWireMessage, toWireMessage } from '@drawbridge/shared/mcp/message.ts'
import type { WireMessage } from '@drawbridge/shared/mcp/message.ts'
import type { InFlight } from './in-flight.ts'
import { isSubscription } from '@drawbridge/shared/mcp/adapter/subscription-filter.ts'
import type { LocalClient } from './local-client.ts'
import { subscriptionNotice } from '../sign-in/sign-in-message.ts'

const method = 'notifications/tools/list_changed'

/** The messages that tell the client, in each era in which it wants to know, that it should list the tools again. */
export function toolsChangedNotices(client: LocalClient, inFlight: InFlight): WireMessage[] {
  const notices = client.initialized === undefined ? [] : [toWireMessage({ jsonrpc: '2.0', method })]
  for (const call of inFlight.calls()) {
    if (!isSubscription(call)) continue
    const wanted = (parseWireMessage(call.wire) as JsonRpcRequest).params?.['notifications']
    if (isJsonObject(wanted) && wanted['toolsListChanged'] === true)
      notices.push(toWireMessage(subscriptionNotice(method, call.id)))
  }
  return notices
}
