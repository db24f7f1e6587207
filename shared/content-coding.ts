type Bytes = AsyncIterable<Uint8Array>

type Create<Stream> = (options: { finishFlush: number }) => Stream

/** What undoes codings: the functions of `node:zlib`, which are handed in. `Stream` is a transform stream of Node. */
export interface ContentDecoders<Stream> {
  createGunzip: Create<Stream>
  createInflate: Create<Stream>
  createInflateRaw: Create<Stream>
  createBrotliDecompress: Create<Stream>
  /** Node 22.15 and newer. */
  createZstdDecompress?: Create<Stream>
  /** Sends bytes through a stream and returns what comes out: `pipeline` of `node:stream`. */
  through(bytes: Bytes, stream: Stream): Bytes
}

/** Returns the codings that were applied to a body, in order, by its `Content-Encoding` (RFC 9110 section 8.4). */
export function contentCodings(contentEncoding: string | undefined): string[] {
  const names = (contentEncoding ?? '').toLowerCase().split(',')
  return names.map((name) => name.trim().replace(/^x-/, '')).filter((name) => isCoding.has(name))
}

/** Other names are not codings: servers write `utf-8` and `none` there, and send the body as it is. */
const isCoding: ReadonlySet<string> = new Set(['gzip', 'deflate', 'br', 'zstd'])

/** Z_SYNC_FLUSH, BROTLI_OPERATION_FLUSH and ZSTD_e_flush: gives what there is of a body whose end is missing, as browsers do. */
const [zlibFlush, otherFlush] = [{ finishFlush: 2 }, { finishFlush: 1 }]

/**
 * Undoes {@link contentCodings} while the body is read. Throws what the decoders throw, and an `Error` for a coding that this Node does
 * not have. Has no bound: its reader counts the bytes that come out, and stops.
 */
export async function* decodeBody<Stream>(
  body: Bytes,
  codings: readonly string[],
  decoders: ContentDecoders<Stream>,
): AsyncGenerator<Uint8Array, void, undefined> {
  let decoded = body
  for (const coding of codings.toReversed()) decoded = decodeOnce(decoded, coding, decoders)
  yield* decoded
}

async function* decodeOnce<Stream>(
  body: Bytes,
  coding: string,
  decoders: ContentDecoders<Stream>,
): AsyncGenerator<Uint8Array, void, undefined> {
  const iterator = body[Symbol.asyncIterator]()
  let first = await iterator.next()
  while (first.done !== true && first.value.length === 0) first = await iterator.next()
  // An empty body is not compressed at all.
  if (first.done === true) return
  const { value } = first
  const rest = { [Symbol.asyncIterator]: () => iterator }
  async function* whole(): AsyncGenerator<Uint8Array, void, undefined> {
    yield value
    yield* rest
  }
  yield* decoders.through(whole(), decoderFor(coding, value, decoders))
}

function decoderFor<Stream>(coding: string, start: Uint8Array, decoders: ContentDecoders<Stream>): Stream {
  switch (coding) {
    case 'gzip':
      return decoders.createGunzip(zlibFlush)
    case 'br':
      return decoders.createBrotliDecompress(otherFlush)
    case 'deflate': {
      // Some leave the zlib header out, of which the low half of the first byte is 8 (RFC 1950 section 2.2).
      const hasHeader = ((start[0] ?? 0) & 0x0f) === 8
      return (hasHeader ? decoders.createInflate : decoders.createInflateRaw)(zlibFlush)
    }
    default:
      if (!decoders.createZstdDecompress) throw new Error('This Node has no zstd.')
      return decoders.createZstdDecompress(otherFlush)
  }
}
