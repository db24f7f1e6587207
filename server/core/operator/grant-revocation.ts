import { z } from 'zod'
import type { Grant } from '../session/grant.ts'
import { endAllGrants, isLive } from '../session/grant-pages.ts'
import { tokenKey } from '../tokens/token-issue.ts'
import { findOwners, type GrantChoice, listGrants, listWaiting, userDoc } from './grant-operations.ts'
import {
  flagValues,
  operation,
  type OperatorPorts,
  OperatorRefusal,
  optionalText,
  switchParameter,
} from './operation.ts'

const howToList = 'List them: drawbridge-server grants list'
const revokedByOperator = 'revoked_by_operator'

/** Maximum count without `--yes`. */
const maxCounted = 1000

export const revokeGrantsOperation = operation({
  summary: 'End grants: their users have to sign in again. Running servers refuse their tokens at once.',
  input: z.strictObject({
    id: optionalText('the id of the grant', '<id>'),
    user: optionalText(`all of one user: ${userDoc}`, '<sub-or-email>'),
    client: optionalText('all of the client with this id', '<id>'),
    token: z
      .literal('-', { error: 'expected -: no token belongs on a command line' })
      .optional()
      .describe('the one of a token, which is read from stdin')
      .register(flagValues, { value: '<->' }),
    yes: switchParameter('confirm it where it is about several'),
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
      'grants revoke --token - < leaked-token.txt',
    ],
    settings: ['store', 'provider', 'providerUrl'],
    text: ({ revoked, grants: [id = ''] }) =>
      revoked === 1 ? `Ended grant ${id}.` : `Ended ${revoked} grants.`,
  },
  async handle(given, ports) {
    await requireClear(given, ports)
    const grants: string[] = []
    for await (const { id, clientId, user } of endGrants(given, ports)) {
      ports.report('admin_grant_revoked', { grant_id: id, client_id: clientId, sub: user.sub })
      grants.push(id)
    }
    return { revoked: grants.length, grants }
  },
})

interface Chosen extends GrantChoice {
  id?: string | undefined
  token?: '-' | undefined
  /** Missing from HTTP requests, which confirm themselves. */
  yes?: boolean | undefined
}

/** Refuses a choice that is none or several, and a command that would end several grants without `--yes`. */
async function requireClear({ id, token, user, client, yes }: Chosen, ports: OperatorPorts): Promise<void> {
  if ([id, token, user, client].filter((choice) => choice !== undefined).length !== 1) {
    throw new OperatorRefusal(
      400,
      'It is not clear which grants are meant.',
      `Give one grant id, or --user SUB_OR_EMAIL, or --client ID, or --token -. ${howToList}`,
    )
  }
  if (yes !== false || id !== undefined || token !== undefined) return
  const { grants, next } = await listGrants({ user, client, all: false, limit: maxCounted }, ports)
  if (grants.length < 2) return
  const counted = next === undefined ? grants.length : `more than ${maxCounted}`
  throw new OperatorRefusal(
    400,
    `This ends ${counted} grants: their users have to sign in again.`,
    'To go on, give --yes. To see them first, list them with the same choice.',
  )
}

/** Finds the grant of the token on stdin, an access, refresh or personal one. Works without knowing whose it is. */
async function findGrantOfToken({ auditLines, store, runtime }: OperatorPorts): Promise<string> {
  let text = ''
  for await (const line of auditLines('-')) if ((text = line.trim()) !== '') break
  const key = tokenKey(text)
  const found = (await store.findAccessToken(key, runtime.now())) ?? (await store.findRefreshToken(key))
  if (found) return found.grant.id
  throw new OperatorRefusal(404, 'No live grant has this token.', 'It is unknown, expired or ended already.')
}

/** Ends the chosen grants, also future ones whose tokens have not been fetched, and yields each after it has ended. */
async function* endGrants(
  { id: named, token, ...choice }: Chosen,
  ports: OperatorPorts,
): AsyncGenerator<Grant> {
  const { store, runtime } = ports
  const now = runtime.now()
  const id = token === undefined ? named : await findGrantOfToken(ports)
  if (id === undefined) {
    for (const of of await findOwners(choice, ports)) yield* endAllGrants(store, of, revokedByOperator, now)
    return
  }
  const waiting = (await listWaiting(undefined, ports)).find(({ grant }) => grant.id === id)
  if (waiting && (await store.expireCode(waiting.codeHash, now))) {
    yield waiting.grant
    return
  }
  // Also when its tokens were fetched a moment ago.
  const record = await store.findGrant(id)
  if (!record) throw new OperatorRefusal(404, `There is no grant ${JSON.stringify(id)}.`, howToList)
  if (!isLive(record, now)) return
  await store.endGrant(id, revokedByOperator, now)
  yield record.grant
}
