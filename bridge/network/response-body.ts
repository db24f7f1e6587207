import { Readable } from 'node:stream'

/** Where the bytes of a body come from. */
export interface BodySource {
  /** The reader wants more. */
  resume(): void
  /** The body is read, or nobody wants it any more. What it fails with. */
  close(cause: Error | null): Error | null
}

/** The bytes of a response, as its source pushes them; fails with what the source says. */
export class ResponseBody extends Readable {
  readonly #source: BodySource

  constructor(source: BodySource) {
    super()
    this.#source = source
    // Nobody has to be there to hear of it.
    this.on('error', ignore)
  }

  override _read(): void {
    this.#source.resume()
  }

  override _destroy(cause: Error | null, callback: (error?: Error | null) => void): void {
    callback(this.#source.close(cause))
  }
}

function ignore(): void {}
