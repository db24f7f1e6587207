import { describe, expect, it } from 'vitest'
import { createFakeRuntime } from '../testing/fake-runtime.ts'
import { start } from '../testing/grant-sample.ts'
import type { FetchOutcome } from './client-fetch.ts'
import { limitFetches } from './client-fetch-limit.ts'

const limits = { concurrent: 2, perMinute: 5, perHostPerMinute: 3 }
const fetched: FetchOutcome = { kind: 'fetched', text: '{}', headers: new Headers() }

function createLimited() {
  const runtime = createFakeRuntime(start)
  const waiting: (() => void)[] = []
  let stalls = false
  const limited = limitFetches(
    () =>
      stalls ? new Promise((resolve) => waiting.push(() => resolve(fetched))) : Promise.resolve(fetched),
    runtime,
    limits,
  )
  const ask = async (host: string, known = false): Promise<string> => {
    const outcome = await limited({ url: `https://${host}/c`, maxBytes: 1, known })
    return outcome.kind === 'failed' ? outcome.reason : outcome.kind
  }
  return {
    runtime,
    ask,
    stall: () => (stalls = true),
    finish: () => waiting.splice(0).forEach((resolve) => resolve()),
  }
}

describe('limitFetches', () => {
  it('so many to one host in a minute', async () => {
    const { ask, runtime } = createLimited()
    for (let index = 0; index < 3; index += 1) expect(await ask('a.example')).toBe('fetched')
    expect(await ask('a.example')).toBe('too_many_fetches')
    expect(await ask('b.example')).toBe('fetched')
    runtime.advance(59)
    expect(await ask('a.example')).toBe('too_many_fetches')
    runtime.advance(1)
    expect(await ask('a.example')).toBe('fetched')
  })

  it('so many to all hosts in a minute', async () => {
    const { ask, runtime } = createLimited()
    for (let index = 0; index < 5; index += 1) expect(await ask(`${index}.example`)).toBe('fetched')
    expect(await ask('other.example')).toBe('too_many_fetches')
    runtime.advance(60)
    expect(await ask('other.example')).toBe('fetched')
  })

  it('so many at the same moment', async () => {
    const { ask, stall, finish } = createLimited()
    stall()
    const running = [ask('a.example'), ask('b.example')]
    expect(await ask('c.example')).toBe('too_many_fetches')
    finish()
    await Promise.all(running)
    const next = ask('c.example')
    finish()
    expect(await next).toBe('fetched')
  })

  it('clients that people use are not stopped by a flood of others', async () => {
    const { ask } = createLimited()
    for (let index = 0; index < 9; index += 1) await ask(`${index}.example`)
    expect(await ask('claude.ai')).toBe('too_many_fetches')
    expect(await ask('claude.ai', true)).toBe('fetched')
  })
})
