/**
 * The text of a file that a person wrote. A byte order mark is dropped; it also tells UTF-16, which the shell of Windows
 * writes, from UTF-8. Bytes that are neither become U+FFFD.
 */
export function decodeFileText(bytes: Uint8Array): string {
  const isUtf16 = bytes[0] === 0xff && bytes[1] === 0xfe
  return new TextDecoder(isUtf16 ? 'utf-16le' : 'utf-8').decode(bytes)
}
