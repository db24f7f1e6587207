const maxLineLength = 2048
const tailLength = 2048
const linesPerSecond = 20

/**
 * The error output of one process as lines for the log: cut at 2 KB, at most 20 a second. Whatever equals one of `secrets` is
 * masked.
 */
export class ErrorOutput {
  readonly #secrets: readonly string[]
  readonly #log: (line: string, skipped: number) => void
  readonly #nowMs: () => number
  #line = ''
  #tail = ''
  #second = 0
  #linesOfSecond = 0
  #skipped = 0

  /** `log` gets each line, and the number of those left out before it. */
  constructor(secrets: readonly string[], log: (line: string, skipped: number) => void, nowMs: () => number) {
    this.#secrets = secrets.filter((secret) => secret !== '')
    this.#log = log
    this.#nowMs = nowMs
  }

  /** The last 2 KB. */
  get tail(): string {
    return this.#tail
  }

  push(chunk: string): void {
    const [first = '', ...others] = chunk.split('\n')
    this.#append(first)
    for (const line of others) {
      this.end()
      this.#append(line)
    }
  }

  /** Logs what came after the last line end. */
  end(): void {
    const line = this.#masked(this.#line.trimEnd()).slice(0, maxLineLength)
    this.#line = ''
    if (line === '') return
    this.#tail = `${this.#tail}${line}\n`.slice(-tailLength)
    const second = Math.floor(this.#nowMs() / 1000)
    if (second !== this.#second) this.#linesOfSecond = 0
    this.#second = second
    this.#linesOfSecond += 1
    if (this.#linesOfSecond > linesPerSecond) {
      this.#skipped += 1
      return
    }
    this.#log(line, this.#skipped)
    this.#skipped = 0
  }

  /** Keeps enough beyond the cut to still see a secret that the cut would go through. */
  #append(text: string): void {
    const room = maxLineLength + Math.max(0, ...this.#secrets.map(({ length }) => length))
    this.#line += text.slice(0, Math.max(0, room - this.#line.length))
  }

  #masked(line: string): string {
    return this.#secrets.reduce((text, secret) => text.replaceAll(secret, '***'), line)
  }
}
