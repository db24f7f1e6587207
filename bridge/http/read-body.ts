import type { HttpResponse } from './http-client.ts'

/** A body that is of no use. */
export class BodyError extends Error {
  override readonly name = 'BodyError'
  readonly fault: 'too_large' | 'not_json'

  constructor(fault: 'too_large' | 'not_json', message: string) {
    super(message)
    this.fault = fault
  }
}

/** A server may send a body byte by byte, and each piece costs memory of its own: they are joined from time to time. */
const maxLooseChunks = 1024

/**
 * The whole body. Beyond `maxBytes` the connection is ended and {@link BodyError} `too_large` thrown. Rejects with
 * `NetworkError` when the body does not arrive whole. The next piece is read when `received` has resolved.
 */
export async function readBody(
  response: HttpResponse,
  maxBytes: number,
  received?: (bytes: number) => Promise<void>,
): Promise<Buffer> {
  const tooLarge = (): BodyError => {
    response.body.destroy()
    return new BodyError('too_large', `the answer is larger than ${maxBytes} bytes`)
  }
  if (Number(response.headers['content-length'] ?? 0) > maxBytes) throw tooLarge()
  const packed: Buffer[] = []
  let chunks: Buffer[] = []
  let length = 0
  for await (const chunk of response.body) {
    length += (chunk as Buffer).length
    if (length > maxBytes) throw tooLarge()
    chunks.push(chunk as Buffer)
    if (chunks.length === maxLooseChunks) {
      packed.push(Buffer.concat(chunks))
      chunks = []
    }
    await received?.((chunk as Buffer).length)
  }
  return Buffer.concat([...packed, ...chunks], length)
}

/** The body as JSON, whatever its media type says. {@link BodyError} `not_json` quotes nothing: it may be a token. */
export async function readJson(response: HttpResponse, maxBytes: number): Promise<unknown> {
  const bytes = await readBody(response, maxBytes)
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes))
  } catch {
    // The cause stays behind: the messages of JSON.parse quote the text.
    throw new BodyError('not_json', 'the answer is no JSON')
  }
}
