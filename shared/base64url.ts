const utf8Encoder = new TextEncoder()
// ignoreBOM keeps a leading U+FEFF as a character, so that decoding is the exact inverse of encoding.
const utf8Decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/** Encodes bytes as base64url without padding (RFC 4648 section 5), the form JWT and PKCE use. */
export function encodeBase64url(bytes: Uint8Array): string {
  let binary = ''
  for (const byte of bytes) binary += String.fromCharCode(byte)
  return btoa(binary).replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '')
}

/**
 * Decodes canonical base64url: url alphabet, no padding, no white space, unused bits zero (RFC 4648 sections
 * 3.2 to 3.5), so that two different texts never give the same bytes. Anything else is `undefined`.
 */
export function decodeBase64url(text: string): Uint8Array<ArrayBuffer> | undefined {
  const bytes = decodeBase64Lenient(text)
  return bytes && encodeBase64url(bytes) === text ? bytes : undefined
}

/**
 * Decodes base64 as found in the field: either alphabet, also mixed; `=` and ASCII white space are ignored
 * wherever they stand; bits that do not fill a byte are dropped. Any other character gives `undefined`.
 */
export function decodeBase64Lenient(text: string): Uint8Array<ArrayBuffer> | undefined {
  const digits = text
    .replaceAll(/[= \t\n\f\r]/g, '')
    .replaceAll('-', '+')
    .replaceAll('_', '/')
  if (/[^A-Za-z0-9+/]/.test(digits)) return undefined
  // A lone last digit has too few bits for a byte.
  const binary = atob(digits.length % 4 === 1 ? digits.slice(0, -1) : digits)
  const bytes = new Uint8Array(binary.length)
  for (let index = 0; index < binary.length; index += 1) bytes[index] = binary.charCodeAt(index)
  return bytes
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
