/** Longest answer that is read, in bytes. The answers of a session provider are a few kilobytes long. */
const mostBytes = 1_000_000

/**
 * The text of an answer, or undefined when it is longer than a megabyte: the rest of such a one is never received.
 * Rejects when the connection breaks. Bytes that are no UTF-8 become replacement characters.
 */
export async function readBoundedText(response: Response): Promise<string | undefined> {
  if (response.body === null) return ''
  if (Number(response.headers.get('content-length') ?? 0) > mostBytes) {
    await response.body.cancel()
    return undefined
  }
  const chunks: Uint8Array[] = []
  let length = 0
  // Leaving the loop early cancels the stream.
  for await (const chunk of response.body) {
    length += chunk.byteLength
    if (length > mostBytes) return undefined
    chunks.push(chunk)
  }
  return new TextDecoder().decode(chunks.length === 1 ? chunks[0] : Buffer.concat(chunks))
}
