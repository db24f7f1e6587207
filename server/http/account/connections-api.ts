import { z } from 'zod'
import { OAuthError } from '@drawbridge/shared/oauth/oauth-error.ts'
import type { Reply } from '@drawbridge/shared/text-response.ts'
import type { SignedInCaller } from '../../core/tokens/caller.ts'
import { CallerReader } from '../../core/tokens/caller-reader.ts'
import { overviewOf } from '../../core/session/connection.ts'
import type { Grant, GrantRecord } from '../../core/session/grant.ts'
import type { Endpoint, EndpointHandler, RequestContext } from '../endpoint.ts'
import type { LoginPorts } from '../login/login-subject.ts'
import { audienceOf, type CallerSource, findCaller } from '../middleware/caller.ts'
import { readJson } from '../middleware/body.ts'
import { splitUrl } from '../middleware/guards.ts'
import { empty, httpError, json, oauthFailure, pageLanguage } from '../response.ts'
import { changeConnection, endConnection, findClients, listRecords } from './connections.ts'

export interface ConnectionsApiPorts extends CallerSource {
  login: LoginPorts
}

const wantedChange = z.strictObject({ scope: z.string().optional(), workspace: z.string().optional() })

/**
 * `/account/api/connections`, for the web app's own page: lists the connections of the user whose provider token or session cookie is
 * sent, and below it, with an id, narrows (PATCH) or ends (DELETE) one. A client's own token is refused: it must not change what it may.
 */
export function createConnectionsApi(ports: ConnectionsApiPorts): Endpoint[] {
  const readers = new CallerReader(ports.callers)
  const path = `${ports.login.urls.basePath}/account/api/connections`
  const cors = (request: Request): ReturnType<typeof audienceOf> => audienceOf(request, ports.allowedOrigins)
  const asUser =
    (handle: (visit: ApiVisit) => Promise<Reply>): EndpointHandler =>
    async (request, context) => {
      const found = await findCaller(request, context, readers, ports)
      if (found.kind === 'refused') return found.reply
      if (found.kind === 'unavailable')
        return httpError('temporarily_unavailable', { 'retry-after': String(found.retryAfterSeconds) })
      if (found.kind === 'denied') return httpError('access_denied')
      if (found.kind !== 'caller' || found.caller.grantId !== undefined) return unauthorized()
      return handle({ request, context, user: found.caller.user, ports: ports.login })
    }
  return [
    { path, cors, methods: { GET: asUser(list) } },
    { path: `${path}/`, prefix: true, cors, methods: { PATCH: asUser(change), DELETE: asUser(end) } },
  ]
}

interface ApiVisit {
  request: Request
  context: RequestContext
  user: SignedInCaller['user']
  ports: LoginPorts
}

function unauthorized(): Reply {
  const description =
    'Send a credential of the session provider: its access token (of PROVIDER=app a drawbridge-user+jwt) as bearer token, or its session cookie.'
  return oauthFailure(new OAuthError('invalid_token', description), { 'www-authenticate': 'Bearer' })
}

async function list(visit: ApiVisit): Promise<Reply> {
  const { user, ports } = visit
  const { live } = overviewOf(await listRecords(user.id, ports), ports.runtime.now())
  return json({ connections: await connectionsOf(live, visit) })
}

async function change(visit: ApiVisit): Promise<Reply> {
  const { request, context, user, ports } = visit
  const { success, data } = wantedChange.safeParse(await readJson(request))
  if (!success) {
    const description = 'Send a JSON object with scope, workspace or both, each a string.'
    throw new OAuthError('invalid_request', description)
  }
  const wanted = {
    scope: data.scope?.split(' ').filter((name) => name !== ''),
    workspaceId: data.workspace,
  }
  const { kind, grant } = await changeConnection(idIn(request), user.id, wanted, context, ports)
  if (kind === 'unavailable') return httpError('temporarily_unavailable')
  if (kind === 'scope' || kind === 'workspace') return json(refusals[kind], 400)
  const record = grant && (await ports.store.findGrant(grant.id))
  const [connection] = await connectionsOf(record ? [record] : [], visit)
  return connection ? json(connection) : json(refusals.gone, 404)
}

async function end({ request, context, user, ports }: ApiVisit): Promise<Reply> {
  const ended = await endConnection(idIn(request), user.id, context, ports)
  return ended ? empty(204) : json(refusals.gone, 404)
}

/** Ids of grants have no character that is encoded in a path. */
function idIn(request: Request): string {
  return splitUrl(request.url).path.split('/').at(-1) ?? ''
}

const refusals = {
  scope: {
    error: 'invalid_scope',
    error_description: 'The connection has no such scope. Only a new sign-in can add one.',
  },
  workspace: {
    error: 'invalid_workspace',
    error_description: 'The user is in no such workspace. Name one by its id.',
  },
  gone: {
    error: 'not_found',
    error_description: 'The user has no such connection, or it has ended. List the connections again.',
  },
}

async function connectionsOf(
  records: readonly GrantRecord[],
  { request, ports }: ApiVisit,
): Promise<object[]> {
  const listed = await findClients(records, pageLanguage(request, ports.languages), ports)
  return records.map(({ grant, lastUse }) => ({
    id: grant.id,
    client: { id: grant.clientId, name: listed(grant).client.name ?? null },
    scope: shownScope(grant),
    workspace: grant.workspace ?? null,
    created_at: timeText(grant.createdAt),
    expires_at: timeText(grant.expiresAt),
    last_used_at: lastUse ? timeText(lastUse.usedAt) : null,
    last_tool: lastUse?.tool ?? null,
  }))
}

/** `offline_access` has no effect here, and is not a choice. */
function shownScope({ scope }: Grant): string {
  return scope
    .split(' ')
    .filter((name) => name !== 'offline_access')
    .join(' ')
}

function timeText(epochSeconds: number): string {
  return new Date(epochSeconds * 1000).toISOString()
}
