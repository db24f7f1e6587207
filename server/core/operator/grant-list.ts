import type { Runtime } from '@drawbridge/shared/runtime.ts'
import { z } from 'zod'
import { lowerCaseAscii } from '../access/access-rules.ts'
import type { ClientStore } from '../clients/client.ts'
import {
  type AuthorizationCodeRecord,
  type GrantOwner,
  userIdOf,
  type Grant,
  type GrantRecord,
  type GrantStore,
} from '../session/grant.ts'
import { isLive, readGrants } from '../session/grant-pages.ts'
import { seconds } from './operation.ts'

/** Maximum number of waiting codes read: far more than users approve within two minutes. */
export const maxWaiting = 10_000

/** Selects grants: by user, by client, by both, or all. */
export interface GrantChoice {
  /** The user's `sub` at the session provider, or an email address. */
  user: string | undefined
  client: string | undefined
}

export interface GrantListPorts {
  store: Pick<GrantStore, 'listGrants' | 'listUnredeemedCodes'> & Pick<ClientStore, 'findClient'>
  providerIssuer: string
  runtime: Pick<Runtime, 'now' | 'sleep'>
}

/** One grant as shown to operators. Contains no secrets. */
export const grantSchema = z.object({
  id: z.string(),
  sub: z.string().describe("the user's id at the session provider"),
  email: z.string().optional().describe('as of the sign-in'),
  client_id: z.string(),
  client_name: z.string().optional().describe("the client's own name for itself"),
  scope: z.string(),
  created_at: seconds('when the user allowed it'),
  last_used_at: seconds('the last use, up to ten minutes out of date').optional(),
  last_address: z.string().optional().describe('the address of the last use'),
  last_tool: z.string().optional().describe('the tool that was called last'),
  two_addresses: z
    .object({
      addresses: z.tuple([z.string(), z.string()]).readonly(),
      at: seconds('the last time'),
    })
    .optional()
    .describe('two addresses that used it at the same time'),
  expires_at: seconds('when it ends; for a waiting one, when it can no longer be fetched'),
  state: z.enum(['live', 'waiting', 'expired', 'ended']),
  ended_at: seconds('when it ended early').optional(),
  end_reason: z.string().optional(),
})

export type GrantFacts = z.output<typeof grantSchema>

/**
 * Returns the user with that `sub`, and, if it contains an `@`, every user whose stored grant has that email address, compared in
 * ASCII lower case. Finding an address reads every grant: the store has no index on it.
 */
export async function findUsers(
  user: string,
  { store, providerIssuer, runtime }: GrantListPorts,
): Promise<GrantOwner[]> {
  // A sub may contain an @ as well.
  const ids = new Set([userIdOf(user, providerIssuer)])
  if (user.includes('@')) {
    const address = lowerCaseAscii(user)
    const add = ({ grant }: { grant: Grant }): void => {
      const { id, email } = grant.user
      if (email !== undefined && lowerCaseAscii(email) === address) ids.add(id)
    }
    const waiting = { now: runtime.now(), limit: maxWaiting }
    for (const code of await store.listUnredeemedCodes(undefined, waiting)) add(code)
    for await (const record of readGrants({ store, runtime }, undefined)) add(record)
  }
  return [...ids].map((userId) => ({ userId }))
}

/** By id, starting after `after`: live and `waiting` ones, with `all` also ended ones. `next` is undefined on the last page. */
export async function listGrants(
  { user, client, all }: GrantChoice & { all: boolean },
  { after, limit }: { after: string; limit: number },
  ports: GrantListPorts,
): Promise<{ grants: GrantFacts[]; next: string | undefined }> {
  const { store, runtime } = ports
  const now = runtime.now()
  const owners =
    user !== undefined
      ? await findUsers(user, ports)
      : [client === undefined ? undefined : { clientId: client }]
  const isMeant = ({ grant }: { grant: Grant }): boolean =>
    grant.id > after && (client === undefined || grant.clientId === client)
  const keep = (record: GrantRecord): boolean => isMeant(record) && (all || isLive(record, now))
  const records = new Map<string, ListedRecord>()
  for (const of of owners) {
    const codes = await store.listUnredeemedCodes(of, { now, limit: maxWaiting })
    for (const code of codes.filter(isMeant)) records.set(code.grant.id, waitingRecord(code))
  }
  // Read after the waiting codes, so that one fetched in the meantime is listed as the grant it has become.
  for (const of of owners) {
    let found = 0
    for await (const record of readGrants(ports, of, after)) {
      if (!keep(record)) continue
      records.set(record.grant.id, record)
      found += 1
      if (found > limit) break
    }
  }
  const sorted = [...records.values()].toSorted((one, other) => (one.grant.id < other.grant.id ? -1 : 1))
  const listed = sorted.slice(0, limit)
  return {
    grants: await describe(listed, now, store),
    next: sorted.length > limit ? listed.at(-1)?.grant.id : undefined,
  }
}

/** A {@link GrantRecord}, or a future grant whose tokens have not been fetched. */
type ListedRecord = GrantRecord & { isWaiting?: true }

function waitingRecord({ grant, expiresAt }: AuthorizationCodeRecord): ListedRecord {
  return {
    grant: { ...grant, expiresAt },
    lastUse: undefined,
    twoAddresses: undefined,
    replays: undefined,
    end: undefined,
    isWaiting: true,
  }
}

async function describe(
  records: readonly ListedRecord[],
  now: number,
  clients: Pick<ClientStore, 'findClient'>,
): Promise<GrantFacts[]> {
  const names = new Map<string, string | undefined>()
  for (const id of new Set(records.map(({ grant }) => grant.clientId))) {
    names.set(id, (await clients.findClient(id))?.name)
  }
  return records.map((record) => ({
    id: record.grant.id,
    sub: record.grant.user.sub,
    email: record.grant.user.email,
    client_id: record.grant.clientId,
    client_name: names.get(record.grant.clientId),
    scope: record.grant.scope,
    created_at: record.grant.createdAt,
    last_used_at: record.lastUse?.usedAt,
    last_address: record.lastUse?.address,
    last_tool: record.lastUse?.tool,
    two_addresses: record.twoAddresses,
    expires_at: record.grant.expiresAt,
    state: stateOf(record, now),
    ended_at: record.end?.at,
    end_reason: record.end?.reason,
  }))
}

function stateOf(record: ListedRecord, now: number): GrantFacts['state'] {
  if (record.isWaiting) return 'waiting'
  if (isLive(record, now)) return 'live'
  return record.end ? 'ended' : 'expired'
}
