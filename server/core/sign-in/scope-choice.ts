import type { Runtime } from '@drawbridge/shared/runtime.ts'
import { hashSecret, type Sealer } from '../seal.ts'
import { isLive } from '../session/grant-pages.ts'
import type { GrantStore } from '../session/grant.ts'

/** A requested scope that the user can leave out. */
export interface ScopeBox {
  scope: string
  ticked: boolean
}

/** Returns what is left of the scope `asked` without the boxes that are not ticked. */
export function chosenScope(asked: string, boxes: readonly ScopeBox[] = []): string {
  const refused = new Set(boxes.filter(({ ticked }) => !ticked).map(({ scope }) => scope))
  return asked
    .split(' ')
    .filter((scope) => !refused.has(scope))
    .join(' ')
}

/** Room for ten clients or more, before the oldest is forgotten. Sealed, it fits into a cookie and the header buffers of proxies. */
const maxLength = 2000

const choicesUse = 'drawbridge choices'

/** The last choice for a client in this browser. It counts while its grant is live. */
interface RememberedChoice {
  clientHash: string
  grantId: string
  /** Scopes that were asked for, or left out or taken back before: what the grant has not of them was left out, or taken back. */
  seen: readonly string[]
}

export interface ScopeChoicePorts {
  store: Pick<GrantStore, 'findGrant'>
  sealer: Sealer
  runtime: Pick<Runtime, 'now'>
}

/**
 * Offers the `optional` scopes of a request, except those that the client has already by the last choice in this browser: a step-up
 * shows only what is new, and may replace the grant of that choice. All are ticked but those that were left out or taken back.
 * `sealed` is the cookie with the choices.
 */
export async function offerScopes(
  optional: readonly string[],
  clientId: string,
  sealed: string | undefined,
  { store, sealer, runtime }: ScopeChoicePorts,
): Promise<{ boxes: ScopeBox[]; replaces?: string }> {
  const clientHash = hashSecret(clientId)
  const choice = openChoices(sealed, sealer).find((other) => other.clientHash === clientHash)
  const record = choice && (await store.findGrant(choice.grantId))
  if (!record || !isLive(record, runtime.now()))
    return { boxes: optional.map((scope) => ({ scope, ticked: true })) }
  const held = record.grant.scope.split(' ')
  const boxes = optional
    .filter((scope) => !held.includes(scope))
    .map((scope) => ({ scope, ticked: !choice.seen.includes(scope) }))
  return { boxes, replaces: choice.grantId }
}

/** Adds a choice to those of a browser, which sent the cookie `sealed`. Returns the new cookie. */
export async function rememberChoice(
  sealed: string | undefined,
  { clientId, grantId }: { clientId: string; grantId: string },
  asked: readonly string[],
  { store, sealer }: Pick<ScopeChoicePorts, 'store' | 'sealer'>,
): Promise<string> {
  const clientHash = hashSecret(clientId)
  const known = openChoices(sealed, sealer)
  const earlier = known.find((other) => other.clientHash === clientHash)
  const record = earlier && (await store.findGrant(earlier.grantId))
  const held = record?.grant.scope.split(' ')
  // A client that asks for less this time may ask again for the rest: for what it had, and for what was left out.
  const leftOut = (held && earlier?.seen.filter((scope) => !held.includes(scope))) ?? []
  const seen = [...new Set([...asked, ...leftOut])]
  const others = known.filter((other) => other.clientHash !== clientHash)
  const choices: RememberedChoice[] = [{ clientHash, grantId, seen }, ...others]
  while (JSON.stringify(choices).length > maxLength) choices.pop()
  return sealer.seal(JSON.stringify(choices), choicesUse)
}

function openChoices(sealed: string | undefined, sealer: Sealer): readonly RememberedChoice[] {
  const opened = sealed === undefined ? undefined : sealer.open(sealed, choicesUse)
  return opened === undefined ? [] : (JSON.parse(opened) as RememberedChoice[])
}
