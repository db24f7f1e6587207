import { findUsers } from '../../core/operator/grant-list.ts'
import { countRevocable, revokeGrant, revokeGrantsOf } from '../../core/operator/grant-revocation.ts'
import type { Grant, GrantOwner } from '../../core/session/grant.ts'
import type { Store } from '../../core/store.ts'
import { CommandFailure, type CommandInput, type ExitCode, exitCode, readConfig } from '../command.ts'
import { withStore } from '../with-store.ts'

/** How far is counted before anybody has said yes. */
const maxCounted = 1000

/** What to revoke: exactly one of the three. */
export interface GrantsRevokeOptions {
  grantId: string | undefined
  /** The `sub` of a person at the session provider, or an email address. */
  user: string | undefined
  client: string | undefined
  /** Ends more than one without asking. */
  yes: boolean
}

/**
 * Ends grants, and what would become one when its tokens are fetched, with the reason `revoked_by_operator`. Their tokens are refused from the next request on, by every running
 * server; their provider sessions are signed out by those. More than one only with `yes`.
 */
export async function revokeGrants(input: CommandInput, options: GrantsRevokeOptions): Promise<ExitCode> {
  const config = readConfig(input, ['store'])
  const { providerIssuer } = config
  const { grantId, user, client } = options
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
    if (!options.yes) await refuseSeveral(owners, { store, runtime })
    const ended: Grant[] = []
    for await (const grant of revokeGrantsOf(owners, store, now)) ended.push(grant)
    return ended
  })
  const revoked = grants.map(({ id }) => id)
  input.terminal.print(
    input.json ? JSON.stringify({ ok: true, revoked: revoked.length, grants: revoked }) : textOf(revoked),
  )
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
