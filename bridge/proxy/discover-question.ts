import type { McpEra } from '@drawbridge/shared/mcp/mcp-protocol.ts'
import { toWireMessage } from '@drawbridge/shared/mcp/message.ts'
import { eraByDiscoverAnswer, eraByModernFailure } from '../transport/revision-detection.ts'
import type { PendingRequest } from './pending-requests.ts'
import { claimsOf } from './client-state.ts'
import type { ClientState } from './client-state.ts'
import type { Transport } from '../transport/transport.ts'
import { isSignInNeeded } from '../sign-in/sign-in-attempt.ts'
import type { SignIns } from '../sign-in/sign-in-attempt.ts'

/**
 * Asks the server for its era by a `server/discover` of our own, in the name of the client, as it says in the request that
 * this is about. Undefined is no evidence. With `mayWait` a refusal leads to a sign-in and another try, within the time that
 * answers wait for one.
 */
export async function askDiscover(
  about: Pick<PendingRequest, 'era' | 'wire' | 'abort'> | undefined,
  mayWait: boolean,
  ports: { transport: Transport; client: ClientState; signIns: SignIns; randomId(): string },
): Promise<McpEra | undefined> {
  const { transport, client, signIns } = ports
  const signal = about?.abort.signal
  const question = toWireMessage({
    jsonrpc: '2.0',
    id: ports.randomId(),
    method: 'server/discover',
    params: { _meta: claimsOf(client, about?.era === 'modern' ? about.wire : undefined) },
  })
  let found: McpEra | undefined
  for (;;) {
    try {
      await transport.send(question, {
        ...(signal && { signal }),
        deliver(answer) {
          if (answer.envelope.kind === 'response') found = eraByDiscoverAnswer(answer)
        },
      })
      return found
    } catch (error) {
      const attempt = mayWait && isSignInNeeded(error) ? signIns.begin(false) : undefined
      if (attempt === undefined) return eraByModernFailure(error, 'server/discover')
      if ((await attempt.settled(signal)) !== 'done') return undefined
    }
  }
}
