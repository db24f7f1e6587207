import { z } from 'zod'
import { type DescribedRoute, openApiDocument } from '../../server/admin/open-api.ts'

const time = z.iso.datetime()
const scopeDoc = 'separated by blanks; `mcp` is always among them'

/** A connection, as `/account/api/connections` shows it. */
const connectionSchema = z.object({
  id: z.string(),
  client: z.object({
    id: z.string(),
    name: z.string().nullable().describe('what the client says of itself: show it as text'),
  }),
  scope: z.string().describe(scopeDoc),
  workspace: z.object({ id: z.string(), name: z.string() }).nullable(),
  created_at: time,
  expires_at: time,
  last_used_at: time.nullable(),
  last_tool: z.string().nullable().describe('the tool of the last call'),
})

/** The body of a change. */
const changeSchema = z.strictObject({
  scope: z.string().optional().describe(`what is left of the scope, ${scopeDoc}`),
  workspace: z.string().optional().describe('the id of a workspace of the user'),
})

const path = '/account/api/connections'
const onePath = z.strictObject({ id: z.string().describe('the id of the connection') })
const foreign =
  'The page is not of an allowed origin (`forbidden_origin`, `forbidden_cookie`), or the access rules keep the user out (`access_denied`).'
const gone = 'The connection has ended, or is of another user (`not_found`).'

/**
 * The requests of the API for a web app's own page of connections.
 *
 * @internal
 */
export const connectionsApiRoutes: readonly DescribedRoute[] = [
  {
    id: 'listConnections',
    method: 'GET',
    path,
    summary: "List the user's connections, the most recently used first.",
    input: z.strictObject({}),
    schema: z.object({ connections: z.array(connectionSchema) }),
    result: 'The connections.',
    refusals: { 403: foreign },
  },
  {
    id: 'changeConnection',
    method: 'PATCH',
    path: `${path}/{id}`,
    summary:
      'Take scopes back from a connection, or give it another workspace. It holds from the next call on.',
    input: onePath,
    body: changeSchema,
    schema: connectionSchema,
    result: 'The connection as it is now.',
    refusals: {
      400: 'The connection has no such scope (`invalid_scope`), the user is in no such workspace (`invalid_workspace`), or the body is something else (`invalid_request`).',
      403: foreign,
      404: gone,
      413: 'The body is too large (`invalid_request`).',
      415: 'The body is not JSON (`invalid_request`).',
      503: 'The store cannot be reached, or the web app does not list workspaces. Try again later.',
    },
  },
  {
    id: 'endConnection',
    method: 'DELETE',
    path: `${path}/{id}`,
    summary: 'End a connection. Its tokens stop working at once.',
    input: onePath,
    result: 'The connection has ended.',
    refusals: { 403: foreign, 404: gone },
  },
]

/** The OpenAPI document of the API. */
export const connectionsApiDocument: ReturnType<typeof openApiDocument> = openApiDocument(
  connectionsApiRoutes,
  {
    title: 'Drawbridge connections API',
    description:
      "Lists, narrows and ends a user's connections, for a page of the web app. docs/choices.md says how.",
    version: '1.0.0',
    url: 'https://mcp.example.com',
    token:
      "The user's access token of the session provider. Instead of it, requests of an allowed origin can carry the session cookie.",
  },
)
