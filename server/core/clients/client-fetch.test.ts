import { expect, it } from 'vitest'
import { createFakeRuntime } from '../../../tests/support/server/fake-runtime.ts'
import { start } from '../../../tests/support/server/core/grant-sample.ts'
import type { AttemptSource } from '../limits/attempt-limit.ts'
import { type FetchOutcome, limitFetches } from './client-fetch.ts'

const limits = {
  everyone: { concurrent: 3, perMinute: 9, perHostPerMinute: 6 },
  perAddress: { concurrent: 1, perMinute: 3, perHostPerMinute: 2 },
}
/** Builds a source; a known browser may use the reserved share. */
const visitor = (address?: string, known = false): AttemptSource => ({ address, known })
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
  const ask = async (host: string, source?: AttemptSource, known = false): Promise<string> => {
    const outcome = await limited({ url: `https://${host}/c`, maxBytes: 1, known, source })
    return outcome.kind === 'failed' ? outcome.reason : outcome.kind
  }
  return {
    runtime,
    ask,
    stall: () => (stalls = true),
    finish: () => waiting.splice(0).forEach((resolve) => resolve()),
  }
}

it('document fetches from one host are limited per minute, with a third reserved for known browsers', async () => {
  const { ask, runtime } = createLimited()
  for (let index = 0; index < 4; index += 1) expect(await ask('a.example')).toBe('fetched')
  expect(await ask('a.example')).toBe('too_many_fetches')
  expect(await ask('b.example')).toBe('fetched')
  for (let index = 0; index < 2; index += 1)
    expect(await ask('a.example', visitor(undefined, true))).toBe('fetched')
  expect(await ask('a.example', visitor(undefined, true))).toBe('too_many_fetches')
  runtime.advance(14)
  expect(await ask('a.example')).toBe('too_many_fetches')
  runtime.advance(1)
  expect(await ask('a.example')).toBe('fetched')
})

it('CIMD 6.5: limitFetches limits fetches from all hosts per minute', async () => {
  const { ask, runtime } = createLimited()
  for (let index = 0; index < 6; index += 1) expect(await ask(`${index}.example`)).toBe('fetched')
  expect(await ask('other.example')).toBe('too_many_fetches')
  for (let index = 0; index < 3; index += 1)
    expect(await ask(`${index}.example`, visitor(undefined, true))).toBe('fetched')
  expect(await ask('other.example', visitor(undefined, true))).toBe('too_many_fetches')
  runtime.advance(60)
  expect(await ask('other.example')).toBe('fetched')
})

it('concurrent document fetches are limited', async () => {
  const { ask, stall, finish } = createLimited()
  stall()
  const running = [ask('a.example'), ask('b.example')]
  expect(await ask('c.example')).toBe('too_many_fetches')
  running.push(ask('c.example', visitor(undefined, true)))
  expect(await ask('d.example', visitor(undefined, true))).toBe('too_many_fetches')
  finish()
  await Promise.all(running)
  const next = ask('c.example')
  finish()
  expect(await next).toBe('fetched')
})

it('document fetches of one address are limited, per host, per minute and at once', async () => {
  const { ask, stall, finish, runtime } = createLimited()
  const one = visitor('192.0.2.1')
  expect(await ask('a.example', one)).toBe('fetched')
  expect(await ask('a.example', one)).toBe('fetched')
  expect(await ask('a.example', one)).toBe('too_many_of_address')
  expect(await ask('b.example', one)).toBe('fetched')
  expect(await ask('c.example', one)).toBe('too_many_of_address')
  expect(await ask('a.example', visitor('192.0.2.2'))).toBe('fetched')
  runtime.advance(60)
  stall()
  const running = ask('a.example', one)
  expect(await ask('b.example', one)).toBe('too_many_of_address')
  const other = ask('b.example', visitor('192.0.2.2'))
  finish()
  expect([await running, await other]).toEqual(['fetched', 'fetched'])
})

it('a site may fetch more documents than an address, up to half of the total', async () => {
  const { ask } = createLimited()
  const results = []
  for (let link = 1; link < 9; link += 1)
    results.push(await ask(`${link}.example`, visitor(`2001:db8:1:${link}::1`)))
  expect(results.filter((result) => result === 'fetched')).toHaveLength(4)
  expect(results.at(-1)).toBe('too_many_of_address')
  expect(await ask('a.example', visitor('2001:db8:2:1::1'))).toBe('fetched')
})

it('documents of clients in use are fetched during a flood of other fetches', async () => {
  const { ask } = createLimited()
  for (let index = 0; index < 20; index += 1) await ask(`${index}.example`, visitor('192.0.2.1'))
  for (let index = 0; index < 20; index += 1) await ask(`${index}.example`)
  expect(await ask('claude.ai')).toBe('too_many_fetches')
  expect(await ask('claude.ai', visitor('192.0.2.1'), true)).toBe('fetched')
})
