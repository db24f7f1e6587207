import { NetworkError } from '../http/http-client.ts'
import type { HttpResponse } from '../http/http-client.ts'
import { BodyError, readBody } from '../http/read-body.ts'
import { RemoteError } from './remote-leg.ts'

/** 64 MB: as much as a line of stdio may have. */
export const maxMessageBytes: number = 64 * 1024 * 1024

/** The whole body, at most 64 MB. Rejects with `NetworkError` when it does not arrive whole and with `RemoteError` `too_large`. */
export async function collectBody(
  response: HttpResponse,
  received?: (bytes: number) => Promise<void>,
): Promise<Buffer> {
  try {
    return await readBody(response, maxMessageBytes, received)
  } catch (error) {
    if (error instanceof NetworkError) throw error
    throw error instanceof BodyError ? tooLargeError(error) : lostError(error)
  }
}

/** The answer is larger than a client could be given. */
export function tooLargeError(cause: unknown): RemoteError {
  return new RemoteError('too_large', 'An answer of the server is larger than 64 MB.', { cause })
}

/** The answer is not coming any more. */
export function lostError(cause: unknown): RemoteError {
  return new RemoteError('lost', 'The connection ended before the answer was there.', { cause })
}
