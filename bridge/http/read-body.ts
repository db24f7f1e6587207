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

/**
 * The whole body. Beyond `mostBytes` the connection is ended and {@link BodyError} `too_large` thrown. Rejects with
 * `NetworkError` when the body does not arrive whole.
 */
export async function readBody(response: HttpResponse, mostBytes: number): Promise<Buffer> {
  const tooLarge = (): BodyError => {
    response.body.destroy()
    return new BodyError('too_large', `the answer is larger than ${mostBytes} bytes`)
  }
  if (Number(response.headers['content-length'] ?? 0) > mostBytes) throw tooLarge()
  const whole = response.takeWhole?.()
  if (whole !== undefined && whole.length <= mostBytes) return whole
  if (whole !== undefined) throw tooLarge()
  const chunks: Buffer[] = []
  let length = 0
  for await (const chunk of response.body) {
    length += (chunk as Buffer).length
    if (length > mostBytes) throw tooLarge()
    chunks.push(chunk as Buffer)
  }
  return chunks.length === 1 && chunks[0] !== undefined ? chunks[0] : Buffer.concat(chunks, length)
}

/** The body as JSON, whatever its media type says. {@link BodyError} `not_json` quotes nothing: it may be a token. */
export async function readJson(response: HttpResponse, mostBytes: number): Promise<unknown> {
  const bytes = await readBody(response, mostBytes)
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes))
  } catch {
    // The cause stays behind: the messages of JSON.parse quote the text.
    throw new BodyError('not_json', 'the answer is no JSON')
  }
}
