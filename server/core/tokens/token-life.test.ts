import { expect, it } from 'vitest'
import type { Client } from '../clients/client.ts'
import { accessTokenTtl, type TokenLife } from './token-life.ts'

const refreshes: Pick<Client, 'id' | 'grantTypes'> = {
  id: 'refreshes',
  grantTypes: ['authorization_code', 'refresh_token'],
}
const cannot: Pick<Client, 'id' | 'grantTypes'> = { id: 'cannot', grantTypes: ['authorization_code'] }
const off: TokenLife = { accessTokenTtlSeconds: 3600 }
const on: TokenLife = { ...off, longTokenTtlSeconds: 86_400, longTokenClients: ['listed'] }

it.each<[rule: string, client: Pick<Client, 'id' | 'grantTypes'>, life: TokenLife, seconds: number]>([
  ['off: a client that refreshes', refreshes, off, 3600],
  ['off: a client that cannot refresh', cannot, off, 3600],
  [
    'off: a client that is listed',
    { ...refreshes, id: 'listed' },
    { ...on, longTokenTtlSeconds: undefined },
    3600,
  ],
  ['on: a client that refreshes', refreshes, on, 3600],
  ['on: a client that cannot refresh', cannot, on, 86_400],
  ['on: a client that is listed', { ...refreshes, id: 'listed' }, on, 86_400],
  ['a longer life that is shorter', cannot, { ...on, longTokenTtlSeconds: 60 }, 3600],
])('RFC 9700 2.2.2: life of access tokens, %s', (_rule, client, life, seconds) => {
  expect(accessTokenTtl(client, life)).toBe(seconds)
})
