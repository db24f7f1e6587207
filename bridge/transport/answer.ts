import { isUtf8 } from 'node:buffer'
import { readMessage, type WireMessage } from '@drawbridge/shared/mcp/json-rpc.ts'
import { outlineOf } from '@drawbridge/shared/json-structure.ts'

/** Parsing less costs too little to be seen. */
const largeBytes = 256 * 1024

const lineBreaks = [0x0a, 0x0d]

/**
 * Reads what a server answered, from bytes that nobody else uses. A large result is passed on as it came: that it is UTF-8 and its
 * outermost members are checked, but not that its value is JSON. Even so it is one line.
 */
export function readAnswer(bytes: Buffer): WireMessage {
  return (bytes.length < largeBytes ? undefined : readLargeResult(bytes)) ?? readMessage(bytes)
}

function readLargeResult(bytes: Buffer): WireMessage | undefined {
  if (!isUtf8(bytes)) return undefined
  const outline = outlineOf(bytes.toString('latin1'))
  if (outline === undefined) return undefined
  const { envelope } = readMessage(Buffer.from(outline, 'latin1'))
  if (envelope.kind !== 'response' || envelope.isError) return undefined
  for (const lineBreak of lineBreaks)
    for (let at = bytes.indexOf(lineBreak); at !== -1; at = bytes.indexOf(lineBreak, at + 1)) bytes[at] = 0x20
  return {
    envelope,
    bytes,
    get text() {
      return bytes.toString()
    },
  }
}
