import { ProtocolError, ProtocolErrorCode } from '@modelcontextprotocol/server'
import { type CallEnd, callOf } from '../../core/tokens/call-record.ts'
import type { Incoming } from '../incoming.ts'
import { outcomeOf, unknownTool } from '../tools/tool.ts'

/** A tool that a rule hides from the caller, to whom it does not exist: the answer is that for an unknown one. */
export class HiddenTool extends ProtocolError {
  constructor(name: string) {
    super(ProtocolErrorCode.InvalidParams, unknownTool(name))
  }
}

/** One request that a handler got. */
export interface HandledRequest {
  id: string | number
  method: string
  params: unknown
  /** Aborted when the client cancels the request or leaves. */
  signal: AbortSignal
}

/** Handles a request, and records it if it is a call. `isKnown` says whether there is what it calls, and is asked at its end. */
export async function recordCall<Result extends object>(
  { calls }: Pick<Incoming, 'calls'>,
  { id, method, params, signal }: HandledRequest,
  isKnown: (name: string) => boolean,
  handle: () => Promise<Result> | Result,
): Promise<Result> {
  const call = callOf({ id, method, params })
  if (!call) return handle()
  const finish = calls.begin(call)
  let end: Pick<CallEnd, 'outcome' | 'responseBytes'> = { outcome: 'failed' }
  try {
    const result = await handle()
    end = { outcome: outcomeOf(result), responseBytes: Buffer.byteLength(JSON.stringify(result)) }
    return result
  } catch (error) {
    if (error instanceof HiddenTool) end = { outcome: 'refused_rule' }
    throw error
  } finally {
    const known = method !== 'tools/call' || isKnown(call.name)
    finish({ ...end, isKnown: known, ...(signal.aborted && { outcome: 'cancelled' }) })
  }
}
