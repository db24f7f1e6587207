import type { Contender } from './contest.ts'
import type { Connected, RunningSite } from './drawbridge.ts'
import type { Walker } from './load.ts'
import { filledRefreshToken } from './store-fill.ts'

/** The token endpoint and client of one system. */
export interface RefreshTarget {
  url: string
  clientId: string
  resource?: string
}

/**
 * Creates a walker over refresh chains, one step of each in turn: every request presents the token from the last
 * answer of its chain. An answer without a new token, or with one in `seen`, is wrong.
 */
export function refreshing(target: RefreshTarget, chains: readonly string[], seen: Set<string>): Walker {
  const tokens = [...chains]
  let turn = 0
  return {
    next() {
      const form = new URLSearchParams({
        grant_type: 'refresh_token',
        refresh_token: tokens[turn] ?? '',
        client_id: target.clientId,
        ...(target.resource !== undefined && { resource: target.resource }),
      })
      return postRequest(target.url, 'application/x-www-form-urlencoded', form.toString())
    },
    accept({ status, body }) {
      if (status !== 200) return false
      const { refresh_token: token } = JSON.parse(body) as { refresh_token?: string }
      if (token === undefined || seen.has(token)) return false
      seen.add(token)
      tokens[turn] = token
      turn = (turn + 1) % tokens.length
      return true
    },
  }
}

/**
 * An access token lifetime with which each of a thousand grants may be refreshed 15 times a second: no walker comes near
 * the refresh limit of one grant.
 */
export const refreshSettings = { ACCESS_TOKEN_TTL: '2s' }
export const refreshedGrants = 1000

/** Makes Drawbridge refresh a thousand of its `grants`, spread over the store, each by one of `connections`. */
export function refreshContender(
  name: string,
  { site, port, cpuMs, connected }: RunningSite,
  { grants, connections }: { grants: number; connections: number },
): Contender {
  const target = { url: `${site.baseUrl}/oauth/token`, clientId: connected.clientId, resource: site.mcpUrl }
  const chains = Math.floor(refreshedGrants / connections)
  const seen = new Set<string>()
  const walkers = Array.from({ length: connections }, (_, connection) => {
    const tokens = Array.from({ length: chains }, (_each, chain) =>
      filledRefreshToken(Math.floor(((chain * connections + connection) / (chains * connections)) * grants)),
    )
    return refreshing(target, tokens, seen)
  })
  return { name, cpuMs, ports: [port], walkers }
}

/** Formats a GET as a plain client sends it. */
export function getRequest(url: string): string {
  const { host, pathname } = new URL(url)
  return `GET ${pathname} HTTP/1.1\r\nHost: ${host}\r\nUser-Agent: bench\r\nAccept: */*\r\n\r\n`
}

/** Formats a message to the MCP endpoint at `url`, with the headers of revisions up to 2025-11-25 and `headers`. */
export function mcpRequest(url: string, message: object, headers: Readonly<Record<string, string>>): string {
  return postRequest(url, 'application/json', JSON.stringify({ jsonrpc: '2.0', id: 1, ...message }), {
    Accept: 'application/json, text/event-stream',
    ...headers,
  })
}

/** Returns the header that proves who calls. */
export function bearer({ accessToken }: Pick<Connected, 'accessToken'>): Record<string, string> {
  return { Authorization: `Bearer ${accessToken}` }
}

/** Formats `tools/list` with an access token. */
export function listRequest(url: string, connected: Pick<Connected, 'accessToken'>): string {
  return mcpRequest(url, { method: 'tools/list' }, bearer(connected))
}

/** Formats a call of a tool that does nothing with an access token. */
export function callRequest(url: string, connected: Connected, name = 'whoami'): string {
  return mcpRequest(url, { method: 'tools/call', params: { name, arguments: {} } }, bearer(connected))
}

/** Posts a message to the MCP endpoint at `url` before anything is measured. */
export function postMessage(
  url: string,
  message: object,
  headers: Readonly<Record<string, string>> = {},
): Promise<Response> {
  const content = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' }
  const body = JSON.stringify({ jsonrpc: '2.0', ...message })
  return fetch(url, { method: 'POST', headers: { ...content, ...headers }, body })
}

/** Opens an MCP session and returns its header. Throws when there is none. */
export async function openSession(
  url: string,
  headers: Readonly<Record<string, string>> = {},
): Promise<Record<string, string>> {
  const clientInfo = { name: 'bench', version: '1' }
  const params = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo }
  const opened = await postMessage(url, { id: 0, method: 'initialize', params }, headers)
  await opened.text()
  const session = opened.headers.get('mcp-session-id')
  if (session === null) throw new Error(`${url} answered ${opened.status} and opened no session.`)
  const header = { 'Mcp-Session-Id': session, 'Mcp-Protocol-Version': '2025-11-25' }
  const message = { method: 'notifications/initialized' }
  await (await postMessage(url, message, { ...headers, ...header })).text()
  return header
}

function postRequest(url: string, type: string, body: string, headers: Record<string, string> = {}): string {
  const { host, pathname } = new URL(url)
  const all = {
    Host: host,
    'User-Agent': 'bench',
    ...headers,
    'Content-Type': type,
    'Content-Length': body.length,
  }
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}`)
  return `POST ${pathname} HTTP/1.1\r\n${lines.join('\r\n')}\r\n\r\n${body}`
}
