import type { Runtime } from '@drawbridge/shared/runtime.ts'
import type { Caller } from '../../core/tokens/caller.ts'
import { type LinkTerms, ProcessLink } from './process-link.ts'
import { ClientsOf2026 } from './revisions.ts'
import type { ServedProcess, ServingTerms } from './process/served-process.ts'

export interface SlotTerms {
  key: string
  userId: string
  /** Undefined when it is for everybody. */
  sub: string | undefined
  /** True when it serves one session only. */
  isOwn: boolean
  declared: LinkTerms['declared']
  /** Called when the last of its sessions has ended. */
  onEmpty: (slot: ProcessSlot) => void
  /** Called when no call has been open for as long as a process is kept. */
  onIdle: (slot: ProcessSlot) => void
}

/** A process used within this time is not ended to make room. */
const spareSeconds = 120
/** A client that has opened a session, or whose stream broke, comes back within this time; else it is taken for gone. */
const returnSeconds = 5

/** The place of one process in the pool, with its use and its clients. Processes come and go in it. */
export class ProcessSlot {
  readonly key: string
  readonly userId: string
  readonly sub: string | undefined
  readonly isOwn: boolean
  readonly link: ProcessLink
  readonly clientsOf2026: ClientsOf2026
  /** Settled when the process serves, or cannot. */
  ready: Promise<void> | undefined
  process: ServedProcess | undefined
  /** True once the process has started. */
  isServing = false
  /** True from the moment it begins to end. */
  isOver = false
  /** Name of the latest caller, see {@link callerName}. */
  latestCaller: string | undefined
  readonly #runtime: Pick<Runtime, 'now'>
  readonly #onIdle: () => void
  readonly #idleMs: number
  #calls = 0
  #usedAt: number
  /** Since when the only session's client, which has opened it or stopped listening, has not come back. */
  #missingSince: number | undefined
  #timer: NodeJS.Timeout | undefined

  constructor(common: ServingTerms, { key, userId, sub, isOwn, declared, onEmpty, onIdle }: SlotTerms) {
    this.key = key
    this.userId = userId
    this.sub = sub
    this.isOwn = isOwn
    this.#idleMs = common.upstream.idleSeconds * 1000
    this.#runtime = common.runtime
    this.#usedAt = this.#runtime.now()
    this.listens(false)
    this.#onIdle = () => onIdle(this)
    this.link = new ProcessLink(common, { declared, onEmpty: () => onEmpty(this) })
    this.clientsOf2026 = new ClientsOf2026(this.link)
  }

  get isIdle(): boolean {
    return this.#calls === 0
  }

  /** For how many seconds it has been idle; 0 while it is not. */
  get idleSeconds(): number {
    return this.isIdle ? this.#runtime.now() - this.#usedAt : 0
  }

  /** True when it may be ended to make room. Many programs end without ending their session. */
  get isSpare(): boolean {
    const isMissing =
      this.#missingSince !== undefined && this.#runtime.now() - this.#missingSince >= returnSeconds
    return this.idleSeconds >= (isMissing ? returnSeconds : spareSeconds)
  }

  get hasSessions(): boolean {
    return this.link.sessions.size > 0
  }

  /** A client of it listens to notifications, or has stopped. */
  listens(isListening: boolean): void {
    this.#missingSince = this.isOwn && !isListening ? this.#runtime.now() : undefined
  }

  /** A client of it has come back with another message. */
  hears(): void {
    this.#missingSince = undefined
  }

  /** Takes the process out; its clients stay. */
  vacate(): ServedProcess | undefined {
    const { process } = this
    this.process = undefined
    this.ready = undefined
    this.isServing = false
    return process
  }

  /** A call begins. */
  begin(): void {
    this.#calls += 1
    this.stopTimer()
  }

  /** A call of that person begins; the result is called when it is over. */
  use({ user }: Caller): () => void {
    this.latestCaller = callerName(user)
    this.begin()
    return () => this.over()
  }

  /** A call is over. */
  over(): void {
    this.#calls -= 1
    if (this.#calls > 0 || this.isOver) return
    this.#usedAt = this.#runtime.now()
    this.#timer = setTimeout(this.#onIdle, this.#idleMs).unref()
  }

  stopTimer(): void {
    clearTimeout(this.#timer)
  }

  /** Ends its clients. */
  async close(): Promise<void> {
    this.clientsOf2026.close()
    await this.link.close()
  }
}

/** Deaths are counted under it. Callers who have not signed in are one. */
export function callerName(user: Caller['user']): string {
  return user?.id ?? 'anonymous'
}
