import type { Answer } from './connection.ts'
import type { Walker } from './load.ts'

/** The token endpoint and client of one system. */
export interface RefreshTarget {
  host: string
  path: string
  clientId: string
  resource: string | undefined
}

/**
 * Creates a walker over refresh chains, one step of each in turn: every request presents the token from the last
 * answer of its chain. An answer without a new token, or with one in `seen`, is wrong.
 */
export function createRefreshWalker(
  target: RefreshTarget,
  chains: readonly string[],
  seen: Set<string>,
): Walker {
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
      return postRequest(target, 'application/x-www-form-urlencoded', form.toString())
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

/** Creates a walker that repeats `request`; `isRight` checks the answers. */
export function createRepeatingWalker(request: string, isRight: (answer: Answer) => boolean): Walker {
  return { next: () => request, accept: isRight }
}

/** Formats a GET as a plain client sends it. */
export function getRequest({ host, path }: { host: string; path: string }): string {
  return `GET ${path} HTTP/1.1\r\nHost: ${host}\r\nUser-Agent: bench\r\nAccept: */*\r\n\r\n`
}

/** Formats a POST as a plain client sends it; `body` is ASCII. */
export function postRequest(
  { host, path }: { host: string; path: string },
  type: string,
  body: string,
  headers: readonly string[] = [],
): string {
  const lines = [
    `POST ${path} HTTP/1.1`,
    `Host: ${host}`,
    'User-Agent: bench',
    ...headers,
    `Content-Type: ${type}`,
    `Content-Length: ${body.length}`,
  ]
  return `${lines.join('\r\n')}\r\n\r\n${body}`
}

/** Formats `tools/list` with an access token, as sent by clients of revisions up to 2025-11-25. */
export function toolsListRequest(host: string, { accessToken }: { accessToken: string }): string {
  return mcpRequest(host, accessToken, '{"jsonrpc":"2.0","id":1,"method":"tools/list"}')
}

/** Formats a message to `/mcp` with an access token. */
export function mcpRequest(
  host: string,
  accessToken: string,
  message: string,
  headers: readonly string[] = [],
): string {
  return postRequest({ host, path: '/mcp' }, 'application/json', message, [
    'Accept: application/json, text/event-stream',
    `Authorization: Bearer ${accessToken}`,
    ...headers,
  ])
}
