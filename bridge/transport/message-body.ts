import type { HttpResponse } from '../http/http-client.ts'
import { createByteList } from './byte-list.ts'
import { readEnvelope } from './envelope.ts'
import { RemoteError } from './remote-leg.ts'
import type { WireMessage } from './wire-message.ts'

const lineFeed = 0x0a
const carriageReturn = 0x0d

/**
 * The message that a body or an event holds. Line ends between its tokens become spaces, in the bytes that were given, which
 * therefore must belong to the caller; within a string there are none in JSON.
 */
export function readMessage(bytes: Buffer): WireMessage {
  const envelope = readEnvelope(bytes)
  blank(bytes, lineFeed)
  blank(bytes, carriageReturn)
  return { bytes, envelope }
}

/**
 * The whole body, at most 64 MB. Rejects with `NetworkError` when it does not arrive whole and with `RemoteError`
 * `too_large`. Not by `readBody`: iterating over the chunks of each answer costs more than everything else the bridge does
 * with it.
 */
export function collectBody(response: HttpResponse): Promise<Buffer> {
  const whole = response.takeWhole?.()
  if (whole !== undefined) return Promise.resolve(whole)
  const { body } = response
  const announced = announcedBytes(response)
  return new Promise((resolve, reject) => {
    let isWhole = false

    function tooLarge(): void {
      body.destroy()
      reject(new RemoteError('too_large', 'An answer of the server is larger than 64 MB.'))
    }

    if (announced > mostBodyBytes) return tooLarge()
    if (body.destroyed) return reject(body.errored ?? lost())
    const chunks = createByteList()
    body.on('data', (chunk: Buffer) => {
      chunks.push(chunk)
      if (chunks.length > mostBodyBytes) tooLarge()
    })
    body.on('end', () => {
      isWhole = true
      resolve(chunks.take())
    })
    body.on('error', reject)
    body.on('close', () => {
      if (!isWhole) reject(lost())
    })
  })
}

function lost(): RemoteError {
  return new RemoteError('lost', 'The connection ended before the answer was there.')
}

/** How many bytes the body has, -1 if the server did not say. */
export function announcedBytes({ headers }: HttpResponse): number {
  return Number(headers['content-length'] ?? -1)
}

const mostBodyBytes = 64 * 1024 * 1024

function blank(bytes: Buffer, lineEnd: number): void {
  for (let at = bytes.indexOf(lineEnd); at !== -1; at = bytes.indexOf(lineEnd, at + 1)) bytes[at] = 0x20
}
