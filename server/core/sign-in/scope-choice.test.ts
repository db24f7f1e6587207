import { randomBytes } from 'node:crypto'
import { beforeEach, expect, it } from 'vitest'
import { createFakeRuntime, type FakeRuntime } from '../../../tests/support/server/fake-runtime.ts'
import { addGrant, grantSample, start } from '../../../tests/support/server/core/grant-sample.ts'
import { openMemoryStore } from '../../store/sqlite/sqlite.ts'
import { createSealer, fixedKeyRing, hashSecret, type Sealer } from '../seal.ts'
import type { Store } from '../store.ts'
import { chosenScope, offerScopes, rememberChoice, type ScopeBox } from './scope-choice.ts'

const read = 'notes:read'
const write = 'notes:write'

let store: Store
let runtime: FakeRuntime
const sealerOf = (kid: string, fill: number): Sealer =>
  createSealer(fixedKeyRing([{ kid, key: new Uint8Array(32).fill(fill) }]), randomBytes)
const sealer = sealerOf('ring', 1)

beforeEach(() => {
  store = openMemoryStore()
  runtime = createFakeRuntime(start)
})

/** A box as text: `+` if ticked. */
const shown = (boxes: readonly ScopeBox[]): string[] =>
  boxes.map(({ scope, ticked }) => `${ticked ? '+' : '-'}${scope}`)

const boxes = (...texts: string[]): ScopeBox[] =>
  texts.map((text) => ({ scope: text.slice(1), ticked: text.startsWith('+') }))

/** Offers both scopes to a client whose last grant has `scope`, with that grant remembered by `by`. */
async function offered(scope: string, left: readonly ScopeBox[], by: Sealer = sealer): Promise<string[]> {
  await addGrant(store, grantSample('a', { scope, clientId: 'client' }))
  const cookie = rememberChoice(
    undefined,
    { clientId: 'client', grantId: 'grant a' },
    { asked: ['mcp', read, write], boxes: left },
    by,
  )
  return shown(await offerScopes([read, write], 'client', cookie, { store, sealer, runtime }))
}

it.each<[what: string, scope: string, left: ScopeBox[], expected: string[]]>([
  ['none of them', 'mcp', [], [`+${read}`, `+${write}`]],
  ['one of them', `mcp ${read}`, [], [`+${write}`]],
  ['one, with the other left out', `mcp ${read}`, boxes(`-${write}`), [`-${write}`]],
  ['all of them', `mcp ${read} ${write}`, [], []],
  ['one whose name begins the same', 'mcp notes', boxes('-notes'), [`+${read}`, `+${write}`]],
])('a client that has %s gets boxes for the others', async (_what, scope, left, expected) => {
  expect(await offered(scope, left)).toEqual(expected)
})

it('a client without a choice in this browser gets all boxes, ticked', async () => {
  const all = [`+${read}`, `+${write}`]
  const ports = { store, sealer, runtime }
  expect(shown(await offerScopes([read, write], 'client', undefined, ports))).toEqual(all)
  await offered(`mcp ${read}`, [])
  const cookie = rememberChoice(undefined, { clientId: 'client', grantId: 'grant a' }, { asked: [] }, sealer)
  expect(shown(await offerScopes([read, write], 'other client', cookie, ports))).toEqual(all)
})

it.each<[what: string, by: Sealer]>([
  ['another key ring', sealerOf('other', 2)],
  ['another server, whose key has the same id', sealerOf('ring', 2)],
])('a cookie of %s hides no box', async (_what, by) => {
  expect(await offered(`mcp ${read} ${write}`, [], by)).toEqual([`+${read}`, `+${write}`])
})

it.each<[what: string, cookie: () => string]>([
  ['is empty', () => ''],
  ['is made up', () => 'x'.repeat(4000)],
  ['is another sealed value of this server', () => sealer.seal('[{"grantId":"grant a"}]', 'drawbridge x')],
  [
    'is not sealed',
    () => JSON.stringify([{ clientHash: hashSecret('client'), grantId: 'grant a', refused: [] }]),
  ],
])('a cookie that %s hides no box, and the next choice replaces it', async (_what, cookie) => {
  await addGrant(store, grantSample('a', { scope: `mcp ${read}`, clientId: 'client' }))
  const ports = { store, sealer, runtime }
  expect(await offerScopes([read], 'client', cookie(), ports)).toEqual(boxes(`+${read}`))
  const next = rememberChoice(cookie(), { clientId: 'client', grantId: 'grant a' }, { asked: [] }, sealer)
  expect(await offerScopes([read], 'client', next, ports)).toEqual([])
})

it.each<[what: string, left: ScopeBox[] | undefined, chosen: string]>([
  ['no boxes', undefined, 'mcp notes:read notes:write offline_access'],
  ['all ticked', boxes(`+${read}`, `+${write}`), 'mcp notes:read notes:write offline_access'],
  ['one ticked', boxes(`-${read}`, `+${write}`), 'mcp notes:write offline_access'],
  ['none ticked', boxes(`-${read}`, `-${write}`), 'mcp offline_access'],
  ['one held already, and the other not ticked', boxes(`-${write}`), 'mcp notes:read offline_access'],
])('what is left of the requested scope with %s', (_what, left, chosen) => {
  expect(chosenScope('mcp notes:read notes:write offline_access', left)).toBe(chosen)
})

it('a client that asks for less does not make the browser forget what was left out', async () => {
  await addGrant(store, grantSample('a', { scope: `mcp ${read}`, clientId: 'client' }))
  const of = { clientId: 'client', grantId: 'grant a' }
  const first = rememberChoice(
    undefined,
    of,
    { asked: ['mcp', read, write], boxes: boxes(`-${write}`) },
    sealer,
  )
  const ports = { store, sealer, runtime }
  const less = rememberChoice(first, of, { asked: ['mcp', read] }, sealer)
  expect(shown(await offerScopes([read, write], 'client', less, ports))).toEqual([`-${write}`])
  const given = rememberChoice(less, of, { asked: [read, write], boxes: boxes(`+${write}`) }, sealer)
  expect(shown(await offerScopes([write], 'client', given, ports))).toEqual([`+${write}`])
})

it('the choices of a browser stay within 3,000 characters, and begin with the newest', async () => {
  const longScopes = Array.from({ length: 10 }, (_, index) => `notes:${index}:${'x'.repeat(50)}`)
  let cookie: string | undefined
  for (let index = 0; index < 30; index += 1) {
    const left = longScopes.map((scope) => ({ scope, ticked: false }))
    const of = { clientId: `client ${index}`, grantId: 'grant a' }
    cookie = rememberChoice(cookie, of, { asked: longScopes, boxes: left }, sealer)
    expect(cookie.length).toBeLessThan(3000)
  }
  await addGrant(store, grantSample('a'))
  const of = async (clientId: string) =>
    shown(await offerScopes(longScopes.slice(0, 1), clientId, cookie, { store, sealer, runtime }))
  expect(await of('client 29')).toEqual([`-${longScopes[0]}`])
  expect(await of('client 28')).toEqual([`-${longScopes[0]}`])
  expect(await of('client 0')).toEqual([`+${longScopes[0]}`])
  const tooMany = Array.from({ length: 200 }, (_, index) => ({ scope: `notes:${index}:long`, ticked: false }))
  const none = rememberChoice(
    cookie,
    { clientId: 'x', grantId: 'grant a' },
    { asked: [], boxes: tooMany },
    sealer,
  )
  expect(none.length).toBeLessThan(3000)
})
