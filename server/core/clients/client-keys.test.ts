import { expect, it } from 'vitest'
import { createFakeRuntime } from '../../../tests/support/server/fake-runtime.ts'
import { start } from '../../../tests/support/server/core/grant-sample.ts'
import type { FetchOutcome } from './client-fetch.ts'
import { createClientKeySource } from './client-keys.ts'

const uri = 'https://client.example/jwks'
const key = (kid: string) => ({ kty: 'EC', crv: 'P-256', x: 'AAAA', y: 'BBBB', kid })
const setOf = (...kids: string[]): FetchOutcome => ({
  kind: 'fetched',
  text: JSON.stringify({ keys: kids.map(key) }),
  headers: new Headers(),
})
const down: FetchOutcome = { kind: 'failed', reason: 'unreachable' }

function createSource(first: FetchOutcome) {
  const runtime = createFakeRuntime(start)
  const state = { answer: first, fetches: [] as unknown[] }
  const fetchKeys = createClientKeySource({
    runtime,
    fetch: async ({ url, known, maxBytes }) => {
      state.fetches.push([url, known, maxBytes])
      return state.answer
    },
  })
  const kids = async (kid?: string, known = true): Promise<unknown[]> =>
    (await fetchKeys({ uri, kid, known })).map((jwk) => jwk['kid'])
  return { runtime, state, kids, fetchKeys }
}

it('client keys of at most 64 kB are fetched once in ten minutes', async () => {
  const { runtime, state, kids } = createSource(setOf('a'))
  expect(await kids('a')).toEqual(['a'])
  runtime.advance(599)
  expect(await kids('a')).toEqual(['a'])
  expect(state.fetches).toEqual([[uri, true, 65_536]])
  runtime.advance(1)
  state.answer = setOf('b')
  expect(await kids('a')).toEqual(['b'])
  expect(state.fetches).toHaveLength(2)
  expect(state.fetches[1]).toEqual([uri, true, 65_536])
})

const unknownYet = (retryAfterSeconds: number) => ({
  name: 'ClientUnavailableError',
  problem: 'passing',
  retryAfterSeconds,
})

it('CIMD 6.3: an unknown kid fetches again, at most every 30 seconds; in between it may be a new one', async () => {
  const { runtime, state, kids } = createSource(setOf('a'))
  await kids('a')
  state.answer = setOf('a', 'b')
  await expect(kids('b')).rejects.toMatchObject(unknownYet(30))
  runtime.advance(29)
  await expect(kids('b')).rejects.toMatchObject(unknownYet(1))
  expect(await kids('a')).toEqual(['a'])
  expect(state.fetches).toHaveLength(1)
  runtime.advance(1)
  expect(await kids('b')).toEqual(['a', 'b'])
  for (let index = 0; index < 10; index += 1) await expect(kids('c')).rejects.toMatchObject(unknownYet(30))
  expect(state.fetches).toHaveLength(2)
})

it('client keys refuse a kid that is still unknown after a fetch, and decide nothing while keys cannot be fetched', async () => {
  const { runtime, state, kids } = createSource(setOf('a'))
  expect(await kids('b')).toEqual(['a'])
  state.answer = down
  runtime.advance(30)
  await expect(kids('b')).rejects.toMatchObject({ name: 'ClientUnavailableError', problem: 'passing' })
  expect(await kids('a')).toEqual(['a'])
})

it('client keys are fetched once for all concurrent requests', async () => {
  const { state, kids } = createSource(setOf('a'))
  await Promise.all(Array.from({ length: 20 }, () => kids('a', false)))
  expect(state.fetches).toEqual([[uri, false, 65_536]])
})

it('client keys of the last fetch are used for a day while they cannot be fetched', async () => {
  const { runtime, state, kids } = createSource(setOf('a'))
  await kids('a')
  state.answer = down
  runtime.advance(86_399)
  expect(await kids('a')).toEqual(['a'])
  runtime.advance(31)
  await expect(kids('a')).rejects.toMatchObject({ name: 'ClientUnavailableError', problem: 'passing' })
})

it.each<[what: string, answer: FetchOutcome]>([
  ['is out of reach', down],
  ['is no key set', { kind: 'fetched', text: '{"keys":{}}', headers: new Headers() }],
  [
    'holds a private key',
    { kind: 'fetched', text: '{"keys":[{"kty":"EC","d":"x"}]}', headers: new Headers() },
  ],
])('client keys are unavailable if the response of jwks_uri %s', async (_what, answer) => {
  const { state, kids } = createSource(answer)
  await expect(kids('a')).rejects.toMatchObject({ name: 'ClientUnavailableError' })
  await expect(kids('a')).rejects.toMatchObject({ name: 'ClientUnavailableError' })
  expect(state.fetches).toHaveLength(1)
})

it('client keys are fetched again 30 seconds after a failed first fetch, which is reported', async () => {
  const { runtime, state, kids } = createSource(down)
  await expect(kids()).rejects.toMatchObject({ retryAfterSeconds: 30 })
  state.answer = setOf('a')
  runtime.advance(30)
  expect(await kids()).toEqual(['a'])
})
