import { createHash, randomBytes } from 'node:crypto'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { IssuedTokens } from '../../../../bridge/credentials/credential.ts'

/** Counters of a {@link TokenServer}. */
export interface TokenServerCounts {
  refreshed: number
  /** Spent refresh tokens that were answered with their successor. */
  replayed: number
  /** Spent refresh tokens that ended their family. */
  reused: number
  refused: number
  signIns: number
  revoked: number
}

/** Behaviour of the server; may be changed at any time. */
export interface TokenServerRules {
  /** Period in which a spent refresh token is answered with its successor. */
  graceSeconds: number
  lifetimeSeconds: number
  /** Delay before a refresh is answered. */
  delayMs: number
  /** Replaces the answer to a refresh. */
  failWith: { status: number; error?: string; headers?: Record<string, string> } | undefined
  /** Called when a refresh has been done, before it is answered. */
  refreshed: () => Promise<void>
}

/**
 * An authorization server with one user and a resource that requires its tokens: `POST /token` (refresh and client
 * credentials), `POST /sign-in`, `POST /revoke`, `GET /mcp`. Rotates refresh tokens, and ends a family when one is
 * reused.
 */
export interface TokenServer {
  url: string
  counts: TokenServerCounts
  rules: TokenServerRules
  issue(): IssuedTokens
  /** Makes the resource reject all access tokens issued so far. */
  revokeAccessTokens(): void
  revokeEverything(): void
  close(): Promise<void>
}

interface Family {
  isDead: boolean
}

interface Spent {
  at: number
  successor: IssuedTokens
}

/** Starts a server on a free port of this computer. */
export async function startTokenServer(rules: Partial<TokenServerRules> = {}): Promise<TokenServer> {
  const families = new Map<string, Family>()
  const spent = new Map<string, Spent>()
  const access = new Map<string, Family>()
  const counts = { refreshed: 0, replayed: 0, reused: 0, refused: 0, signIns: 0, revoked: 0 }
  const server: TokenServer = {
    url: '',
    counts,
    rules: {
      graceSeconds: 0,
      lifetimeSeconds: 3600,
      delayMs: 0,
      failWith: undefined,
      refreshed: async () => undefined,
      ...rules,
    },
    issue: () => issue({ isDead: false }),
    revokeAccessTokens: () => access.clear(),
    revokeEverything() {
      access.clear()
      for (const family of families.values()) family.isDead = true
    },
    close: () =>
      new Promise((resolve) => {
        listener.close(() => resolve())
        listener.closeAllConnections()
      }),
  }

  function issue(family: Family): IssuedTokens {
    const now = Math.floor(Date.now() / 1000)
    const accessToken = `at-${randomBytes(12).toString('hex')}`
    const refreshToken = `rt-${randomBytes(12).toString('hex')}`
    access.set(accessToken, family)
    families.set(refreshToken, family)
    return {
      accessToken,
      refreshToken,
      issuedAt: now,
      expiresAt: now + server.rules.lifetimeSeconds,
      scope: 'mcp',
    }
  }

  function refresh(refreshToken: string): IssuedTokens | undefined {
    const family = families.get(refreshToken)
    if (family === undefined || family.isDead) {
      counts.refused += 1
      return undefined
    }
    const before = spent.get(refreshToken)
    if (before === undefined) {
      const successor = issue(family)
      spent.set(refreshToken, { at: Date.now(), successor })
      counts.refreshed += 1
      return successor
    }
    if (Date.now() - before.at < server.rules.graceSeconds * 1000) {
      counts.replayed += 1
      return before.successor
    }
    counts.reused += 1
    family.isDead = true
    return undefined
  }

  async function token(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const parameters = new URLSearchParams(await textOf(request))
    const { failWith } = server.rules
    if (failWith !== undefined) {
      counts.refused += 1
      return send(
        response,
        failWith.status,
        failWith.error === undefined ? {} : { error: failWith.error },
        failWith.headers,
      )
    }
    // A token is spent when the request arrives, however long the answer takes.
    const tokens = refresh(parameters.get('refresh_token') ?? '')
    await server.rules.refreshed()
    await new Promise((resolve) => setTimeout(resolve, server.rules.delayMs))
    if (tokens === undefined) return send(response, 400, { error: 'invalid_grant' })
    send(response, 200, tokens)
  }

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    switch (request.url) {
      case '/token':
        return await token(request, response)
      case '/sign-in':
        counts.signIns += 1
        return send(response, 200, server.issue())
      case '/revoke': {
        const family = families.get(await textOf(request))
        if (family !== undefined) family.isDead = true
        counts.revoked += 1
        return send(response, 200, {})
      }
      default: {
        const family = access.get(request.headers.authorization?.replace(/^Bearer /, '') ?? '')
        return send(response, family === undefined || family.isDead ? 401 : 200, {})
      }
    }
  }

  const listener = createServer((request, response) => {
    void answer(request, response)
  })
  await new Promise<void>((resolve) => listener.listen(0, '127.0.0.1', resolve))
  server.url = `http://127.0.0.1:${(listener.address() as AddressInfo).port}`
  return server
}

/** Returns the SHA-256 of a token, as stored in a credential during a refresh. */
export function hashOf(refreshToken: string): string {
  return createHash('sha256').update(refreshToken).digest('hex')
}

function send(
  response: ServerResponse,
  status: number,
  body: object,
  headers: Record<string, string> = {},
): void {
  response.writeHead(status, { 'content-type': 'application/json', ...headers })
  response.end(JSON.stringify(body))
}

async function textOf(request: IncomingMessage): Promise<string> {
  let text = ''
  for await (const chunk of request) text += String(chunk)
  return text
}
