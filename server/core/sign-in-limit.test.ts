import { describe, expect, it } from 'vitest'
import { createMemoryStore } from '../store/memory/memory.ts'
import { createFakeRuntime } from '../testing/fake-runtime.ts'
import { race, start } from '../testing/grant-sample.ts'
import { countSignInAttempt, type SignInLimitPorts } from './sign-in-limit.ts'

function ports(limitPerMinute: number): SignInLimitPorts & { advance: (seconds: number) => void } {
  const runtime = createFakeRuntime(start)
  return { store: createMemoryStore(), runtime, limitPerMinute, advance: runtime.advance }
}

describe('countSignInAttempt', () => {
  it('lets exactly the limit through, however many come at once', async () => {
    const limited = ports(3)
    const results = await race(() =>
      countSignInAttempt(limited).then(
        () => 'through',
        () => 'refused',
      ),
    )
    expect(results.filter((result) => result === 'through')).toHaveLength(3)
  })

  it.each([
    [0, 60],
    [20, 40],
    [59, 1],
  ])('%i s into the minute it says to come back in %i s', async (after, seconds) => {
    const limited = ports(1)
    await countSignInAttempt(limited)
    limited.advance(after)
    await expect(countSignInAttempt(limited)).rejects.toMatchObject({
      failure: 'rate_limited',
      retryAfterSeconds: seconds,
    })
  })

  it('begins anew after a minute', async () => {
    const limited = ports(1)
    await countSignInAttempt(limited)
    limited.advance(60)
    await expect(countSignInAttempt(limited)).resolves.toBeUndefined()
  })

  it('is one limit for all instances of a store', async () => {
    const one = ports(1)
    const other = { ...one, runtime: createFakeRuntime(start) }
    await countSignInAttempt(one)
    await expect(countSignInAttempt(other)).rejects.toMatchObject({ failure: 'rate_limited' })
  })
})
