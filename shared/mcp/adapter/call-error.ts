import type { JsonRpcErrorObject } from '../json-rpc.ts'
import type { DescribeFailure } from './ports.ts'

/** Thrown to end a call with this error. The message is for the client. */
export class CallError extends Error {
  override readonly name = 'CallError'
  readonly code: number
  readonly data: unknown

  constructor(code: number, message: string, data?: unknown) {
    super(message)
    this.code = code
    this.data = data
  }
}

/** The `error` member for a failure, to be sent to the client. */
export function errorObject(error: unknown, describeFailure: DescribeFailure): JsonRpcErrorObject {
  if (!(error instanceof CallError)) return describeFailure(error)
  const { code, message, data } = error
  return data === undefined ? { code, message } : { code, message, data }
}
