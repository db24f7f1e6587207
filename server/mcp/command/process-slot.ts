import type { McpEndpoint } from '../endpoint-config.ts'
import type { ServedProcess } from './served-process.ts'

/** What a slot is for. */
export interface SlotTerms {
  key: string
  userId: string
  /** Undefined when it is for everybody. */
  sub: string | undefined
  /** Whether it is for one session. */
  isOwn: boolean
  providerToken: string | undefined
  idleMs: number
  /** Called when no call has been open for `idleMs`, or for a moment after {@link ProcessSlot.endWhenIdle}. */
  onIdle: () => void
}

/** More than a process ever has: the oldest id is one of a session that has ended without a word. */
const maxSessions = 2048

/** The place of one process in the pool, with its use. */
export class ProcessSlot {
  readonly key: string
  readonly userId: string
  readonly sub: string | undefined
  readonly isOwn: boolean
  readonly providerToken: string | undefined
  /** The ids of its sessions, the latest last. */
  readonly sessions: Set<string> = new Set()
  /** Settled when the process serves, or cannot. */
  ready: Promise<void> = Promise.resolve()
  process: ServedProcess | undefined
  isReady = false
  /** Whether it has ended, or is ending. */
  isOver = false
  /** Monotonic milliseconds. */
  idleSince = 0
  readonly #onIdle: () => void
  #idleMs: number
  #calls = 0
  #timer: NodeJS.Timeout | undefined

  constructor({ key, userId, sub, isOwn, providerToken, idleMs, onIdle }: SlotTerms) {
    this.key = key
    this.userId = userId
    this.sub = sub
    this.isOwn = isOwn
    this.providerToken = providerToken
    this.#idleMs = idleMs
    this.#onIdle = onIdle
  }

  /** Only while it {@link isReady}. */
  get endpoint(): McpEndpoint {
    if (!this.process) throw new TypeError('The process has not started.')
    return this.process.endpoint
  }

  get isIdle(): boolean {
    return this.#calls === 0
  }

  /** A call begins. */
  begin(): void {
    this.#calls += 1
    this.stopTimer()
  }

  /** A call is over. */
  over(): void {
    this.#calls -= 1
    if (this.#calls > 0 || this.isOver) return
    this.idleSince = performance.now()
    this.#timer = setTimeout(this.#onIdle, this.#idleMs).unref()
  }

  /** Ends it with its last call. */
  endWhenIdle(): void {
    this.#idleMs = 0
  }

  stopTimer(): void {
    clearTimeout(this.#timer)
  }

  /** The id that it had to drop, if any. */
  addSession(id: string): string | undefined {
    this.sessions.delete(id)
    this.sessions.add(id)
    const [oldest] = this.sessions
    if (this.sessions.size <= maxSessions || oldest === undefined) return undefined
    this.sessions.delete(oldest)
    return oldest
  }
}
