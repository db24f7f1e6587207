import { fail, ok, type Outcome, warn } from '@drawbridge/shared/terminal/check.ts'
import { generatedKid } from '../../config/store-address.ts'
import type { SealedSessionStore } from '../../core/session/reseal.ts'

/** Compares the keys that the store's sessions are sealed with to `kids`, those of the key ring, the first of which seals. */
export async function checkSealingKeys(
  kids: readonly string[],
  store: Pick<SealedSessionStore, 'listSealingKeys'>,
): Promise<Outcome> {
  const used = await store.listSealingKeys()
  const missing = used.filter((kid) => !kids.includes(kid))
  if (missing.length > 0) {
    const isTrial = missing.every((kid) => kid === generatedKid)
    return fail(
      `The store holds sessions encrypted with ${missing.map((kid) => `\`${kid}\``).join(', ')}, which the key ring lacks: their clients get 503.`,
      isTrial
        ? 'They are from a trial in this store. Set DRAWBRIDGE_STORE to a new one: users then sign in again.'
        : 'Put it back at the end of the key ring; drawbridge-server keys list shows what it encrypted.',
    )
  }
  const old = used.filter((kid) => kid !== kids[0])
  if (old.length > 0) {
    const message = `Some stored sessions are still encrypted with older keys: ${old.join(', ')}.`
    return warn(message, 'drawbridge-server keys rotate')
  }
  return ok(
    used.length === 0
      ? 'No session is stored yet.'
      : `Every stored session is encrypted with the key \`${kids[0]}\`.`,
  )
}
