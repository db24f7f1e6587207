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

/** Offers both scopes to a client that asked for `asked` in this browser, and whose grant has `scope` now. */
async function offered(scope: string, asked: readonly string[]): Promise<string[]> {
  await addGrant(store, grantSample('a', { scope, clientId: 'client' }))
  const cookie = await rememberChoice(undefined, { clientId: 'client', grantId: 'grant a' }, asked, {
    store,
    sealer,
  })
  return shown((await offerScopes([read, write], 'client', cookie, { store, sealer, runtime })).boxes)
}

it.each<[what: string, scope: string, asked: string[], expected: string[]]>([
  ['neither, and asked for none', 'mcp', [], [`+${read}`, `+${write}`]],
  ['one, and asked for no other', `mcp ${read}`, [read], [`+${write}`]],
  ['one, with the other left out or taken back', `mcp ${read}`, [read, write], [`-${write}`]],
  ['neither, with both left out or taken back', 'mcp', [read, write], [`-${read}`, `-${write}`]],
  ['both', `mcp ${read} ${write}`, [read, write], []],
  ['one whose name begins the same', 'mcp notes', ['notes'], [`+${read}`, `+${write}`]],
])('a client that has %s gets boxes for what it has not', async (_what, scope, asked, expected) => {
  expect(await offered(scope, asked)).toEqual(expected)
})

it('a client without a choice in this browser gets all boxes, ticked', async () => {
  const all = [`+${read}`, `+${write}`]
  const ports = { store, sealer, runtime }
  expect(shown((await offerScopes([read, write], 'client', undefined, ports)).boxes)).toEqual(all)
  await offered(`mcp ${read}`, [])
  const cookie = await rememberChoice(undefined, { clientId: 'client', grantId: 'grant a' }, [], {
    store,
    sealer,
  })
  expect(shown((await offerScopes([read, write], 'other client', cookie, ports)).boxes)).toEqual(all)
})

it.each<[what: string, by: Sealer]>([
  ['another key ring', sealerOf('other', 2)],
  ['another server, whose key has the same id', sealerOf('ring', 2)],
])('a cookie of %s hides no box', async (_what, by) => {
  await addGrant(store, grantSample('a', { scope: `mcp ${read} ${write}`, clientId: 'client' }))
  const cookie = await rememberChoice(undefined, { clientId: 'client', grantId: 'grant a' }, [], {
    store,
    sealer: by,
  })
  const { boxes } = await offerScopes([read, write], 'client', cookie, { store, sealer, runtime })
  expect(shown(boxes)).toEqual([`+${read}`, `+${write}`])
})

it.each<[what: string, cookie: () => string]>([
  ['is empty', () => ''],
  ['is made up', () => 'x'.repeat(4000)],
  ['is another sealed value of this server', () => sealer.seal('[{"grantId":"grant a"}]', 'drawbridge x')],
  [
    'is not sealed',
    () => JSON.stringify([{ clientHash: hashSecret('client'), grantId: 'grant a', seen: [] }]),
  ],
])('a cookie that %s hides no box, and the next choice replaces it', async (_what, cookie) => {
  await addGrant(store, grantSample('a', { scope: `mcp ${read}`, clientId: 'client' }))
  const ports = { store, sealer, runtime }
  expect(await offerScopes([read], 'client', cookie(), ports)).toEqual({ boxes: boxes(`+${read}`) })
  const next = await rememberChoice(cookie(), { clientId: 'client', grantId: 'grant a' }, [], {
    store,
    sealer,
  })
  expect(await offerScopes([read], 'client', next, ports)).toEqual({ boxes: [], replaces: 'grant a' })
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
  const first = await rememberChoice(undefined, of, [read, write], { store, sealer })
  const less = await rememberChoice(first, of, [read], { store, sealer })
  const ports = { store, sealer, runtime }
  expect(shown((await offerScopes([read, write], 'client', less, ports)).boxes)).toEqual([`-${write}`])
})

it.each<[what: string, end: boolean]>([
  ['', false],
  [' and was signed out', true],
])(
  'a client that asked for less%s and then asks again gets a ticked box for what it had, and none for what was left out',
  async (_what, end) => {
    const ports = { store, sealer, runtime }
    const [a, b] = ['a', 'b'].map((id) => ({ clientId: 'client', grantId: `grant ${id}` })) as [
      Parameters<typeof rememberChoice>[1],
      Parameters<typeof rememberChoice>[1],
    ]
    await addGrant(store, grantSample('a', { scope: `mcp ${read}`, clientId: 'client' }))
    const first = await rememberChoice(undefined, a, [read, write], ports)
    if (end) await store.endGrant('grant a', 'revoked_by_client', runtime.now())
    await addGrant(store, grantSample('b', { scope: 'mcp', clientId: 'client' }))
    const less = await rememberChoice(first, b, [], ports)
    const { boxes: again } = await offerScopes([read, write], 'client', less, ports)
    expect(shown(again)).toEqual([`+${read}`, `-${write}`])
  },
)

it('the choices of a browser stay within 3,000 characters, and begin with the newest', async () => {
  const longScopes = Array.from({ length: 10 }, (_, index) => `notes:${index}:${'x'.repeat(50)}`)
  let cookie: string | undefined
  for (let index = 0; index < 30; index += 1) {
    const of = { clientId: `client ${index}`, grantId: 'grant a' }
    cookie = await rememberChoice(cookie, of, longScopes, { store, sealer })
    expect(cookie.length).toBeLessThan(3000)
  }
  await addGrant(store, grantSample('a'))
  const of = async (clientId: string) =>
    shown((await offerScopes(longScopes.slice(0, 1), clientId, cookie, { store, sealer, runtime })).boxes)
  expect(await of('client 29')).toEqual([`-${longScopes[0]}`])
  expect(await of('client 28')).toEqual([`-${longScopes[0]}`])
  expect(await of('client 0')).toEqual([`+${longScopes[0]}`])
  const tooMany = Array.from({ length: 200 }, (_, index) => `notes:${index}:long`)
  const none = await rememberChoice(cookie, { clientId: 'x', grantId: 'grant a' }, tooMany, { store, sealer })
  expect(none.length).toBeLessThan(3000)
})
