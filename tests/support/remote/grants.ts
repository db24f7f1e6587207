import { randomBytes } from 'node:crypto'
import { OAuthFailure } from './oauth-failure.ts'
import type { RemoteCounters } from './remote-counters.ts'
import type { RemoteSettings } from './remote-settings.ts'

/** Response of `/token`. */
export interface TokenAnswer {
  access_token: string
  token_type: 'Bearer'
  expires_in: number
  refresh_token: string
  scope: string
}

/** One consent: a family of tokens. */
interface Grant {
  clientId: string
  scope: string
  ended: boolean
}

interface RefreshToken {
  grant: Grant
  /** Set when it was used. */
  successor?: { answer: TokenAnswer; at: number }
}

/** The tokens of the remote. Times come from the system clock. */
export interface Grants {
  /** Issues tokens of a new grant. */
  open(clientId: string, scope: string): TokenAnswer
  /** Throws {@link OAuthFailure}. `scope` may narrow. */
  refresh(token: string, clientId: string, scope: string | undefined): TokenAnswer
  /** Returns the owner of an access token while it is valid. */
  caller(accessToken: string): { clientId: string; scope: string } | undefined
  /** RFC 7009: revokes either kind of token; for a refresh token the whole grant. */
  revoke(token: string): void
  revokeAccessTokens(): void
  /** Revokes refresh tokens too. */
  revokeAll(): void
  /** All secrets issued so far. */
  readonly secrets: Set<string>
}

/** Tokens are unguessable, and their prefixes identify them in a search for leaks. */
export function createGrants(settings: RemoteSettings, counters: RemoteCounters): Grants {
  const accessTokens = new Map<string, { grant: Grant; expiresAt: number }>()
  const refreshTokens = new Map<string, RefreshToken>()
  const secrets = new Set<string>()

  function issue(grant: Grant, scope: string, refreshToken: string): TokenAnswer {
    const accessToken = secret('at')
    accessTokens.set(accessToken, { grant, expiresAt: Date.now() + settings.tokenTtlSeconds * 1000 })
    return {
      access_token: accessToken,
      token_type: 'Bearer',
      expires_in: settings.tokenTtlSeconds,
      refresh_token: refreshToken,
      scope,
    }
  }

  function secret(kind: string): string {
    const made = newSecret(kind)
    secrets.add(made)
    return made
  }

  function newRefreshToken(grant: Grant): string {
    const token = secret('rt')
    refreshTokens.set(token, { grant })
    return token
  }

  return {
    secrets,
    open(clientId, scope) {
      const grant = { clientId, scope, ended: false }
      return issue(grant, scope, newRefreshToken(grant))
    },
    refresh(token, clientId, scope) {
      const found = refreshTokens.get(token)
      if (found === undefined || found.grant.ended || found.grant.clientId !== clientId) {
        counters.refreshesRefused++
        throw new OAuthFailure('invalid_grant', 'the grant has ended')
      }
      if (found.successor !== undefined) {
        if (Date.now() - found.successor.at < settings.graceSeconds * 1000) {
          counters.refreshesReplayed++
          return found.successor.answer
        }
        counters.refreshesReused++
        found.grant.ended = true
        throw new OAuthFailure('invalid_grant', 'the refresh token was used before: the grant has ended')
      }
      counters.refreshesOk++
      const answer = issue(found.grant, scope ?? found.grant.scope, newRefreshToken(found.grant))
      found.successor = { answer, at: Date.now() }
      return answer
    },
    caller(accessToken) {
      const found = accessTokens.get(accessToken)
      if (found === undefined || found.grant.ended || found.expiresAt <= Date.now()) return undefined
      return { clientId: found.grant.clientId, scope: found.grant.scope }
    },
    revoke(token) {
      accessTokens.delete(token)
      const found = refreshTokens.get(token)
      if (found !== undefined) found.grant.ended = true
    },
    revokeAccessTokens: () => accessTokens.clear(),
    revokeAll() {
      accessTokens.clear()
      refreshTokens.clear()
    },
  }
}

/** Returns 256 bits with a prefix that no other program uses, and the word that tests of commands look for. */
export function newSecret(kind: string): string {
  return `remote-secret-${kind}-sEcReT-${randomBytes(32).toString('base64url')}`
}
