import { describe, expect, it } from 'vitest'
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

describe('countRegistration', () => {
  it('so many an hour from one address, and says when there are more', async () => {
    const { runtime, count } = createLimit()
    expect(await count(loopback)).toBe(0)
    expect(await count(loopback)).toBe(0)
    runtime.advance(600)
    expect(await count(loopback)).toBe(3000)
    expect(await count(loopback, '192.0.2.2')).toBe(0)
    runtime.advance(3000)
    expect(await count(loopback)).toBe(0)
  })

  it('an IPv6 address counts with its /64, four of them with their /56, sixteen with their /48', async () => {
    const { most } = createLimit()
    expect(await most(loopback, '2001:db8:1:2::1')).toBe(2)
    expect(await most(loopback, '2001:db8:1:2:ffff::9')).toBe(0)
    let others = 0
    for (let link = 3; link < 60; link += 1)
      others += await most(loopback, `2001:db8:1:${link.toString(16)}::1`)
    expect(others).toBe(6)
    for (let link = 1; link < 60; link += 1)
      others += await most(loopback, `2001:db8:1:${link.toString(16)}00::1`)
    expect(others).toBe(30)
    expect(await most(loopback, '2001:db8:2:1::1')).toBe(2)
  })

  it('no address is in the store as such, and what is refused again is not written again', async () => {
    const { store, count } = createLimit()
    const keys: string[] = []
    const { countAttempt } = store
    store.countAttempt = (key, ...rest) => {
      keys.push(key)
      return countAttempt(key, ...rest)
    }
    for (let index = 0; index < 9; index += 1) await count(loopback)
    expect(keys).toHaveLength(2)
    expect(keys.join(' ')).not.toContain('192.0.2.1')
  })

  it('whoever has no address shares one limit, which is not for one visitor to use up', async () => {
    const anonymous = { redirectUris: loopback, address: undefined }
    const { store, runtime } = createLimit()
    const ports = { store, runtime, limitPerHour: 1 }
    for (let index = 0; index < 100; index += 1) {
      expect(await countRegistration(anonymous, ports)).toBe(0)
    }
    expect(await countRegistration(anonymous, ports)).toBeGreaterThan(0)
  })

  it.each<[rule: string, redirectUris: string[]]>([['Claude', claude]])(
    'a hosted assistant has ten times as many: %s',
    async (_rule, redirectUris) => {
      expect(await createLimit().most(redirectUris)).toBe(20)
    },
  )

  it.each<[rule: string, redirectUris: string[]]>([
    ['another host', ['https://claude.ai.evil.example/callback']],
    ['another port', ['https://claude.ai:8443/callback']],
    ['a loopback address beside it', [...claude, ...loopback]],
    ['no redirect URI', []],
  ])('and nobody else: %s', async (_rule, redirectUris) => {
    expect(await createLimit().most(redirectUris)).toBe(2)
  })

  it('a hosted assistant and everybody else do not use up the limit of each other', async () => {
    const { most } = createLimit()
    expect(await most(claude)).toBe(20)
    expect(await most(loopback)).toBe(2)
    expect(await most(['https://chatgpt.com/connector/oauth/a'])).toBe(20)
    expect(await most(claude.toReversed())).toBe(0)
    expect(await most(claude, '192.0.2.2')).toBe(20)
  })
})
