import type { IncomingMessage } from 'node:http'
import { decodeUtf8 } from '@drawbridge/shared/base64url.ts'
import type { FetchFailure, FetchOutcome, FetchQuery } from '../core/clients/client-fetch.ts'

/** Ends a fetch with a named failure. */
export class FetchError extends Error {
  readonly reason: FetchFailure

  constructor(reason: FetchFailure) {
    super(reason)
    this.name = 'FetchError'
    this.reason = reason
  }
}

/**
 * Returns the JSON text of `response`, at most `maxBytes` of it, or `not_modified` since `etag`. Throws {@link FetchError} for
 * everything else, and socket errors unchanged.
 */
export async function readResponse(
  response: IncomingMessage,
  { maxBytes, etag }: FetchQuery,
): Promise<FetchOutcome> {
  const headers = headersOf(response)
  const { statusCode: status = 0 } = response
  if (status === 304 && etag !== undefined) return { kind: 'not_modified', headers }
  const failure = failureOf(status)
  if (failure) throw new FetchError(failure)
  if (!isPlainJson(headers)) throw new FetchError('wrong_type')
  if (Number(headers.get('content-length') ?? 0) > maxBytes) throw new FetchError('too_large')
  const text = decodeUtf8(await readBytes(response, maxBytes))
  if (text === undefined) throw new FetchError('wrong_type')
  return { kind: 'fetched', text, headers }
}

function failureOf(status: number): FetchFailure | undefined {
  if (status === 200) return undefined
  if (status >= 300 && status < 400) return 'redirected'
  if (status === 404 || status === 410) return 'not_found'
  return status >= 500 ? 'unreachable' : 'refused'
}

async function readBytes(response: IncomingMessage, maxBytes: number): Promise<Uint8Array> {
  const chunks: Uint8Array[] = []
  let length = 0
  for await (const chunk of response as AsyncIterable<Uint8Array>) {
    length += chunk.length
    if (length > maxBytes) throw new FetchError('too_large')
    chunks.push(chunk)
  }
  if (!response.complete) throw new FetchError('unreachable')
  return Buffer.concat(chunks)
}

function headersOf(response: IncomingMessage): Headers {
  const headers = new Headers()
  for (const [name, values] of Object.entries(response.headersDistinct)) {
    for (const value of values ?? []) headers.append(name, value)
  }
  return headers
}

/**
 * Returns whether the body is uncompressed JSON. The request forbids compression, and a compressed body is refused unread: a few
 * bytes of it can become gigabytes.
 */
function isPlainJson(headers: Headers): boolean {
  const encoding = headers.get('content-encoding') ?? 'identity'
  const type = (headers.get('content-type') ?? '').split(';', 1)[0]?.trim().toLowerCase() ?? ''
  return encoding.toLowerCase() === 'identity' && /^application\/(?:[a-z0-9.-]+\+)?json$/.test(type)
}
