import type { Grant, GrantEndReason, GrantRecord } from './grant.ts'
import { isLive } from './grant-pages.ts'

const noticeSeconds = 30 * 86_400

/** Why a connection ended unexpectedly, as shown to its owner. */
type UnexpectedEnd = 'key_used_twice' | 'signed_out_elsewhere' | 'renewal_refused' | 'not_allowed'

const unexpectedEnds: Partial<Readonly<Record<GrantEndReason, UnexpectedEnd>>> = {
  refresh_token_reuse: 'key_used_twice',
  code_reuse: 'key_used_twice',
  provider_session_ended: 'signed_out_elsewhere',
  provider_refresh_refused: 'renewal_refused',
  access_rule: 'not_allowed',
}

export interface EndedConnection {
  grant: Grant
  endedAt: number
  end: UnexpectedEnd
}

export interface ConnectionOverview {
  live: readonly GrantRecord[]
  /** Grants that ended in the last 30 days for a reason the owner did not choose; newest first. */
  ended: readonly EndedConnection[]
}

/** Selects the grants shown to their owner, and the ends reported to them. */
export function overviewOf(records: readonly GrantRecord[], now: number): ConnectionOverview {
  const live = records
    .filter((record) => isLive(record, now))
    .toSorted((one, other) => lastSeen(other) - lastSeen(one))
  const ended = records
    .flatMap(({ grant, end }) => {
      const unexpected = end && unexpectedEnds[end.reason]
      const isRecent = end !== undefined && end.at > now - noticeSeconds
      return unexpected && isRecent ? [{ grant, endedAt: end.at, end: unexpected }] : []
    })
    .toSorted((one, other) => other.endedAt - one.endedAt)
  return { live, ended }
}

function lastSeen({ grant, lastUse }: GrantRecord): number {
  return lastUse?.usedAt ?? grant.createdAt
}
