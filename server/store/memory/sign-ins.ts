import type {
  PendingSecondFactor,
  PendingSocialSignIn,
  SecondFactorStore,
  SocialSignInStore,
} from '../../core/sign-in/pending-sign-in.ts'
import { collectRows, type MemoryPart } from './part.ts'
import type { MemorySignOuts } from './sign-outs.ts'

/** Sign-ins on their way: at a social provider, or waiting for their second factor. */
export function createMemorySignIns(
  signOuts: MemorySignOuts,
): MemoryPart & { operations: SecondFactorStore & SocialSignInStore } {
  const social = new Map<string, PendingSocialSignIn>()
  const factors = new Map<string, { pending: PendingSecondFactor; attempts: number }>()

  return {
    operations: {
      async addSocialSignIn(pending, most) {
        social.set(pending.id, pending)
        const ofBrowser = [...social.values()].filter(
          ({ bindingHash }) => bindingHash === pending.bindingHash,
        )
        for (const { id } of ofBrowser.slice(0, Math.max(0, ofBrowser.length - most))) social.delete(id)
      },
      listSocialSignIns: async (bindingHash, now) =>
        [...social.values()]
          .filter((pending) => pending.bindingHash === bindingHash && pending.expiresAt > now)
          .toReversed(),
      removeSocialSignIn: async (id) => social.delete(id),

      addSecondFactor: async (pending) => void factors.set(pending.id, { pending, attempts: 0 }),
      async attemptSecondFactor({ id, bindingHash, most }, now) {
        const row = factors.get(id)
        if (!row || row.pending.bindingHash !== bindingHash || row.pending.expiresAt <= now) return undefined
        if (row.attempts < most) {
          row.attempts += 1
          return row.pending
        }
        factors.delete(id)
        signOuts.giveUp(row.pending.session, now)
        return undefined
      },
      async removeSecondFactor(id, signOut, now) {
        const row = factors.get(id)
        if (row && signOut) signOuts.giveUp(row.pending.session, now)
        return factors.delete(id)
      },
    },
    collect(now, limit) {
      const deleted = collectRows(social, ({ expiresAt }) => expiresAt <= now, limit)
      const isOver = ({ pending }: { pending: PendingSecondFactor }): boolean => pending.expiresAt <= now
      return (
        deleted +
        collectRows(factors, isOver, limit - deleted, ({ pending }) => signOuts.giveUp(pending.session, now))
      )
    },
    sealed: () => [
      ...[...social.values()].map(({ sealed }) => sealed),
      ...[...factors.values()].flatMap(({ pending }) => [pending.sealed, pending.session.sealed]),
    ],
  }
}
