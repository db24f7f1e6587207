import type { StoredProviderSession } from '../../core/session/grant.ts'
import type { SignOutStore } from '../../core/session/sign-out-worker.ts'

interface SignOutRow {
  session: StoredProviderSession
  attempts: number
  since: number
  dueAt: number
}

/** The outbox of the memory store. */
export interface MemorySignOuts {
  operations: SignOutStore
  /** Makes `session` due for sign-out at once. */
  giveUp(session: StoredProviderSession, now: number): void
  /** Puts `session` in the place of the one that waits, if that is the version before it. */
  replace(session: StoredProviderSession): void
  sessions(): StoredProviderSession[]
}

/** An empty outbox. */
export function createMemorySignOuts(): MemorySignOuts {
  const rows = new Map<string, SignOutRow>()
  return {
    operations: {
      async claimSignOuts({ limit, until }, now) {
        const due = [...rows.values()].filter(({ dueAt }) => dueAt <= now).sort((a, b) => a.dueAt - b.dueAt)
        return due.slice(0, limit).map((row) => {
          row.attempts += 1
          row.dueAt = until
          return { session: row.session, attempts: row.attempts, since: row.since }
        })
      },
      async postponeSignOut(grantId, dueAt) {
        const row = rows.get(grantId)
        if (row) row.dueAt = dueAt
      },
      removeSignOut: async (grantId) => void rows.delete(grantId),
    },
    giveUp: (session, now) =>
      void rows.set(session.grantId, { session, attempts: 0, since: now, dueAt: now }),
    replace(session) {
      const row = rows.get(session.grantId)
      if (row?.session.version === session.version - 1) row.session = session
    },
    sessions: () => [...rows.values()].map(({ session }) => session),
  }
}
