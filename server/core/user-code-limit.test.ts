import { expect, it } from 'vitest'
import { createMemoryStore } from '../store/memory/memory.ts'
import { createFakeRuntime } from '../testing/fake-runtime.ts'
import { countUserCode } from './user-code-limit.ts'

it('RFC 8628 5.1: ten codes in ten minutes from one address, 600 from all, and whoever is over costs the store nothing', async () => {
  const runtime = createFakeRuntime(1_000_000)
  const store = createMemoryStore()
  let counted = 0
  const ports = {
    runtime,
    store: {
      countAttempt: (...given: Parameters<typeof store.countAttempt>) => {
        counted += 1
        return store.countAttempt(...given)
      },
    },
  }
  for (let time = 0; time < 10; time += 1) expect(await countUserCode('192.0.2.1', ports)).toBe(0)
  const before = counted
  expect(await countUserCode('192.0.2.1', ports)).toBe(600)
  expect(counted).toBe(before)
  for (let time = 0; time < 590; time += 1) expect(await countUserCode(undefined, ports)).toBe(0)
  expect(await countUserCode('192.0.2.2', ports)).toBe(600)
  runtime.advance(600)
  expect(await countUserCode('192.0.2.1', ports)).toBe(0)
})
