import type { AccountSession } from '../../core/sign-in/account-session.ts'
import { type Client, ClientUnavailableError } from '../../core/clients/client.ts'
import { endAllGrants, readGrants } from '../../core/session/grant-pages.ts'
import type { AuthorizationCodeRecord, Grant, GrantRecord } from '../../core/session/grant.ts'
import type { Language } from '../../texts/language.ts'
import {
  changeOwnGrant,
  findOwnGrant,
  type GrantChange,
  type WantedChange,
} from '../../core/session/grant-change.ts'
import type { RequestContext } from '../endpoint.ts'
import { type ListedClient, listedClient } from '../login/client-view.ts'
import type { LoginPorts } from '../login/login-subject.ts'

const maxWaiting = 200
/** Grants beyond this are ignored; most of so many have ended. */
const maxRecords = 10_000

/** Returns every grant of a user that was not deleted yet, live or not. */
export async function listRecords(userId: string, ports: LoginPorts): Promise<GrantRecord[]> {
  const records: GrantRecord[] = []
  for await (const record of readGrants(ports, { userId })) {
    if (records.push(record) === maxRecords) break
  }
  return records
}

/** Returns a user's approvals that no client or device has redeemed yet, earliest expiry first. */
export function listWaiting(
  userId: string,
  { store, runtime }: LoginPorts,
): Promise<AuthorizationCodeRecord[]> {
  return store.listUnredeemedCodes({ userId }, { now: runtime.now(), limit: maxWaiting })
}

/**
 * Ends one connection with its tokens, or an approval that was not redeemed, and returns its grant. Undefined when it had already
 * ended or belongs to another user: the two look the same.
 */
export async function endConnection(
  grantId: string,
  userId: string,
  context: RequestContext,
  ports: LoginPorts,
): Promise<Grant | undefined> {
  const { store, runtime } = ports
  const waiting = (await listWaiting(userId, ports)).find(({ grant }) => grant.id === grantId)
  if (waiting && (await store.expireCode(waiting.codeHash, runtime.now()))) {
    reportRevoked(waiting.grant, context)
    return waiting.grant
  }
  // Also when it was redeemed a moment ago.
  const grant = await findOwnGrant(grantId, userId, ports)
  if (!grant) return undefined
  await store.endGrant(grantId, 'revoked_by_user', runtime.now())
  reportRevoked(grant, context)
  return grant
}

/** Changes one connection, and reports that or why it is refused. */
export async function changeConnection(
  grantId: string,
  userId: string,
  wanted: WantedChange,
  context: RequestContext,
  ports: LoginPorts,
): Promise<GrantChange> {
  const change = await changeOwnGrant(grantId, userId, wanted, ports)
  if (change.kind === 'scope' || change.kind === 'workspace')
    context.report('choice_refused', { client_id: change.grant.clientId, field: change.kind })
  if (change.kind === 'changed') {
    const { id, clientId, user, scope, workspace } = change.grant
    context.report('grant_changed', {
      grant_id: id,
      client_id: clientId,
      sub: user.sub,
      scope,
      workspace: workspace?.id,
    })
  }
  return change
}

/**
 * Ends every connection of the signed-in user, and every approval that was not redeemed. If it rejects half-way, it can be
 * called again.
 */
export async function endAllConnections(
  { userId }: AccountSession,
  context: RequestContext,
  { store, runtime }: LoginPorts,
): Promise<void> {
  const ended = endAllGrants(store, { userId }, 'revoked_by_user', runtime.now())
  for await (const grant of ended) reportRevoked(grant, context)
}

function reportRevoked({ id, clientId, user }: GrantRecord['grant'], context: RequestContext): void {
  context.report('connection_revoked', { grant_id: id, client_id: clientId, sub: user.sub })
}

/**
 * Looks up the clients of some grants, each once. A client whose id is the URL of its document is only looked up in the store: a
 * list must not make this server fetch a hundred documents that others chose. Its host is in its id anyway.
 */
export async function findClients(
  of: readonly { grant: Grant }[],
  language: Language,
  { clients: finder, store }: LoginPorts,
): Promise<(grant: Grant) => ListedClient> {
  const ids = [...new Set(of.map(({ grant }) => grant.clientId))]
  const found = await Promise.all(
    ids.map((id) => (isUrl(id) ? store : finder).findClient(id).catch(noneWhenUnavailable)),
  )
  const clients = new Map(ids.map((id, index) => [id, found[index]]))
  return ({ clientId }) => listedClient(clientId, clients.get(clientId), language)
}

function isUrl(id: string): boolean {
  return /^https?:/i.test(id)
}

function noneWhenUnavailable(error: unknown): Client | undefined {
  if (error instanceof ClientUnavailableError) return undefined
  throw error
}
