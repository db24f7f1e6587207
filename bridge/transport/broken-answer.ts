import { NetworkError } from '../http/http-client.ts'
import { backoffMs, pause } from './interruptible-pause.ts'
import type { LegConfig, LegPorts } from './leg-config.ts'
import { isSubscription } from '../adapter/listen-filter.ts'
import { RemoteError } from './remote-leg.ts'
import { isRepeatable } from './repeatable.ts'
import type { WireMessage } from '@drawbridge/shared/mcp/message.ts'

/** What asking again needs. */
export interface BrokenAnswerPorts extends Pick<LegPorts, 'runtime' | 'note'>, Pick<LegConfig, 'retryMs'> {
  signal: AbortSignal
}

/** A server that breaks off each time does so for a reason. */
const mostRepeats = 3

const firstWaitMs = 100
const longestWaitMs = 1000

/**
 * Whether a message is to be sent again whose answer began and did not arrive whole, `breaks` times before: resolves with true
 * after a wait. A `tools/call` never is: it may have done its work. Nor is a subscription, whose client has to know that it
 * missed something.
 */
export async function mayAskAgain(
  error: unknown,
  message: WireMessage,
  breaks: number,
  { runtime, note, retryMs, signal }: BrokenAnswerPorts,
): Promise<boolean> {
  const { envelope } = message
  if (!isBrokenOff(error) || envelope.kind !== 'request') return false
  if (!isRepeatable(envelope) || isSubscription(envelope)) return false
  if (breaks >= mostRepeats || retryMs === 0 || signal.aborted) return false
  note('an answer broke off: asking again')
  await pause(runtime, backoffMs(runtime, breaks, firstWaitMs, longestWaitMs), signal)
  return !signal.aborted
}

/** That the other end was silent for too long, or that it speaks no HTTP, does not change by asking. */
function isBrokenOff(error: unknown): boolean {
  if (error instanceof NetworkError) return error.fault === 'reset'
  return error instanceof RemoteError && error.fault === 'lost'
}
