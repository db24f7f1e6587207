import { createCodeVerifier, deriveCodeChallenge } from '@drawbridge/shared/oauth/pkce.ts'
import { randomBytes } from 'node:crypto'
import type { Person } from './person.ts'
import type { ServerAddress } from './server-process.ts'

/** Redirect URI of every test client; nothing listens there. */
export const redirectUri = 'http://127.0.0.1:4711/callback'

/** The token endpoint's response. */
export interface Tokens {
  access_token: string
  refresh_token: string
  expires_in: number
  scope: string
}

/** An OAuth client over plain HTTP, for what the libraries would not do, such as everything at once. */
export interface PlainClient {
  id: string
  authorizationUrl: URL
  /** An unused authorization code. */
  code(person: Pick<Person, 'allow'>): Promise<string>
  redeem(code: string): Promise<Response>
  refresh(refreshToken: string): Promise<Response>
  /** Revokes a token (RFC 7009). */
  revoke(token: string): Promise<Response>
  /** Introspects a token (RFC 7662). */
  introspect(token: string): Promise<Response>
  /** Signs in and redeems. */
  connect(person: Pick<Person, 'allow'>): Promise<Tokens>
}

/** A client that the server knows. */
export interface KnownClient {
  id: string
  redirectUri?: string
  /** Returns form fields that authenticate it, for each request; default: none, a public client. */
  prove?: () => Promise<Record<string, string>>
}

/** What the server says of a client that registers (RFC 7591, RFC 7592). */
export interface Registered {
  client_id: string
  client_secret?: string
  registration_client_uri: string
  registration_access_token: string
}

/** Registers a client, by default a public one with the usual redirect URI. Throws unless the server takes it. */
export async function register(server: ServerAddress, metadata: object): Promise<Registered> {
  const answer = await server.fetch(`${server.baseUrl}/oauth/register`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ redirect_uris: [redirectUri], token_endpoint_auth_method: 'none', ...metadata }),
  })
  if (answer.status !== 201) throw new Error(`Registering answered ${answer.status}.`)
  return (await answer.json()) as Registered
}

/** Registers a public client called `name`, to which codes return at `returnTo`. */
export async function registerPlainClient(
  server: ServerAddress,
  name: string = 'Plain client',
  returnTo: string = redirectUri,
): Promise<PlainClient> {
  const { client_id: id } = await register(server, { client_name: name, redirect_uris: [returnTo] })
  return createPlainClient(server, { id, redirectUri: returnTo })
}

/** Creates a client that the server knows without registration, or that is already registered. */
export async function createPlainClient(server: ServerAddress, known: KnownClient): Promise<PlainClient> {
  const { id, redirectUri: returnTo = redirectUri, prove = async () => ({}) } = known
  const codeVerifier = createCodeVerifier((length) => randomBytes(length))
  const codeChallenge = await deriveCodeChallenge(codeVerifier)

  const ask = async (path: string, fields: Record<string, string>): Promise<Response> =>
    postForm(server, path, { client_id: id, ...(await prove()), ...fields })
  const askForTokens = (fields: Record<string, string>): Promise<Response> =>
    ask('/oauth/token', { resource: server.mcpUrl, ...fields })

  const authorizationUrl = new URL(`${server.baseUrl}/oauth/authorize`)
  authorizationUrl.search = new URLSearchParams({
    response_type: 'code',
    client_id: id,
    redirect_uri: returnTo,
    scope: 'mcp',
    resource: server.mcpUrl,
    code_challenge: codeChallenge,
    code_challenge_method: 'S256',
  }).toString()

  const client: PlainClient = {
    id,
    authorizationUrl,
    async code(person) {
      const code = (await person.allow(authorizationUrl)).searchParams.get('code')
      if (code === null) throw new Error('Signing in gave no code.')
      return code
    },
    redeem: (code) =>
      askForTokens({
        grant_type: 'authorization_code',
        code,
        code_verifier: codeVerifier,
        redirect_uri: returnTo,
      }),
    refresh: (refreshToken) => askForTokens({ grant_type: 'refresh_token', refresh_token: refreshToken }),
    revoke: (token) => ask('/oauth/revoke', { token }),
    introspect: (token) => ask('/oauth/introspect', { token }),
    async connect(person) {
      const response = await client.redeem(await client.code(person))
      if (response.status !== 200) throw new Error(`Redeeming the code answered ${response.status}.`)
      return (await response.json()) as Tokens
    },
  }
  return client
}

/** Posts a form to an endpoint of the server, given by its path below the base URL, with `headers`. */
export function postForm(
  server: ServerAddress,
  path: string,
  fields: Record<string, string>,
  headers: Record<string, string> = {},
): Promise<Response> {
  return server.fetch(server.baseUrl + path, {
    method: 'POST',
    headers: { 'content-type': 'application/x-www-form-urlencoded', ...headers },
    body: new URLSearchParams(fields).toString(),
  })
}

/** Posts one JSON-RPC request to `/mcp`, by default of id 1, with the content headers of a direct call, and `headers`. */
export function postMcp(
  server: ServerAddress,
  message: { id?: number; method: string; params?: unknown },
  headers: Record<string, string> = {},
): Promise<Response> {
  return server.fetch(server.mcpUrl, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      ...headers,
    },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, ...message }),
  })
}

/** Returns the status of a call with an access token. */
export async function statusOfCall(server: ServerAddress, accessToken: string): Promise<number> {
  return (await postMcp(server, { method: 'ping' }, { authorization: `Bearer ${accessToken}` })).status
}

/** Calls a tool with an access token and returns the text of its result. Throws unless it succeeds. */
export async function callTool(
  server: ServerAddress,
  accessToken: string,
  name: string,
  input: Record<string, unknown> = {},
): Promise<string> {
  const message = { method: 'tools/call', params: { name, arguments: input } }
  const response = await postMcp(server, message, { authorization: `Bearer ${accessToken}` })
  const body = await response.text()
  if (response.status !== 200) throw new Error(`${name} answered ${response.status}: ${body}`)
  const { result } = JSON.parse(body) as {
    result?: { isError?: boolean; content: { text: string }[] }
  }
  if (!result || result.isError) throw new Error(`${name} failed: ${body}`)
  return result.content.map(({ text }) => text).join('\n')
}
