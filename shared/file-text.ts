/**
 * Decodes a file written by a user. Drops a byte order mark, which also distinguishes UTF-16, as written by the
 * Windows shell, from UTF-8. Bytes that are neither become U+FFFD.
 */
export function decodeFileText(bytes: Uint8Array): string {
  const isUtf16 = bytes[0] === 0xff && bytes[1] === 0xfe
  return new TextDecoder(isUtf16 ? 'utf-16le' : 'utf-8').decode(bytes)
}
