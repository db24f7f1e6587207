import { expect, it } from 'vitest'
import { start } from '../../../tests/support/server/core/grant-sample.ts'
import { createFakeRuntime } from '../../../tests/support/server/fake-runtime.ts'
import { openMemoryStore } from '../../store/sqlite/sqlite.ts'
import { countRegistration } from './client-registration-limit.ts'

const loopback = ['http://127.0.0.1/callback']
const claude = ['https://claude.ai/api/mcp/auth_callback', 'https://claude.com/api/mcp/auth_callback']

function createLimit(limitPerHour = 2) {
  const runtime = createFakeRuntime(start)
  const store = openMemoryStore()
  const count = (
    redirectUris: readonly string[],
    address: string | undefined = '192.0.2.1',
  ): Promise<number> => countRegistration({ redirectUris, address }, { store, runtime, limitPerHour })
  /** Counts how many succeed before one is refused, at most 100. */
  const most = async (redirectUris: readonly string[], address?: string): Promise<number> => {
    let allowed = 0
    while (allowed < 100 && (await count(redirectUris, address)) === 0) allowed += 1
    return allowed
  }
  return { runtime, store, count, most }
}

it('registrations of one address are limited per hour, and a refused one gets the seconds to wait', async () => {
  const { runtime, count } = createLimit()
  expect(await count(loopback)).toBe(0)
  expect(await count(loopback)).toBe(0)
  runtime.advance(600)
  expect(await count(loopback)).toBe(3000)
  expect(await count(loopback, '192.0.2.2')).toBe(0)
  runtime.advance(3000)
  expect(await count(loopback)).toBe(0)
})

it('clients without an address share one registration limit, a hundred times as high', async () => {
  const anonymous = { redirectUris: loopback, address: undefined }
  const { store, runtime } = createLimit()
  const ports = { store, runtime, limitPerHour: 1 }
  for (let index = 0; index < 100; index += 1) {
    expect(await countRegistration(anonymous, ports)).toBe(0)
  }
  expect(await countRegistration(anonymous, ports)).toBeGreaterThan(0)
})

it.each<[rule: string, redirectUris: string[]]>([['Claude', claude]])(
  'a hosted assistant may register ten times as many clients: %s',
  async (_rule, redirectUris) => {
    expect(await createLimit().most(redirectUris)).toBe(20)
  },
)

it.each<[rule: string, redirectUris: string[]]>([
  ['another host', ['https://claude.ai.evil.example/callback']],
  ['another port', ['https://claude.ai:8443/callback']],
  ['a loopback address beside it', [...claude, ...loopback]],
  ['no redirect URI', []],
])('only hosted assistants have their registration limit, and not %s', async (_rule, redirectUris) => {
  expect(await createLimit().most(redirectUris)).toBe(2)
})

it('registrations of hosted assistants and of other clients are counted separately', async () => {
  const { most } = createLimit()
  expect(await most(claude)).toBe(20)
  expect(await most(loopback)).toBe(2)
  expect(await most(['https://chatgpt.com/connector/oauth/a'])).toBe(20)
  expect(await most(claude.toReversed())).toBe(0)
  expect(await most(claude, '192.0.2.2')).toBe(20)
})
