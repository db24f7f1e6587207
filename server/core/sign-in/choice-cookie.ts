import type { Runtime } from '@drawbridge/shared/runtime.ts'
import { isLive } from '../session/grant-pages.ts'
import type { GrantStore } from '../session/grant.ts'
import { hashSecret, type Sealer } from '../seal.ts'
import type { EarlierChoice } from '../authorization/scope-choice.ts'

/** More clients than step up in one browser; the oldest is forgotten. */
const maxClients = 10

const choicesUse = 'drawbridge choices'

/** The last choice for a client in this browser. It counts while its grant is live. */
interface RememberedChoice {
  clientHash: string
  grantId: string
  /** Scopes that were asked for and left out. */
  refused: readonly string[]
}

/** Seals the choices of a browser with a new one. `sealed` is the cookie it sent. */
export function rememberChoice(
  sealed: string | undefined,
  { clientId, ...choice }: { clientId: string; grantId: string; refused: readonly string[] },
  sealer: Sealer,
): string {
  const clientHash = hashSecret(clientId)
  const others = openChoices(sealed, sealer).filter((other) => other.clientHash !== clientHash)
  return sealer.seal(JSON.stringify([{ clientHash, ...choice }, ...others].slice(0, maxClients)), choicesUse)
}

/** Finds what a client has by the choice that was last made in this browser; undefined if its grant is over. */
export async function findEarlierChoice(
  sealed: string | undefined,
  clientId: string,
  {
    store,
    sealer,
    runtime,
  }: { store: Pick<GrantStore, 'findGrant'>; sealer: Sealer; runtime: Pick<Runtime, 'now'> },
): Promise<EarlierChoice | undefined> {
  const clientHash = hashSecret(clientId)
  const known = openChoices(sealed, sealer).find((other) => other.clientHash === clientHash)
  const record = known && (await store.findGrant(known.grantId))
  if (!record || !isLive(record, runtime.now())) return undefined
  return { held: record.grant.scope, refused: known.refused }
}

function openChoices(sealed: string | undefined, sealer: Sealer): readonly RememberedChoice[] {
  const opened = sealed === undefined ? undefined : sealer.open(sealed, choicesUse)
  return opened === undefined ? [] : (JSON.parse(opened) as RememberedChoice[])
}
