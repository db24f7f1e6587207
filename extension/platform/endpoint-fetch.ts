import { EndpointUnreachableError, type EndpointRequest, type EndpointResponse } from '../core/ports.ts'

const maximumBytes = 1_000_000

/**
 * Sends the request without browser state: no cookies, cache or referrer, and only to the given address. Rejects with
 * `EndpointUnreachableError` when no complete response arrives in time.
 */
export async function fetchEndpoint(request: EndpointRequest): Promise<EndpointResponse> {
  const { url, timeoutMs, ...given } = request
  try {
    const response = await fetch(url, {
      ...given,
      // By default, cookies of an allowed site would be sent, and would affect the test of the token.
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
    // Scripts cannot see the cause, and a message of the browser could quote the request.
    throw new EndpointUnreachableError()
  }
}

/** Reads UTF-8 up to the limit, then cancels the stream. */
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
