import { EndpointUnreachableError } from '../core/ports.ts'
import type { EndpointRequest, EndpointResponse } from '../core/ports.ts'

const maximumBytes = 1_000_000

/**
 * Sends the request with nothing of the browser in it: no cookies, no cache, no referrer, and never to another address than
 * the one given. Rejects with `EndpointUnreachableError` when no whole response came in time.
 */
export async function fetchEndpoint(request: EndpointRequest): Promise<EndpointResponse> {
  const { url, timeoutMs, ...given } = request
  try {
    const response = await fetch(url, {
      ...given,
      // Cookies of a site that was allowed would be sent by default, and then the token would not be what is tested.
      credentials: 'omit',
      redirect: 'error',
      cache: 'no-store',
      referrerPolicy: 'no-referrer',
      signal: AbortSignal.timeout(timeoutMs),
    })
    return {
      status: response.status,
      header: (name) => response.headers.get(name) ?? undefined,
      body: await readStart(response.body),
    }
  } catch {
    // What went wrong is hidden from scripts, and a message of the browser could quote the request.
    throw new EndpointUnreachableError()
  }
}

/** Reads up to the cap as UTF-8; what is over hangs up. */
async function readStart(stream: ReadableStream<Uint8Array> | null): Promise<string> {
  const decoder = new TextDecoder()
  let text = ''
  let left = maximumBytes
  for await (const part of stream ?? []) {
    text += decoder.decode(part.subarray(0, left), { stream: true })
    left -= part.length
    if (left <= 0) break
  }
  return text + decoder.decode()
}
