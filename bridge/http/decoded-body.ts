import { PassThrough, pipeline } from 'node:stream'
import { contentCodings, decodeBody } from '@drawbridge/shared/content-coding.ts'
import { NetworkError, type HttpResponse } from './http-client.ts'

type Bytes = AsyncIterable<Uint8Array>

/** Returns a response of `origin` without the content codings that servers apply unasked. A body that does not match its coding fails with `protocol`. */
export function withoutCodings(response: HttpResponse, origin: string): HttpResponse {
  const { 'content-encoding': encoding, 'content-length': _, ...headers } = response.headers
  const codings = contentCodings(typeof encoding === 'string' ? encoding : undefined)
  if (codings.length === 0) return response
  async function* decoded(bytes: Bytes): AsyncGenerator<Uint8Array> {
    // Few servers need it.
    const zlib = await import('node:zlib')
    const through = (from: Bytes, to: PassThrough): Bytes => pipeline(from, to, () => {})
    try {
      yield* decodeBody(bytes, codings, { ...zlib, through })
    } catch (cause) {
      if (cause instanceof NetworkError) throw cause
      const message = `${origin} answered with something that is not compressed as its headers say (${codings.join(', ')})`
      const nextStep = 'Tell the operator of the server.'
      throw new NetworkError('protocol', origin, message, { sent: true, cause, nextStep })
    }
  }
  const body = pipeline(response.body, decoded, new PassThrough(), () => {})
  // A pipeline whose end is closed leaves its source open.
  body.once('close', () => response.body.destroy())
  return { ...response, headers, body }
}
