import { isUtf8 } from 'node:buffer'
import { readMessage, type WireMessage } from '@drawbridge/shared/mcp/json-rpc.ts'

/** Parsing less costs too little to be seen. */
export const largeBytes: number = 256 * 1024

const lineBreaks = [0x0a, 0x0d]

/**
 * Reads a result to be passed on as it came, from bytes that nobody else uses: that it is UTF-8 and its outermost members are checked,
 * but not that its value is JSON. Even so it is one line. Returns undefined for every other message.
 */
export function readLargeResult(bytes: Buffer): WireMessage | undefined {
  if (!isUtf8(bytes)) return undefined
  const { envelope } = readMessage(outlineOf(bytes))
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

const [quote, backslash] = [0x22, 0x5c]
const [openArray, closeArray, openObject, closeObject] = [0x5b, 0x5d, 0x7b, 0x7d]

/** Leaves out what is inside the values of the outermost members: `{"a":{"b":[1]},"c":2}` is `{"a":{},"c":2}`. */
function outlineOf(json: Buffer): Buffer {
  const outline: Buffer[] = []
  let [open, from] = [0, 0]
  for (let index = 0; index < json.length; index += 1) {
    switch (json[index]) {
      case quote:
        index = endOfString(json, index)
        break
      case openArray:
      case openObject:
        open += 1
        if (open === 2) outline.push(json.subarray(from, index + 1))
        break
      case closeArray:
      case closeObject:
        open -= 1
        if (open === 1) from = index
    }
  }
  return Buffer.concat([...outline, json.subarray(from)])
}

/** Returns the index of the quote that ends the string starting at `start`, or the length of the text. */
function endOfString(json: Buffer, start: number): number {
  for (let end = json.indexOf(quote, start + 1); end !== -1; end = json.indexOf(quote, end + 1)) {
    let before = end
    while (json[before - 1] === backslash) before -= 1
    if ((end - before) % 2 === 0) return end
  }
  return json.length
}
