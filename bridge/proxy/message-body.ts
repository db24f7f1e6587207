import { readEnvelope } from './envelope.ts'
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

function blank(bytes: Buffer, lineEnd: number): void {
  for (let at = bytes.indexOf(lineEnd); at !== -1; at = bytes.indexOf(lineEnd, at + 1)) bytes[at] = 0x20
}
