import type { Runtime } from '@drawbridge/shared/runtime.ts'
import { type AttemptStore, doOnce } from '../limits/attempt-limit.ts'
import { hashSecret, type Sealer } from '../seal.ts'
import { type GrantRecord, type GrantStore, type ReportGrantEnd, userIdOf } from '../session/grant.ts'
import { isLive, readGrants } from '../session/grant-pages.ts'
import { openSessionOf } from '../session/session-seal.ts'
import type { LogoutNotice, SessionProvider } from '../session/session-provider.ts'

const maxCodes = 200
/** How long a notice is remembered: longer than the provider's tokens are accepted. */
const rememberedSeconds = 2 * 3600

export interface ProviderLogoutPorts {
  store: GrantStore & AttemptStore
  provider: Pick<SessionProvider, 'issuer'>
  sealer: Sealer
  runtime: Pick<Runtime, 'now' | 'sleep'>
  reportGrantEnd: ReportGrantEnd
}

/**
 * Ends the grants of a logout notice and returns how many: all of the user, or only one sign-in's if the notice has a `sid`. A
 * grant without a known sign-in counts as part of it if the notice includes the user too. Approved grants that are not fetched yet
 * expire.
 *
 * A notice counts once, across all instances: it may be delivered again, and must not end what started after it. If this rejects,
 * it has not counted. Without a user, all grants are searched.
 */
export async function endLoggedOut(notice: LogoutNotice, ports: ProviderLogoutPorts): Promise<number> {
  const key = `logout ${hashSecret(JSON.stringify([ports.provider.issuer, notice.id]))}`
  return (await doOnce(key, rememberedSeconds, () => endGrantsOf(notice, ports), ports)) ?? 0
}

async function endGrantsOf({ sub, sid }: LogoutNotice, ports: ProviderLogoutPorts): Promise<number> {
  const { store, provider, runtime, reportGrantEnd } = ports
  const of = sub === undefined ? undefined : { userId: userIdOf(sub, provider.issuer) }
  const now = runtime.now()
  const codes = of ? await store.listUnredeemedCodes(of, { now, limit: maxCodes }) : []
  for (const { codeHash } of codes) await store.expireCode(codeHash, now)
  let ended = 0
  for await (const record of readGrants({ store, runtime }, of)) {
    if (!isLive(record, runtime.now())) continue
    if (sid !== undefined && !(await isOfSignIn(record, sid, of !== undefined, ports))) continue
    await store.endGrant(record.grant.id, 'provider_session_ended', runtime.now())
    reportGrantEnd(record.grant, 'provider_session_ended')
    ended += 1
  }
  return ended
}

async function isOfSignIn(
  { grant }: GrantRecord,
  sid: string,
  whenUnknown: boolean,
  { store, provider, sealer }: ProviderLogoutPorts,
): Promise<boolean> {
  const stored = await store.findProviderSession(grant.id)
  const opening = stored && openSessionOf(provider.issuer, stored, sealer)
  if (opening?.kind !== 'opened') return opening?.kind !== 'foreign' && whenUnknown
  return opening.session.sid === undefined ? whenUnknown : opening.session.sid === sid
}
