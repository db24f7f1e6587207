import type { Runtime } from '@drawbridge/shared/runtime.ts'
import { largestGroup } from '../../subscriptions.ts'

/** How many sessions there may be, and how long an idle one is kept. */
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

/** The sessions of this process. */
export interface SessionTable<Session> {
  /** Whether one more session may be opened for that user. Ends the least recently used one to make room. */
  makeRoom(userId: string): boolean
  add(id: string, of: SessionOwner, session: Session): SessionEntry<Session>
  /** Finds a session and records its use. Undefined if it is unknown, ended, or of another owner. */
  find(id: string, owner: string): SessionEntry<Session> | undefined
  remove(id: string): void
  /** Ends sessions that have been idle for too long. */
  sweep(): void
  all(): SessionEntry<Session>[]
}

/**
 * Keeps sessions of the revisions up to 2025-11-25 within `limits`. `end` is called for each session that is evicted.
 */
export function createSessionTable<Session>(
  limits: SessionLimits,
  runtime: Pick<Runtime, 'now'>,
  end: (session: Session) => void,
): SessionTable<Session> {
  const entries = new Map<string, SessionEntry<Session>>()

  const drop = (entry: SessionEntry<Session>): void => {
    if (entries.delete(entry.id)) end(entry.session)
  }
  const isOver = (entry: SessionEntry<Session>): boolean =>
    entry.calls + entry.listening === 0 && runtime.now() - entry.usedAt >= limits.idleSeconds
  const sweep = (): void => {
    for (const entry of entries.values()) if (isOver(entry)) drop(entry)
  }
  const evict = (among: SessionEntry<Session>[]): boolean => {
    const [first] = among.sort((a, b) => busyness(a) - busyness(b) || a.usedAt - b.usedAt)
    if (first) drop(first)
    return first !== undefined
  }
  const idle = (among: SessionEntry<Session>[]): SessionEntry<Session>[] =>
    among.filter(({ calls }) => calls === 0)
  /**
   * The user with the most sessions gives one up, running calls included if necessary: no user can lock the others
   * out.
   */
  const makeRoomForAll = (): boolean => {
    const all = [...entries.values()]
    const most = largestGroup(all)
    return evict(most.length > 1 ? most : idle(all))
  }

  return {
    makeRoom(userId) {
      sweep()
      const own = [...entries.values()].filter((entry) => entry.userId === userId)
      // A user's running call is not evicted for their own new session.
      if (own.length >= limits.perUser) return evict(idle(own))
      return entries.size < limits.total || makeRoomForAll()
    },
    add(id, of, session) {
      const entry = { id, ...of, session, usedAt: runtime.now(), calls: 0, listening: 0 }
      entries.set(id, entry)
      return entry
    },
    find(id, owner) {
      const entry = entries.get(id)
      if (entry?.owner !== owner) return undefined
      if (isOver(entry)) {
        drop(entry)
        return undefined
      }
      entry.usedAt = runtime.now()
      return entry
    },
    remove: (id) => void entries.delete(id),
    sweep,
    all: () => [...entries.values()],
  }
}

/** Idle sessions are evicted before listening ones, and those before running calls. */
function busyness({ calls, listening }: SessionEntry<unknown>): number {
  if (calls > 0) return 2
  return listening > 0 ? 1 : 0
}
