import { describe, expect, it } from 'vitest'
import { start } from '../../../tests/support/server/core/grant-sample.ts'
import { createFakeRuntime } from '../../../tests/support/server/fake-runtime.ts'
import { openMemoryStore } from '../../store/sqlite/sqlite.ts'
import { countWithin, limitsOf } from './attempt-limit.ts'
import { type AttemptRule, deviceStarts, signInsOfMinute, userCodes } from './limit-table.ts'

/** Counts how many attempts are allowed, of more than all sources may make; `address(0)` makes the first one. */
async function letIn(rule: AttemptRule, address: (index: number) => string, known: boolean): Promise<number> {
  const ports = { store: openMemoryStore(), runtime: createFakeRuntime(start) }
  let count = 0
  for (let index = 0; index < rule.everyone.max + 50; index += 1) {
    const { waitSeconds } = await countWithin(limitsOf(rule, { address: address(index), known }), ports)
    if (waitSeconds === 0) count += 1
  }
  return count
}

const everywhere = (index: number): string => `2001:db8:${index.toString(16)}::1`

describe('the table of limits', () => {
  it.each<[what: string, rule: AttemptRule, address: number, site: number, strangers: number, all: number]>([
    ['RFC 8628 5.1: user codes', userCodes, 10, 160, 400, 600],
    ['devices that start', deviceStarts, 30, 480, 2000, 3000],
    ['sign-ins of a minute', signInsOfMinute(20), 10, 10, 14, 20],
  ])('%s', async (_what, rule, address, site, strangers, all) => {
    expect(await letIn(rule, () => '192.0.2.1', false)).toBe(address)
    expect(await letIn(rule, (index) => `2001:db8:1:${((index * 61) % 65_536).toString(16)}::1`, false)).toBe(
      site,
    )
    expect(await letIn(rule, everywhere, false)).toBe(strangers)
    expect(await letIn(rule, everywhere, true)).toBe(all)
  })
})
