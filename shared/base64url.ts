const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'

const illegal = 255
const skipped = 64

const strictTable: Uint8Array = decodeTable('-_', '')
const lenientTable: Uint8Array = decodeTable('-_+/', '= \t\n\f\r')

const utf8Encoder = new TextEncoder()
// ignoreBOM keeps a leading U+FEFF as a character, so that decoding is the exact inverse of encoding.
const utf8Decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/** Encodes bytes as base64url without padding (RFC 4648 section 5), the form JWT and PKCE use. */
export function encodeBase64url(bytes: Uint8Array): string {
  let text = ''
  for (let index = 0; index < bytes.length; index += 3) {
    const triple = (at(bytes, index) << 16) | (at(bytes, index + 1) << 8) | at(bytes, index + 2)
    for (let shift = 18; shift >= 0; shift -= 6) text += alphabet[(triple >> shift) & 63]
  }
  return text.slice(0, Math.ceil((bytes.length * 4) / 3))
}

/**
 * Decodes canonical base64url: url alphabet, no padding, no white space, unused bits zero (RFC 4648 sections
 * 3.2 to 3.5), so that two different texts never give the same bytes. Anything else is `undefined`.
 */
export function decodeBase64url(text: string): Uint8Array<ArrayBuffer> | undefined {
  if (text.length % 4 === 1) return undefined
  const decoded = decodeSextets(text, strictTable)
  return decoded === undefined || decoded.rest !== 0 ? undefined : decoded.bytes
}

/**
 * Decodes base64 as found in the field: either alphabet, also mixed; `=` and ASCII white space are ignored
 * wherever they stand; bits that do not fill a byte are dropped. Any other character gives `undefined`.
 */
export function decodeBase64Lenient(text: string): Uint8Array<ArrayBuffer> | undefined {
  return decodeSextets(text, lenientTable)?.bytes
}

/** UTF-8 bytes of a text. A lone surrogate becomes U+FFFD, as everywhere on the web platform. */
export function encodeUtf8(text: string): Uint8Array<ArrayBuffer> {
  return utf8Encoder.encode(text)
}

/** The text of UTF-8 bytes, or `undefined` if they are not well-formed UTF-8. A byte order mark is kept. */
export function decodeUtf8(bytes: Uint8Array): string | undefined {
  try {
    return utf8Decoder.decode(bytes)
  } catch {
    return undefined
  }
}

function at(bytes: Uint8Array, index: number): number {
  return bytes[index] ?? 0
}

function decodeTable(highest: string, ignored: string): Uint8Array {
  const table = new Uint8Array(128).fill(illegal)
  for (let value = 0; value < 62; value++) table[alphabet.charCodeAt(value)] = value
  for (let index = 0; index < highest.length; index++) table[highest.charCodeAt(index)] = 62 + (index % 2)
  for (let index = 0; index < ignored.length; index++) table[ignored.charCodeAt(index)] = skipped
  return table
}

/** `rest` holds the bits after the last whole byte: zero in canonical text. */
function decodeSextets(
  text: string,
  table: Uint8Array,
): { bytes: Uint8Array<ArrayBuffer>; rest: number } | undefined {
  const bytes = new Uint8Array(Math.floor((text.length * 3) / 4))
  let written = 0
  let bits = 0
  let rest = 0
  for (let index = 0; index < text.length; index++) {
    const value = table[text.charCodeAt(index)] ?? illegal
    if (value === illegal) return undefined
    if (value === skipped) continue
    rest = (rest << 6) | value
    bits += 6
    if (bits >= 8) {
      bits -= 8
      bytes[written++] = rest >> bits
      rest &= (1 << bits) - 1
    }
  }
  return { bytes: bytes.subarray(0, written), rest }
}
