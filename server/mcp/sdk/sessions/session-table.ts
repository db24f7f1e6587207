import type { Runtime } from '@drawbridge/shared/runtime.ts'
import { largestGroup } from '../../subscriptions.ts'

export interface SessionLimits {
  total: number
  perUser: number
  idleSeconds: number
}

/** The limits of the server. A session takes some 100 KiB, and up to 256 KiB more of messages that can be sent again. */
export const sessionLimits: SessionLimits = { total: 1000, perUser: 20, idleSeconds: 30 * 60 }

/** The owner of a session: `owner` names user and grant, and no other caller may use the session. */
export interface SessionOwner {
  userId: string
  owner: string
}

/** A session with its use. */
export interface SessionEntry<Session> extends SessionOwner {
  id: string
  session: Session
  usedAt: number
  /** Open responses: running calls, and streams that only wait for notifications. */
  calls: number
  listening: number
}

/** The sessions of this process, for revisions up to 2025-11-25, kept within limits. */
export class SessionTable<Session> {
  readonly #limits: SessionLimits
  readonly #runtime: Pick<Runtime, 'now'>
  readonly #onEvict: (session: Session) => void
  readonly #entries = new Map<string, SessionEntry<Session>>()

  /** `onEvict` is called for each session that the table ends. */
  constructor(limits: SessionLimits, runtime: Pick<Runtime, 'now'>, onEvict: (session: Session) => void) {
    this.#limits = limits
    this.#runtime = runtime
    this.#onEvict = onEvict
  }

  /** Returns whether the user may open one more session. Evicts the least recently used one to make room. */
  makeRoom(userId: string): boolean {
    this.sweep()
    const own = this.all().filter((entry) => entry.userId === userId)
    // A user's running call is not evicted for their own new session.
    if (own.length >= this.#limits.perUser) return this.#evictOneOf(withoutCalls(own))
    return this.#entries.size < this.#limits.total || this.#makeRoomForAll()
  }

  add(id: string, owner: SessionOwner, session: Session): SessionEntry<Session> {
    const entry = { id, ...owner, session, usedAt: this.#runtime.now(), calls: 0, listening: 0 }
    this.#entries.set(id, entry)
    return entry
  }

  /** Finds a session and records its use. Undefined if it is unknown, has ended, or belongs to another owner. */
  find(id: string, owner: string): SessionEntry<Session> | undefined {
    const entry = this.#entries.get(id)
    if (entry?.owner !== owner) return undefined
    if (this.#isIdleTooLong(entry)) {
      this.#evict(entry)
      return undefined
    }
    entry.usedAt = this.#runtime.now()
    return entry
  }

  remove(id: string): void {
    this.#entries.delete(id)
  }

  /** Evicts sessions that have been idle for too long. */
  sweep(): void {
    for (const entry of this.#entries.values()) if (this.#isIdleTooLong(entry)) this.#evict(entry)
  }

  all(): SessionEntry<Session>[] {
    return [...this.#entries.values()]
  }

  /**
   * The user with the most sessions gives one up, running calls included if necessary: no user can lock the others
   * out.
   */
  #makeRoomForAll(): boolean {
    const all = this.all()
    const largest = largestGroup(all)
    return this.#evictOneOf(largest.length > 1 ? largest : withoutCalls(all))
  }

  #evictOneOf(entries: SessionEntry<Session>[]): boolean {
    const [first] = entries.sort((a, b) => busyness(a) - busyness(b) || a.usedAt - b.usedAt)
    if (first) this.#evict(first)
    return first !== undefined
  }

  #evict(entry: SessionEntry<Session>): void {
    if (this.#entries.delete(entry.id)) this.#onEvict(entry.session)
  }

  #isIdleTooLong(entry: SessionEntry<Session>): boolean {
    const isIdle = entry.calls + entry.listening === 0
    return isIdle && this.#runtime.now() - entry.usedAt >= this.#limits.idleSeconds
  }
}

function withoutCalls<Session>(entries: SessionEntry<Session>[]): SessionEntry<Session>[] {
  return entries.filter(({ calls }) => calls === 0)
}

/** Idle sessions are evicted before listening ones, and those before running calls. */
function busyness({ calls, listening }: SessionEntry<unknown>): number {
  if (calls > 0) return 2
  return listening > 0 ? 1 : 0
}
