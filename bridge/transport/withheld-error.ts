import type { WireMessage } from '@drawbridge/shared/mcp/json-rpc.ts'
import { type Context, intercepted, type Send } from '@drawbridge/shared/mcp/pipeline.ts'
import { TransportError } from './transport.ts'

/**
 * Sends a request and withholds its error: a failure, or a response for which `isWithheld` returns true. Resolves with undefined
 * if the request was answered otherwise.
 * `failure`: a JSON-RPC error that arrived as a response is a {@link TransportError} with that `response`. `release` delivers the response or
 * rejects with the failure, as if it had not been withheld.
 */
export async function withholdError(
  send: Send,
  message: WireMessage,
  context: Context,
  isWithheld: (answer: WireMessage) => boolean = isErrorResponse,
): Promise<{ failure: unknown; release(): Promise<void> } | undefined> {
  let withheld: WireMessage | undefined
  const watched = intercepted(context, (answer, deliver) => {
    if (answer.envelope.kind !== 'response' || !isWithheld(answer)) return deliver(answer)
    withheld = answer
    return undefined
  })
  try {
    await send(message, watched)
  } catch (failure) {
    return { failure, release: () => Promise.reject(failure) }
  }
  const answer = withheld
  return answer && { failure: answeredError(answer), release: async () => context.deliver(answer) }
}

/** Returns whether a message is a JSON-RPC error. */
export function isErrorResponse({ envelope }: WireMessage): boolean {
  return envelope.kind === 'response' && envelope.isError
}

/** The failure that a JSON-RPC error stands for. */
export function answeredError(answer: WireMessage): TransportError {
  const { status } = answer
  return new TransportError('refused', 'The server answered with an error.', { response: answer, status })
}
