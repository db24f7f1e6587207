import { plainText } from '@drawbridge/shared/terminal/plain-text.ts'
import { z } from 'zod'
import { endAllGrants } from '../session/grant-pages.ts'
import type { Grant } from '../session/grant.ts'
import { findUsers, type GrantFacts, grantSchema, listGrants } from './grant-list.ts'
import { revokedByOperator, revokeGrant } from './grant-revocation.ts'
import {
  limitParameter,
  operation,
  type OperatorPorts,
  OperatorRefusal,
  optionalText,
  switchParameter,
  timeText,
} from './operation.ts'

const userDoc = "the user's id at the session provider, or an email address"
const howToList = 'List them: drawbridge-server grants list'

export const listGrantsOperation = operation({
  summary: 'List grants: who is connected with which client, since when, and the last use.',
  input: z.strictObject({
    user: optionalText(`only those of one user: ${userDoc}`, '<sub-or-email>'),
    client: optionalText('only those of the client with this id', '<id>'),
    all: switchParameter('include ended ones that are not deleted yet'),
    after: optionalText('`next` of the previous page', '<grant-id>'),
    limit: limitParameter,
  }),
  result: z.object({ grants: z.array(grantSchema), next: z.string().optional() }),
  routes: [
    {
      id: 'listGrants',
      method: 'GET',
      path: '/grants',
      result: 'One page of grants, by id. `next` is missing on the last one.',
    },
  ],
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
    text: ({ grants, next }) => ({
      text: {
        head: ['grant', 'user', 'client', 'created', 'last used', 'from', 'tool', 'ends', ''],
        // Waiting grants expire within minutes, and so come first.
        rows: grants.toSorted((one, other) => Number(isWaiting(other)) - Number(isWaiting(one))).map(cellsOf),
        none: 'No grants.',
      },
      notes: next === undefined ? [] : [`There are more: --after ${next}`],
    }),
  },
  handle: ({ user, client, all, after = '', limit }, { store, providerIssuer, runtime }) =>
    listGrants({ user, client, all }, { after, limit }, { store, providerIssuer, runtime }),
})

function isWaiting({ state }: GrantFacts): boolean {
  return state === 'waiting'
}

function cellsOf(row: GrantFacts): string[] {
  return [
    row.id,
    plainText(row.email ?? row.sub),
    plainText(row.client_name === undefined ? row.client_id : `${row.client_name} (${row.client_id})`),
    timeText(row.created_at),
    row.last_used_at === undefined ? '-' : timeText(row.last_used_at),
    row.last_address ?? '-',
    row.last_tool === undefined ? '-' : plainText(row.last_tool),
    timeText(row.ended_at ?? row.expires_at),
    row.state === 'live' ? '' : (row.end_reason ?? row.state),
  ]
}

/** Maximum count without `--yes`. */
const maxCounted = 1000

export const revokeGrantsOperation = operation({
  summary: 'End grants: their users have to sign in again. Running servers refuse their tokens at once.',
  input: z.strictObject({
    id: optionalText('the id of the grant', '<id>'),
    user: optionalText(`all of one user: ${userDoc}`, '<sub-or-email>'),
    client: optionalText('all of the client with this id', '<id>'),
  }),
  result: z.object({
    revoked: z.int().describe('number of grants ended; 0 if they had already ended'),
    grants: z.array(z.string()).describe('their ids'),
  }),
  routes: [
    {
      id: 'revokeGrant',
      method: 'DELETE',
      path: '/grants/{id}',
      summary: 'End one grant.',
      result: 'The grant has ended, now or earlier.',
      refusals: { 404: 'Unknown grant.' },
    },
    {
      id: 'revokeGrantsOfUser',
      method: 'DELETE',
      path: '/users/{user}/grants',
      summary: 'End all grants of a user, by id or email address.',
      result: 'The grants have ended. A user without any is not an error.',
    },
  ],
  command: {
    usage: 'grants revoke [grant-id]',
    operand: 'id',
    examples: [
      'grants revoke 6xHcP2uT0mVd8QkZr1yWbA',
      'grants revoke --user 8f14e45f-ceea-467f-a0e6-1c2d3e4f5a6b --yes',
      'grants revoke --user ada@example.com --yes',
      'grants revoke --client mcpc_Zm9vYmFyYmF6cXV4 --yes',
    ],
    settings: ['store', 'provider', 'providerUrl'],
    async confirm(given, ports) {
      requireOne(given)
      if (given.id !== undefined) return undefined
      const choice = { user: given.user, client: given.client, all: false }
      const { grants, next } = await listGrants(choice, { after: '', limit: maxCounted }, ports)
      if (grants.length < 2) return undefined
      const counted = next === undefined ? grants.length : `more than ${maxCounted}`
      return `This ends ${counted} grants: their users have to sign in again.`
    },
    text: ({ grants: [id, ...more] }) => ({
      text:
        id === undefined
          ? 'There was nothing to end.'
          : more.length === 0
            ? `Ended grant ${id}.`
            : `Ended ${more.length + 1} grants.`,
    }),
  },
  async handle(given, ports) {
    requireOne(given)
    const grants: string[] = []
    for await (const { id, clientId, user } of endGrants(given, ports)) {
      ports.report('admin_grant_revoked', { grant_id: id, client_id: clientId, sub: user.sub })
      grants.push(id)
    }
    return { revoked: grants.length, grants }
  },
})

interface Chosen {
  id?: string | undefined
  user?: string | undefined
  client?: string | undefined
}

function requireOne({ id, user, client }: Chosen): void {
  if ([id, user, client].filter((choice) => choice !== undefined).length !== 1) {
    throw new OperatorRefusal(
      400,
      'It is not clear which grants are meant.',
      `Give one grant id, or --user SUB_OR_EMAIL, or --client ID. ${howToList}`,
    )
  }
}

/** Ends the grants of a user or client, or one, and returns each when it has ended. */
async function* endGrants({ id, user, client }: Chosen, ports: OperatorPorts): AsyncGenerator<Grant> {
  const { store, runtime } = ports
  if (id === undefined) {
    const owners = user === undefined ? [{ clientId: client ?? '' }] : await findUsers(user, ports)
    for (const of of owners) yield* endAllGrants(store, of, revokedByOperator, runtime.now())
    return
  }
  const ended = await revokeGrant(id, store, runtime.now())
  if (!ended) throw new OperatorRefusal(404, `There is no grant ${JSON.stringify(id)}.`, howToList)
  yield* ended
}
