import type { JsonRpcId } from '@drawbridge/shared/mcp/json-rpc.ts'
import { readEnvelope } from './envelope.ts'
import { scanJson } from './json-scan.ts'
import type { Envelope, WireMessage } from './wire-message.ts'

/** No client or server has a reason for more; each one costs memory. */
const mostMessages = 10_000

const batchInBatch: Envelope = { kind: 'invalid', id: undefined, reason: 'a batch within a batch' }

/**
 * The messages of a batch (MCP 2025-03-26 only), each byte by byte as it was; some may be `invalid`. Empty for what is no
 * batch, an empty one, and one with more than 10,000 messages.
 */
export function splitBatch(batch: WireMessage): WireMessage[] {
  const messages: WireMessage[] = []
  if (batch.envelope.kind !== 'batch') return messages
  scanJson(batch.bytes, (start, end) => {
    const bytes = batch.bytes.subarray(start, end)
    const envelope = readEnvelope(bytes)
    // Whoever followed those within each other would read the innermost as often as there are levels.
    messages.push({ bytes, envelope: envelope.kind === 'batch' ? batchInBatch : envelope })
    return messages.length <= mostMessages
  })
  return messages.length > mostMessages ? [] : messages
}

/** The ids that a message wants answers for: none, one, or those of all requests of a batch. */
export function requestIds(message: WireMessage): Set<JsonRpcId> {
  const messages = message.envelope.kind === 'batch' ? splitBatch(message) : [message]
  const ids = new Set<JsonRpcId>()
  for (const { envelope } of messages) if (envelope.kind === 'request') ids.add(envelope.id)
  return ids
}
