import { z } from 'zod'
import { endAllGrants, isLive } from '../session/grant-pages.ts'
import type { Grant } from '../session/grant.ts'
import { findUsers, listGrants, listWaiting, userDoc } from './grant-list.ts'
import { operation, type OperatorPorts, OperatorRefusal, optionalText } from './operation.ts'

const revokedByOperator = 'revoked_by_operator'
const howToList = 'List them: drawbridge-server grants list'

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
      request: 'DELETE /grants/{id}',
      summary: 'End one grant.',
      result: 'The grant has ended, now or earlier.',
      refusals: { 404: 'Unknown grant.' },
    },
    {
      id: 'revokeGrantsOfUser',
      request: 'DELETE /users/{user}/grants',
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
      const { grants, next } = await listGrants({ ...given, all: false, limit: maxCounted }, ports)
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

type Chosen = Readonly<Partial<Record<'id' | 'user' | 'client', string | undefined>>>

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
  const ended = await revokeGrant(id, { store, runtime })
  if (!ended) throw new OperatorRefusal(404, `There is no grant ${JSON.stringify(id)}.`, howToList)
  yield* ended
}

/**
 * Ends one grant, or a future one whose tokens have not been fetched. Every running server refuses its tokens from the next
 * request on. Returns the ended grant, none if it had already ended, and undefined if the id is unknown.
 *
 * @internal
 */
export async function revokeGrant(
  grantId: string,
  { store, runtime }: Pick<OperatorPorts, 'store' | 'runtime'>,
): Promise<Grant[] | undefined> {
  const now = runtime.now()
  const waiting = await listWaiting(undefined, { store, runtime })
  const code = waiting.find(({ grant }) => grant.id === grantId)
  if (code && (await store.expireCode(code.codeHash, now))) return [code.grant]
  const record = await store.findGrant(grantId)
  if (!record) return undefined
  if (!isLive(record, now)) return []
  await store.endGrant(grantId, revokedByOperator, now)
  return [record.grant]
}
