import type { Client } from '../clients/client.ts'

/** How long access tokens live, by client; seconds. */
export interface TokenLife {
  accessTokenTtlSeconds: number
  /** Of clients that never refresh; undefined: the same as of others. */
  longTokenTtlSeconds?: number | undefined
  /** Ids of clients that are known not to refresh although they registered `refresh_token`. */
  longTokenClients?: readonly string[] | undefined
}

/**
 * Seconds that an access token of `client` lives: the longer life, where there is one, for a client that cannot refresh or
 * is known not to. The token never outlives its grant in any case, and ends with it at once (RFC 9700 section 2.2.2 asks for
 * short lives of tokens that cannot be revoked; these can).
 */
export function accessTokenTtl(client: Pick<Client, 'id' | 'grantTypes'>, life: TokenLife): number {
  const { accessTokenTtlSeconds, longTokenTtlSeconds, longTokenClients = [] } = life
  const neverRefreshes = !client.grantTypes.includes('refresh_token') || longTokenClients.includes(client.id)
  // A long life that is set below the usual one would punish the clients that it is there for.
  return neverRefreshes ? Math.max(accessTokenTtlSeconds, longTokenTtlSeconds ?? 0) : accessTokenTtlSeconds
}
