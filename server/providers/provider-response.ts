import type { Runtime } from '@drawbridge/shared/runtime.ts'
import { ProviderError, type ProviderFailure } from '../core/session/session-provider.ts'

/** Shorter than a refresh lease, so that a slow call has ended before another instance may start one. */
export const callTimeoutMs = 8000

/** Maximum bytes read of a response. A session provider's responses are a few kilobytes. */
const maxBytes = 1_000_000

const bodilessStatuses = new Set([204, 205, 304])

// The request was never sent, so it had no effect.
const notConnectedCodes = new Set([
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'UND_ERR_CONNECT_TIMEOUT',
])

/**
 * Sends a request to the provider, and returns its complete response, of at most a megabyte; the rest is never received. Rejects
 * with `transient` when there is none until `signal` aborts, by default within eight seconds: the call may have taken effect,
 * unless no connection was made.
 */
export async function fetchFromProvider(
  request: Request,
  runtime: Pick<Runtime, 'fetch'>,
  signal: AbortSignal = AbortSignal.timeout(callTimeoutMs),
): Promise<Response> {
  try {
    const response = await runtime.fetch(request, { signal })
    const { status, headers } = response
    const content = await readBounded(response)
    return new Response(bodilessStatuses.has(status) ? null : content, { status, headers })
  } catch (cause) {
    const message = `The session provider cannot be reached at ${new URL(request.url).origin}.`
    throw new ProviderError('transient', message, { cause, outcomeKnown: isNotConnected(cause) })
  }
}

/** Reads a body of at most a megabyte; throws `TypeError` for a larger one. */
export async function readBounded(response: Response): Promise<Buffer<ArrayBuffer>> {
  const tooLarge = new TypeError('The response is larger than 1 MB.')
  if (Number(response.headers.get('content-length') ?? 0) > maxBytes) {
    await response.body?.cancel()
    throw tooLarge
  }
  const chunks: Uint8Array[] = []
  let length = 0
  // Leaving the loop early cancels the stream.
  for await (const chunk of response.body ?? []) {
    length += chunk.byteLength
    if (length > maxBytes) throw tooLarge
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}

function isNotConnected(error: unknown): boolean {
  const code = (error as { cause?: { code?: unknown } } | undefined)?.cause?.code
  return typeof code === 'string' && notConnectedCodes.has(code)
}

/** Returns the failure that an error status means by itself. */
export function failureOfStatus(status: number): ProviderFailure {
  if (status === 429) return 'rate_limited'
  return status >= 500 || [408, 409, 425].includes(status) ? 'transient' : 'protocol'
}
