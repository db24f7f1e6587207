import type { OnReadOpts, Socket } from 'node:net'
import { ResponseParser, type ResponseReader } from './response-parser.ts'

/** Whose request is on a connection. */
export interface ConnectionUser extends ResponseReader {
  /** Where the next bytes are to be read to; undefined leaves it to the connection. They are all of the body. */
  room(): Buffer | undefined
  /** The connection is there, TLS included. */
  onConnected(connection: Connection): void
  /** What has come was read, and the response is not whole. */
  onPart(): void
  /** The response is whole. */
  onEnd(): void
  /** The connection is gone, before the response was whole; undefined: it just ended. */
  onLost(cause: Error | undefined): void
  /** The time that {@link Connection.arm} gave is up. */
  onTimeout(): void
}

/**
 * One connection of HTTP/1.1, for one request at a time. Its listeners and its timer are made once for all of them: they cost
 * more than a small request does.
 */
export class Connection {
  readonly socket: Socket
  readonly #parser: ResponseParser
  readonly #pool: ConnectionPoolSide
  #user: ConnectionUser | undefined
  #isReady = false
  #isReused = false
  #timer: NodeJS.Timeout | undefined
  #timerMs = 0
  #isArmed = false
  #isRenewed = false
  /** By the clock on the wall: those of idle connections stand still while the computer sleeps. */
  #freeSince = 0

  /** What the socket reads to: one buffer for each read would be garbage that V8 takes for little, and does not collect. */
  readonly #buffer = Buffer.allocUnsafeSlow(readBytes)

  /** `open` opens the socket, which says `readyEvent` when it can be written to. */
  constructor(
    open: (onread: OnReadOpts) => Socket,
    readyEvent: 'connect' | 'secureConnect',
    pool: ConnectionPoolSide,
  ) {
    this.#pool = pool
    this.#parser = new ResponseParser({
      onHead: (status, headers, length) => this.#user?.onHead(status, headers, length),
      onBody: (pieces) => this.#user?.onBody(pieces),
    })
    const socket = open({
      buffer: () => this.#user?.room() ?? this.#buffer,
      callback: (length, bytes) => this.#onRead(length, bytes),
    })
    this.socket = socket
    socket.once(readyEvent, () => this.#onReady())
    socket.on('end', () => this.#onEnd())
    socket.on('error', (error) => this.#lose(error))
    socket.on('close', () => this.#lose(undefined))
  }

  /** Whether it has carried a request before the present one. */
  get isReused(): boolean {
    return this.#isReused
  }

  /** Whether all that was written is with the operating system. */
  get isFlushed(): boolean {
    return this.#isReady && this.socket.writableLength === 0
  }

  /** Whether a request may go out on it now, `idleMs` being the longest that it may have waited for one. */
  isUsable(idleMs: number): boolean {
    const allowedMs = Math.min(idleMs, this.#parser.idleSeconds * 1000 - hintMarginMs)
    return !this.socket.destroyed && Date.now() - this.#freeSince < allowedMs
  }

  /** Lends it to a request with that method; on a new one `onConnected` follows. */
  lend(user: ConnectionUser, method: string): void {
    this.#user = user
    this.#parser.begin(method)
    if (!this.#isReady) return
    this.#isReused = true
    this.socket.ref()
    user.onConnected(this)
  }

  /** Has the user told after `ms`, counted from now, or `renewed` by every byte that comes. 0 for never. */
  arm(ms: number, renewed: boolean): void {
    this.#isArmed = ms > 0
    this.#isRenewed = renewed
    if (!this.#isArmed) return
    if (this.#timer !== undefined && this.#timerMs === ms) {
      this.#timer.refresh()
      return
    }
    clearTimeout(this.#timer)
    this.#timerMs = ms
    this.#timer = setTimeout(() => {
      if (this.#isArmed) this.#user?.onTimeout()
    }, ms)
    // What is waited for holds the process by its socket.
    this.#timer.unref()
  }

  /** Ends it. The user is not told. */
  destroy(): void {
    this.#user = undefined
    clearTimeout(this.#timer)
    this.socket.destroy()
    this.#pool.remove(this)
  }

  #onReady(): void {
    this.#isReady = true
    this.#user?.onConnected(this)
  }

  /** Always true: whoever wants no more says so to the socket. */
  #onRead(length: number, bytes: Uint8Array): boolean {
    // Without a request there is nothing to say.
    if (this.#user === undefined) this.destroy()
    else this.#parse(Buffer.from(bytes.buffer, bytes.byteOffset, length))
    return true
  }

  #parse(bytes: Buffer): void {
    let rest: number
    try {
      rest = this.#parser.read(bytes)
    } catch (error) {
      return this.#lose(error as Error)
    }
    if (rest !== -1) this.#whenWhole(rest)
    else {
      if (this.#isArmed && this.#isRenewed) this.#timer?.refresh()
      this.#user?.onPart()
    }
  }

  #onEnd(): void {
    if (this.#user !== undefined && this.#parser.finish()) this.#whenWhole(0)
    else this.#lose(undefined)
  }

  #whenWhole(rest: number): void {
    const user = this.#user
    if (user === undefined) return
    this.#isArmed = false
    // An answer to a body that nobody reads: what is left of that would block the connection for ever.
    if (!this.#parser.persistent || rest > 0 || !this.isFlushed) this.destroy()
    else {
      this.#user = undefined
      this.#freeSince = Date.now()
      this.socket.unref()
      // A reader who was too slow has all of it now. The end of an idle connection is to be seen.
      if (this.socket.isPaused()) this.socket.resume()
      this.#pool.release(this)
    }
    user.onEnd()
  }

  #lose(cause: Error | undefined): void {
    const user = this.#user
    this.destroy()
    user?.onLost(cause)
  }
}

/** Who keeps connections. */
export interface ConnectionPoolSide {
  /** It is free for another request. */
  release(connection: Connection): void
  /** It is gone. May be said twice. */
  remove(connection: Connection): void
}

const readBytes = 65_536

/** A request needs some of the time that the server has announced. */
const hintMarginMs = 1000
