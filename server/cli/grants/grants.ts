import { plainText } from '@drawbridge/shared/terminal/plain-text.ts'
import { findUsers, type GrantFacts, listGrants as listFacts } from '../../core/operator/grant-list.ts'
import { countRevocable, revokeGrant, revokeGrantsOf } from '../../core/operator/grant-revocation.ts'
import type { Grant, GrantOwner } from '../../core/session/grant.ts'
import type { Store } from '../../core/store.ts'
import {
  CommandFailure,
  type CommandInput,
  type CommandOptions,
  type ExitCode,
  exitCode,
  readConfig,
} from '../command.ts'
import { printFacts, timeText } from '../terminal.ts'
import { withStore } from '../with-store.ts'

const maxListed = 10_000

/** Maximum count without `--yes`. */
const maxCounted = 1000

/** Prints grants, and those whose tokens were not fetched yet (`waiting`), with their user, client, creation, last use and end. */
export async function listGrants(
  input: CommandInput,
  { user, client, all = false }: Pick<CommandOptions, 'user' | 'client' | 'all'>,
): Promise<ExitCode> {
  const config = readConfig(input, ['store'])
  const { providerIssuer } = config
  const { runtime } = input
  const { grants, next } = await withStore(config, async (store) =>
    store
      ? listFacts({ user, client, all }, { after: '', limit: maxListed }, { store, providerIssuer, runtime })
      : { grants: [], next: undefined },
  )
  // Waiting grants expire within minutes, and so come first.
  const rows = grants.toSorted((one, other) => Number(isWaiting(other)) - Number(isWaiting(one)))
  const truncated = next !== undefined
  printFacts(
    input,
    { ok: true, grants: rows, truncated },
    {
      head: ['grant', 'user', 'client', 'created', 'last used', 'from', 'tool', 'ends', ''],
      rows: rows.map(cellsOf),
      none: 'No grants.',
    },
  )
  if (truncated) input.terminal.note(`There are more than ${maxListed}. Choose with --user or --client.`)
  return exitCode.ok
}

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

/**
 * Ends the grants of exactly one of `grantId`, `user` and `client`, also waiting ones, with the reason `revoked_by_operator`; more than one only with `yes`. Every running server
 * refuses their tokens from the next request on, and signs out their provider sessions.
 */
export async function revokeGrants(
  input: CommandInput,
  grantId: string | undefined,
  { user, client, yes }: Pick<CommandOptions, 'user' | 'client' | 'yes'>,
): Promise<ExitCode> {
  const config = readConfig(input, ['store'])
  const { providerIssuer } = config
  if ([grantId, user, client].filter((choice) => choice !== undefined).length !== 1) {
    throw new CommandFailure(
      'It is not clear which grants are meant.',
      'Give one grant id, or --user SUB_OR_EMAIL, or --client ID. To see them: drawbridge-server grants list',
      { code: exitCode.usage },
    )
  }
  const { runtime } = input
  const now = runtime.now()
  const grants = await withStore(config, async (store) => {
    if (grantId !== undefined) return revokeOne(grantId, store, now)
    if (!store) return []
    const owners =
      user === undefined
        ? [{ clientId: client ?? '' }]
        : await findUsers(user, { store, providerIssuer, runtime })
    if (!yes) await refuseSeveral(owners, { store, runtime })
    const ended: Grant[] = []
    for await (const grant of revokeGrantsOf(owners, store, now)) ended.push(grant)
    return ended
  })
  const revoked = grants.map(({ id }) => id)
  printFacts(input, { ok: true, revoked: revoked.length, grants: revoked }, textOf(revoked))
  return exitCode.ok
}

async function revokeOne(grantId: string, store: Store | undefined, now: number): Promise<Grant[]> {
  const revoked = store && (await revokeGrant(grantId, store, now))
  if (revoked) return revoked
  throw new CommandFailure(
    `There is no grant ${JSON.stringify(grantId)}.`,
    'List them: drawbridge-server grants list',
  )
}

async function refuseSeveral(
  owners: readonly GrantOwner[],
  ports: Parameters<typeof countRevocable>[2],
): Promise<void> {
  const count = await countRevocable(owners, maxCounted, ports)
  if (count < 2) return
  throw new CommandFailure(
    `This ends ${count === maxCounted ? `${maxCounted} or more` : count} grants: those people have to sign in again.`,
    'To go on, give --yes. To see them first: drawbridge-server grants list with the same choice.',
    { code: exitCode.usage },
  )
}

function textOf(revoked: readonly string[]): string {
  if (revoked.length === 0) return 'There was nothing to end.'
  return revoked.length === 1 ? `Ended grant ${revoked[0]}.` : `Ended ${revoked.length} grants.`
}
