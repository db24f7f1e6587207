import { expect, it } from 'vitest'
import type { SignedInCaller } from '../../core/tokens/caller.ts'
import { callerHeaders } from './caller-headers.ts'
import type { IdentityForm } from '../../core/gateway/upstream.ts'

const ada = {
  user: { sub: 'ada', email: 'ada@example.com', name: 'Ada\r\nX-Role: Königin' },
  providerToken: () => 'token of ada',
} as unknown as SignedInCaller
const signs = (what: string) => ({
  assert: ({ user }: SignedInCaller) => Promise.resolve(`${what} ${user.sub}`),
})

it.each<[identity: readonly IdentityForm[], headers: Record<string, string>]>([
  [['assertion'], { 'drawbridge-assertion': 'assertion ada' }],
  [['bearer'], { authorization: 'Bearer bearer ada' }],
  [['provider-token'], { authorization: 'Bearer token of ada' }],
  [
    ['headers'],
    {
      'x-forwarded-user': 'ada',
      'x-forwarded-email': 'ada@example.com',
      // UTF-8, and on one line.
      'x-forwarded-name': 'Ada  X-Role: KÃ¶nigin',
    },
  ],
])('caller headers tell an upstream who is calling in the form %j only', async (identity, headers) => {
  const ports = { identity, assertions: signs('assertion'), bearers: signs('bearer') }
  expect(await callerHeaders(ada, ports)).toEqual(headers)
})

it('caller headers leave the token of the provider out where the web app gave none', async () => {
  const ports = {
    identity: ['provider-token'] as const,
    assertions: signs('assertion'),
    bearers: signs('bearer'),
  }
  expect(await callerHeaders({ ...ada, providerToken: () => '' }, ports)).toEqual({})
})
