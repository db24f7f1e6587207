import { z } from 'zod'
import { lowerCaseAscii } from '../access/access-rules.ts'
import type { ClientStore } from '../clients/client.ts'
import {
  type AuthorizationCodeRecord,
  type GrantOwner,
  userIdOf,
  type GrantRecord,
} from '../session/grant.ts'
import { isLive, readGrants } from '../session/grant-pages.ts'
import {
  type Columns,
  limitParameter,
  listText,
  maxListed,
  operation,
  type OperatorPorts,
  optionalText,
  seconds,
  switchParameter,
  timeText,
} from './operation.ts'

type GrantPorts = Pick<OperatorPorts, 'store' | 'providerIssuer' | 'runtime'>

export const userDoc = "the user's id at the session provider, or an email address"

/** One grant as shown to operators. Contains no secrets. */
const grantSchema = z.object({
  id: z.string(),
  sub: z.string().describe("the user's id at the session provider"),
  email: z.string().optional().describe('as of the sign-in'),
  client_id: z.string(),
  client_name: z.string().optional().describe("the client's own name for itself"),
  scope: z.string(),
  workspace: z.object({ id: z.string(), name: z.string() }).optional(),
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

type GrantFacts = z.output<typeof grantSchema>

export const listGrantsOperation = operation({
  summary: 'List grants: who is connected with which client, since when, and the last use.',
  input: z.strictObject({
    user: optionalText(`only those of one user: ${userDoc}`, '<sub-or-email>'),
    client: optionalText('only those of the client with this id', '<id>'),
    all: switchParameter('include ended ones that are not deleted yet'),
    after: optionalText('`next` of the previous page', '<grant-id>'),
    limit: limitParameter,
  }),
  result: z
    .object({ grants: z.array(grantSchema), next: z.string().optional() })
    .describe('One page of grants, by id. `next` is missing on the last one.'),
  routes: [{ id: 'listGrants', request: 'GET /grants' }],
  command: {
    usage: 'grants list',
    examples: [
      'grants list',
      'grants list --user 8f14e45f-ceea-467f-a0e6-1c2d3e4f5a6b',
      'grants list --user ada@example.com',
      'grants list --client mcpc_Zm9vYmFyYmF6cXV4 --all --json',
    ],
    settings: ['store', 'provider', 'providerUrl'],
    defaults: { limit: '10000' },
    text: ({ grants }) => listText(grants, columns, 'No grants.'),
    notes: ({ next }) => (next === undefined ? [] : [`There are more: --after ${next}`]),
  },
  handle: listGrants,
})

const columns: Columns<GrantFacts> = {
  grant: (row) => row.id,
  user: (row) => row.email ?? row.sub,
  client: (row) => (row.client_name === undefined ? row.client_id : `${row.client_name} (${row.client_id})`),
  workspace: (row) => row.workspace?.name,
  created: (row) => timeText(row.created_at),
  'last used': (row) => row.last_used_at && timeText(row.last_used_at),
  from: (row) => row.last_address,
  tool: (row) => row.last_tool,
  ends: (row) => timeText(row.ended_at ?? row.expires_at),
  state: (row) => row.end_reason ?? row.state,
}

/** Selects grants: of a user, by `sub` or email address, of a client, or of both. */
export interface GrantChoice {
  user?: string | undefined
  client?: string | undefined
}

/**
 * Returns the user with that `sub`, and, if it contains an `@`, every user whose stored grant has that email address, compared in
 * ASCII lower case. Without a user, returns the client.
 */
export async function findOwners({ user, client }: GrantChoice, ports: GrantPorts): Promise<GrantOwner[]> {
  if (user === undefined) return client === undefined ? [] : [{ clientId: client }]
  // A sub may contain an @ as well.
  const ids = new Set([userIdOf(user, ports.providerIssuer)])
  if (user.includes('@')) {
    const address = lowerCaseAscii(user)
    // Waiting ones first: they may become grants meanwhile.
    for (const { grant } of await listWaiting(undefined, ports)) {
      const { id, email } = grant.user
      if (email !== undefined && lowerCaseAscii(email) === address) ids.add(id)
    }
    for (const id of await ports.store.findUsers(address)) ids.add(id)
  }
  return [...ids].map((userId) => ({ userId }))
}

/** A {@link GrantRecord}, or a future grant whose tokens have not been fetched. */
type ListedRecord = Pick<GrantRecord, 'grant'> & Partial<GrantRecord> & { isWaiting?: true }

/**
 * Reads waiting grants, then the others by id, starting after `after`. One whose tokens are fetched in the meantime comes twice,
 * last as the grant it has become.
 */
async function* readListed(
  of: GrantOwner | undefined,
  ports: GrantPorts,
  after = '',
): AsyncGenerator<ListedRecord> {
  for (const { grant, expiresAt } of await listWaiting(of, ports))
    yield { grant: { ...grant, expiresAt }, isWaiting: true }
  yield* readGrants(ports, of, after)
}

/** Lists future grants whose tokens have not been fetched: at most 10,000, far more than users approve within two minutes. */
export function listWaiting(
  of: GrantOwner | undefined,
  { store, runtime }: Pick<OperatorPorts, 'store' | 'runtime'>,
): Promise<AuthorizationCodeRecord[]> {
  return store.listUnredeemedCodes(of, { now: runtime.now(), limit: maxListed })
}

/** Lists by id, starting after `after`: live and `waiting` ones, with `all` also ended ones. `next` is undefined on the last page. */
export async function listGrants(
  {
    all,
    after = '',
    limit,
    ...choice
  }: GrantChoice & { all: boolean; after?: string | undefined; limit: number },
  ports: GrantPorts,
): Promise<{ grants: GrantFacts[]; next: string | undefined }> {
  const now = ports.runtime.now()
  const { user, client } = choice
  const isMeant = (record: ListedRecord): boolean =>
    record.grant.id > after &&
    (client === undefined || record.grant.clientId === client) &&
    (all || isLive(record, now))
  const records = new Map<string, ListedRecord>()
  const isOfAll = user === undefined && client === undefined
  for (const of of isOfAll ? [undefined] : await findOwners(choice, ports)) {
    let found = 0
    for await (const record of readListed(of, ports, after)) {
      if (!isMeant(record)) continue
      records.set(record.grant.id, record)
      if (!record.isWaiting) found += 1
      if (found > limit) break
    }
  }
  const sorted = [...records.values()].toSorted((one, other) => (one.grant.id < other.grant.id ? -1 : 1))
  const listed = sorted.slice(0, limit)
  return {
    grants: await describe(listed, now, ports.store),
    next: sorted.length > limit ? listed.at(-1)?.grant.id : undefined,
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
    workspace: record.grant.workspace,
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
  if (record.end) return 'ended'
  return isLive(record, now) ? 'live' : 'expired'
}
