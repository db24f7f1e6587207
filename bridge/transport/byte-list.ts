/** Bytes that come in pieces. However small the pieces are, they take about as much memory as they have bytes. */
export interface ByteList {
  push(piece: Buffer): void
  /** How many bytes there are. */
  readonly length: number
  /** All of them as one, and the list is empty again. Of pieces that lie one behind the other in memory that is no copy. */
  take(): Buffer
}

/** Nearly everything comes in fewer pieces, and is copied once at most. */
const mostLoosePieces = 64

const packBytes = 65_536
const largeBytes = 4096

/**
 * A sender may choose to send bytes one by one, as chunks of HTTP or lines of an event. Each piece is an object of more than a
 * hundred bytes, and keeps the whole of what was read with it from being forgotten: beyond the first few, small ones are packed
 * together.
 */
export function createByteList(): ByteList {
  let pieces: Buffer[] = []
  let pack: Buffer | undefined
  let packed = 0
  let length = 0

  /** The pack is used again: a copy has the right size. */
  function closePack(): void {
    if (pack !== undefined && packed > 0) pieces.push(Buffer.from(pack.subarray(0, packed)))
    packed = 0
  }

  function addToPack(piece: Buffer): void {
    if (packed + piece.length > packBytes) closePack()
    if (piece.length > packBytes) pieces.push(Buffer.from(piece))
    else {
      pack ??= Buffer.allocUnsafeSlow(packBytes)
      packed += piece.copy(pack, packed)
    }
  }

  return {
    push(piece) {
      if (piece.length === 0) return
      length += piece.length
      const last = pieces.at(-1)
      if (last !== undefined && packed === 0 && isBehind(last, piece)) {
        pieces[pieces.length - 1] = Buffer.from(last.buffer, last.byteOffset, last.length + piece.length)
        return
      }
      const isFull = piece.length >= largeBytes && piece.length * 2 >= piece.buffer.byteLength
      if (pieces.length < mostLoosePieces) pieces.push(piece)
      else if (isFull) {
        closePack()
        pieces.push(piece)
      } else addToPack(piece)
    },
    get length() {
      return length
    },
    take() {
      closePack()
      const [only] = pieces
      const bytes = pieces.length === 1 && only !== undefined ? only : Buffer.concat(pieces, length)
      pieces = []
      pack = undefined
      length = 0
      return bytes
    },
  }
}

function isBehind(last: Buffer, piece: Buffer): boolean {
  return piece.buffer === last.buffer && piece.byteOffset === last.byteOffset + last.length
}
