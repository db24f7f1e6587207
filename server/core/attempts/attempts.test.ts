import { beforeEach, describe, expect, it } from 'vitest'
import { addGrant, grantSample, start } from '../../../tests/support/server/core/grant-sample.ts'
import { createFakeRuntime, type FakeRuntime } from '../../../tests/support/server/fake-runtime.ts'
import { openMemoryStore } from '../../store/sqlite/sqlite.ts'
import type { Store } from '../store.ts'
import type { AttemptStep } from '@drawbridge/shared/attempt-step.ts'
import { AttemptBook, type SeenStep, signInKey } from './attempt-book.ts'
import { type AttemptChoice, type AttemptFacts, readAttempts } from './attempt-list.ts'

let runtime: FakeRuntime
let store: Store
let book: AttemptBook
let requests: number

beforeEach(() => {
  runtime = createFakeRuntime(start)
  store = openMemoryStore()
  book = new AttemptBook({ store, runtime })
  requests = 0
})

const program = { userAgent: 'client/1', address: '192.0.2.1' }
const browser = { userAgent: 'Mozilla/5.0', address: '198.51.100.7' }

function see(step: AttemptStep, more: Partial<SeenStep> = {}, by = book): void {
  requests += 1
  const requestId = `request ${requests}`
  by.note({ step, status: 200, ok: true, requestId, ...program, ...more })
}

async function read(choice: Partial<AttemptChoice> = {}, books = [book]): Promise<AttemptFacts[]> {
  for (const each of books) await each.flush()
  const configured = new Map([['c', { name: 'Sample' }]])
  return readAttempts({ limit: 100, ...choice }, { store, configured, runtime })
}

const steps = ({ steps: all }: AttemptFacts): string => all.map(({ step }) => step).join(' ')

describe('attempts', () => {
  it('attempts join steps by client, sign-in and grant, from any address', async () => {
    see('register', { clientId: 'c' })
    see('page', { ...browser, clientId: 'c', signIn: 's' })
    see('sign_in', { ...browser, address: '203.0.113.9', signIn: 's' })
    see('token', { address: '203.0.113.10', userAgent: 'server', signIn: 's', grantId: 'g' })
    see('first_call', { address: '203.0.113.11', userAgent: 'other', grantId: 'g' })
    const [attempt, ...more] = await read()
    expect(more).toEqual([])
    expect(attempt).toMatchObject({ client: 'Sample', result: 'connected', started_at: start })
    expect(attempt && steps(attempt)).toBe('register page sign_in token first_call')
  })

  it('attempts leave out requests that name no client, even of the same address, program and time', async () => {
    see('challenge')
    see('server_metadata')
    see('register', { clientId: 'c' })
    see('page', { clientId: 'c', signIn: 's' })
    expect((await read()).map(steps)).toEqual(['register page', 'challenge server_metadata'])
  })

  it.each(['mcpt_', 'mcpa_', 'mcps_', 'https://client.example/mcpt_'])(
    'attempts store no token or secret that is sent as a client id: %s...',
    async (prefix) => {
      see('page', { clientId: `${prefix}${'x'.repeat(43)}`, ok: false, status: 400 })
      see('page', { clientId: `mcpc_${'y'.repeat(22)}`, ok: false, status: 400 })
      const listed = JSON.stringify([await read(), await store.listAttemptSteps(9)])
      expect(listed).not.toContain('xxxx')
      expect(listed).toContain('mcpc_yyyy')
    },
  )

  it('attempts keep clients and sign-ins apart', async () => {
    see('register', { clientId: 'c' })
    see('page', { clientId: 'c', signIn: 's' })
    see('page', { clientId: 'c', signIn: 's2' })
    see('page', { clientId: 'd', signIn: 's3' })
    expect((await read()).map(steps)).toEqual(['page', 'page', 'register page'])
  })

  it('attempts keep clients of two instances apart that share the key of a sign-in', async () => {
    const other = new AttemptBook({ store, runtime })
    see('page', { clientId: 'c', signIn: 's' })
    see('page', { clientId: 'd', signIn: 's' }, other)
    expect((await read({}, [book, other])).map(({ client }) => client)).toEqual(['d', 'Sample'])
  })

  it('a client with tokens that is refused without a sign-in starts another attempt', async () => {
    see('register', { clientId: 'c' })
    see('token', { clientId: 'c', signIn: 's', grantId: 'g' })
    see('first_call', { grantId: 'g' })
    see('page', { clientId: 'c', ok: false, status: 400, detail: 'client_unknown' })
    see('page', { clientId: 'c', ok: false, status: 400, detail: 'client_unknown' })
    const [refused, connected, ...more] = await read()
    expect([refused && steps(refused), connected && steps(connected), more]).toEqual([
      'page page',
      'register token first_call',
      [],
    ])
    expect(refused?.id).not.toBe(connected?.id)
  })

  it('attempts leave out calls after the first list, and calls of earlier grants', async () => {
    see('token', { clientId: 'c', grantId: 'g' })
    for (const step of ['first_call', 'list', 'list', 'first_call'] as const) see(step, { grantId: 'g' })
    see('first_call', { grantId: 'g', ok: false, status: 400 })
    see('first_call', { grantId: 'older' })
    see('first_call', { ok: false, status: 401 })
    expect((await read()).map(steps)).toEqual(['token first_call list'])
  })

  it('attempts join the steps of instances that share a store', async () => {
    const other = new AttemptBook({ store, runtime })
    see('register', { clientId: 'c' })
    see('page', { ...browser, clientId: 'c', signIn: 's' })
    see('page', { ...browser, clientId: 'c', signIn: 's' }, other)
    see('token', { signIn: 's', grantId: 'g' }, other)
    expect((await read({}, [book, other])).map(steps)).toEqual(['register page page token'])
  })

  it('an attempt includes a second use of its code', async () => {
    see('code', { clientId: 'c', signIn: 's' })
    see('token', { clientId: 'c', signIn: 's', grantId: 'g' })
    see('token', { clientId: 'c', signIn: 's', ok: false, status: 400, detail: 'invalid_grant' })
    expect((await read()).map(steps)).toEqual(['code token token'])
  })

  it('an attempt includes a refused token request at another instance', async () => {
    const other = new AttemptBook({ store, runtime })
    see('page', { ...browser, clientId: 'c', signIn: 's' })
    see('token', { ok: false, status: 400, signIn: 's', clientId: 'c' }, other)
    expect((await read({}, [book, other])).map(steps)).toEqual(['page token'])
  })

  it('a token request with a wrong verifier joins the attempt of its client', async () => {
    see('register', { clientId: 'c' })
    see('page', { ...browser, clientId: 'c', signIn: 's' })
    see('token', { address: '203.0.113.10', clientId: 'c', signIn: 'wrong', ok: false, status: 400 })
    see('token', { ...browser, signIn: 's', ok: false, status: 400, detail: 'again' })
    expect((await read()).map(steps)).toEqual(['register page token token'])
  })

  it('steps of several instances are in the order of time', async () => {
    const other = new AttemptBook({ store, runtime })
    see('page', { ...browser, signIn: 's' })
    runtime.advance(1)
    see('page', { ...browser, signIn: 's' }, other)
    runtime.advance(1)
    see('sign_in', { ...browser, signIn: 's' })
    runtime.advance(1)
    see('code', { ...browser, signIn: 's' }, other)
    for (const books of [
      [book, other],
      [other, book],
    ]) {
      const [attempt, ...more] = await read({}, books)
      expect([attempt && steps(attempt), more]).toEqual(['page page sign_in code', []])
    }
  })

  it('an attempt keeps its id when further steps come', async () => {
    see('register', { clientId: 'c' })
    const [before] = await read()
    runtime.advance(5)
    see('page', { clientId: 'c', signIn: 's' })
    expect((await read()).map(({ id }) => id)).toEqual([before?.id])
  })
})

describe('requests that name no client', () => {
  const counted = async (): Promise<string[][]> =>
    (await read()).map(({ steps: all }) =>
      all.map(({ step, ok, count = 1, request_id: id }) => `${ok ? '' : '!'}${step} ${count} ${id}`),
    )

  it('requests that name no client are counted by program and network', async () => {
    see('challenge')
    runtime.advance(3600)
    see('challenge')
    see('resource_metadata', { address: '192.0.2.99' })
    see('challenge', { userAgent: 'another' })
    see('challenge', { address: '198.51.100.1' })
    expect(await counted()).toEqual([
      ['challenge 1 request 5'],
      ['challenge 1 request 4'],
      ['challenge 2 request 2', 'resource_metadata 1 request 3'],
    ])
  })

  it('requests that name no client are counted ten at once, then once a minute', async () => {
    for (let n = 0; n < 20; n += 1) see('challenge')
    for (let n = 0; n < 120; n += 1) {
      runtime.advance(1)
      see('challenge')
    }
    expect(await counted()).toEqual([['challenge 12 request 140']])
  })

  it('requests that name no client get no advice for several within a minute', async () => {
    for (let n = 0; n < 5; n += 1) see('challenge')
    runtime.advance(59)
    see('challenge')
    runtime.advance(60)
    expect(await read()).toMatchObject([{ result: 'stopped', advice: undefined }])
  })

  it('each refusal without a client is stored, and found by its request id', async () => {
    for (let n = 0; n < 15; n += 1) see('register', { ok: false, status: 400, detail: 'invalid' })
    expect(await counted()).toEqual([['!register 15 request 15']])
    expect(await read({ request: 'request 2' })).toHaveLength(1)
    expect(await read({ request: 'request 16' })).toEqual([])
  })

  it('programs are told apart by their first 120 characters, with or without an address', async () => {
    const long = 'x'.repeat(120)
    see('challenge', { userAgent: `${long}1` })
    see('resource_metadata', { userAgent: `${long}2` })
    for (const step of ['challenge', 'resource_metadata'] as const)
      see(step, { userAgent: undefined, address: undefined })
    const [unknown, one] = await read()
    expect([unknown, one].map((each) => each && steps(each))).toEqual(
      Array(2).fill('challenge resource_metadata'),
    )
    expect(unknown?.steps[0]?.user_agent).toBeUndefined()
    expect(unknown?.steps[0]).not.toHaveProperty('network')
  })

  it('requests without a client fail by a refusal unless that step or a later one succeeded', async () => {
    see('resource_metadata', { ok: false, status: 404 })
    see('resource_metadata')
    runtime.advance(60)
    expect(await read()).toMatchObject([{ result: 'stopped', advice: undefined }])
    see('server_metadata', { ok: false, status: 404 })
    runtime.advance(60)
    expect(await read({ failed: true })).toMatchObject([
      { result: 'failed', advice: expect.stringContaining('exact-paths') },
    ])
  })

  it('requests without a client get advice if they stop for a minute, and no client is in their network', async () => {
    see('challenge')
    runtime.advance(60)
    see('challenge')
    runtime.advance(60)
    expect(await read({ failed: true })).toMatchObject([
      { result: 'stopped', advice: expect.stringContaining('doctor: challenge') },
    ])
    see('page', { ...browser, clientId: 'c', signIn: 's' })
    expect(await read({ failed: true })).toHaveLength(1)
    see('token', { clientId: 'c', signIn: 's', grantId: 'g' })
    see('first_call', { grantId: 'g' })
    expect(await read({ failed: true })).toEqual([])
  })
})

describe('what is kept', () => {
  it('a sign-in stores each success once and each refusal, 40 steps at most', async () => {
    for (let n = 0; n < 100; n += 1) see('code', { signIn: 's' })
    for (let n = 0; n < 100; n += 1) see('sign_in', { signIn: 's', ok: false, status: 429 })
    const [attempt] = await read()
    expect(attempt?.steps).toHaveLength(40)
    expect((await read({ request: 'request 102' })).map(({ id }) => id)).toEqual([attempt?.id])
    expect(await read({ request: 'request 99' })).toEqual([])
  })

  /** The stored steps, and their bytes. */
  const stored = async (is: (step: AttemptStep) => boolean = () => true) => {
    await book.flush()
    const all = (await store.listAttemptSteps(100_000)).filter(({ step }) => is(step))
    return { count: all.length, bytes: JSON.stringify(all).length }
  }
  const longest = { userAgent: 'p'.repeat(200), clientId: `https://a.example/${'c'.repeat(480)}` }

  it('the stored bytes of an address are bounded, whatever it does', async () => {
    for (let n = 0; n < 1500; n += 1) {
      const of = {
        ...longest,
        userAgent: `${n} ${longest.userAgent}`,
        clientId: `${longest.clientId}${n % 9}`,
      }
      see('challenge', { userAgent: of.userAgent })
      see('page', { ...of, signIn: `s ${n}` })
      see('page', { ...of, ok: false, status: 400, detail: `refused ${n % 7}` })
    }
    const { bytes } = await stored()
    expect(bytes).toBeGreaterThan(25_000)
    expect(bytes).toBeLessThan(36_000)
    runtime.advance(1000)
    for (let n = 0; n < 500; n += 1) see('challenge', { userAgent: `later ${n}` })
    expect((await stored()).bytes - bytes).toBeLessThan(36_000)
    // Another address has its own.
    const { count } = await stored()
    see('challenge', { address: '192.0.2.2' })
    expect((await stored()).count).toBe(count + 1)
  })

  it('the stored bytes of a /48 and of all addresses are bounded', async () => {
    const begin = async (addresses: number, addressOf: (n: number) => string): Promise<number> => {
      for (let n = 0; n < addresses; n += 1) {
        see('register', { ok: false, userAgent: longest.userAgent, address: addressOf(n) })
        // What is to be written has a bound of its own.
        if (n % 1000 === 999) await book.flush()
      }
      return (await stored()).bytes
    }
    const ofSite = await begin(4000, (n) => `2001:db8:7:${n.toString(16)}::1`)
    expect(ofSite).toBeGreaterThan(400_000)
    expect(ofSite).toBeLessThan(650_000)
    const all = await begin(8000, (n) => `198.51.${n >> 8}.${n & 255}`)
    expect(all).toBeGreaterThan(1_000_000)
    expect(all).toBeLessThan(1_250_000)
  })

  it('steps from the code on are stored beyond the bounds', async () => {
    for (let n = 0; n < 1000; n += 1) see('challenge', { userAgent: `${n} ${longest.userAgent}` })
    for (const step of ['page', 'sign_in', 'code', 'token', 'first_call'] as const)
      see(step, { clientId: 'c', signIn: 's', grantId: 'g' })
    const [attempt, ...more] = await read({ client: 'c' })
    expect([attempt && steps(attempt), more]).toEqual([expect.stringMatching(/code token first_call$/), []])
  })

  it('a sign-in stores its client id once', async () => {
    see('register', { clientId: 'c' })
    for (const step of ['page', 'sign_in'] as const) see(step, { clientId: 'c', signIn: 's' })
    see('token', { clientId: 'c', signIn: 's', grantId: 'g' })
    await book.flush()
    const ids = (await store.listAttemptSteps(10)).map(({ clientId }) => clientId)
    expect(ids).toEqual([undefined, undefined, 'c', 'c'])
    expect((await read({ client: 'c' })).map(steps)).toEqual(['register page sign_in token'])
  })

  it('a sign-in stores its client id with the first step that fits', async () => {
    const refused = { ok: false, status: 400, userAgent: 'p'.repeat(120) } as const
    for (let n = 0; n < 1000; n += 1) see('register', { ...refused, detail: `${n}` })
    const clientId = 'c'.repeat(500)
    for (const step of ['page', 'code'] as const) see(step, { clientId, signIn: 's' })
    expect((await read({ client: clientId })).map(steps)).toEqual(['code'])
  })

  it('a client id of 501 characters is not stored', async () => {
    see('register', { ok: false, status: 400, clientId: 'c'.repeat(501) })
    expect(JSON.stringify(await read())).not.toContain('cccc')
  })

  it('steps are deleted after a day', async () => {
    see('challenge')
    await read()
    expect(await store.collectExpired(start + 86_399, 100)).toBe(0)
    expect(await store.collectExpired(start + 86_400, 100)).toBe(1)
    expect(await read()).toEqual([])
  })

  it('steps have the network of an address, not the address', async () => {
    see('challenge', { userAgent: 'x'.repeat(5000) })
    expect(JSON.stringify(await store.listAttemptSteps(10))).not.toContain('192.0.2.1')
    const [attempt] = await read()
    expect(attempt?.steps[0]).toMatchObject({ network: '192.0.2.0/24', user_agent: 'x'.repeat(120) })
  })
})

it('signInKey derives a short key from a challenge', () => {
  const keys = ['one', 'another'].map(signInKey)
  expect(new Set(keys).size).toBe(2)
  for (const key of keys) expect(key).toMatch(/^[\w-]{16}$/)
})

describe('what is written', () => {
  it('flush writes nothing without steps, and 2000 at most', async () => {
    const writes: number[] = []
    const counting: Store = {
      ...store,
      addAttemptSteps: async (given, expiresAt) => {
        writes.push(given.length)
        await store.addAttemptSteps(given, expiresAt)
      },
    }
    book = new AttemptBook({ store: counting, runtime })
    await book.flush()
    for (let n = 0; n < 2100; n += 1) see('code', { signIn: `s ${n}`, userAgent: `${n}` })
    await book.flush()
    await book.flush()
    see('code', { signIn: 'another' })
    await book.flush()
    expect(writes).toEqual([2000, 1])
  })

  it('a client id of 500 characters is stored', async () => {
    see('register', { clientId: 'c'.repeat(500) })
    expect((await read())[0]?.client).toBe('c'.repeat(500))
  })
})

describe('the result', () => {
  it('an attempt is connected by a first call at another instance', async () => {
    const { grant } = grantSample('a')
    await addGrant(store, grantSample('a'))
    see('register', { clientId: 'c' })
    see('token', { clientId: 'c', grantId: grant.id })
    runtime.advance(60)
    expect((await read())[0]).toMatchObject({ result: 'failed' })
    await store.recordGrantUses([{ grantId: grant.id, usedAt: start + 30, address: undefined }])
    const [attempt] = await read()
    expect(attempt).toMatchObject({ result: 'connected', advice: undefined })
    expect(attempt?.steps.at(-1)).toMatchObject({ step: 'first_call', at: start + 30, status: 200, ok: true })
    see('first_call', { grantId: grant.id })
    expect((await read())[0]?.steps.filter(({ step }) => step === 'first_call')).toHaveLength(1)
  })

  it('an attempt with a refused token is not connected by an older use of its grant', async () => {
    await addGrant(store, grantSample('a'))
    await store.recordGrantUses([{ grantId: 'grant a', usedAt: start, address: undefined }])
    see('page', { clientId: 'c', signIn: 's' })
    see('token', { clientId: 'c', grantId: 'grant a', ok: false, status: 400 })
    runtime.advance(600)
    expect((await read())[0]).toMatchObject({ result: 'failed' })
  })

  it('readAttempts returns as many attempts as asked for, the newest', async () => {
    for (const name of ['a', 'b', 'c']) see('register', { clientId: name, userAgent: name })
    await book.flush()
    const some = await readAttempts({ limit: 2 }, { store, configured: new Map(), runtime })
    expect(some.map(({ client }) => client)).toEqual(['c', 'b'])
  })

  it('readAttempts finds a client by its exact id, whatever its name', async () => {
    see('challenge')
    see('register', { clientId: 'c' })
    see('register', { clientId: 'unnamed', userAgent: 'another' })
    see('challenge', { userAgent: 'third' })
    expect(await read({ client: 'c' })).toMatchObject([{ client: 'Sample' }])
    expect(await read({ client: 'unn' })).toMatchObject([{ client: 'unnamed' }])
    expect((await read()).map(({ client }) => client)).toEqual([undefined, 'unnamed', 'Sample', undefined])
  })

  it.each<[step: AttemptStep, patience: number]>([
    ['page', 600],
    ['sign_in', 600],
    ['code', 60],
    ['token', 60],
  ])('an attempt that ends with %s has failed after %i seconds', async (step, patience) => {
    see('page', { signIn: 's' })
    see(step, { signIn: 's' })
    runtime.advance(patience - 1)
    expect(await read()).toMatchObject([{ result: 'under_way', advice: undefined }])
    expect(await read({ failed: true })).toEqual([])
    runtime.advance(1)
    expect(await read({ failed: true })).toMatchObject([{ result: 'failed', advice: expect.any(String) }])
  })

  it('an attempt with a refused page has failed after a minute', async () => {
    see('page', { clientId: 'c', ok: false, status: 400 })
    runtime.advance(60)
    expect(await read()).toMatchObject([{ result: 'failed', id: expect.stringMatching(/^.{12}$/) }])
  })

  const look = (more: Partial<SeenStep> = {}): void => {
    see('challenge', more)
    see('resource_metadata', more)
    see('server_metadata', more)
    runtime.advance(130)
  }

  it.each<[what: string, looks: () => void, advised: boolean]>([
    ['one request without a token', () => see('challenge'), false],
    ['a look at all metadata', look, false],
    ['a registration', () => see('register', { clientId: 'c' }), false],
    ['looks of two programs', () => (look(), look({ userAgent: 'other/1' })), false],
    ['looks from two networks', () => (look(), look({ address: '203.0.113.4' })), false],
    ['two looks of one program', () => (look(), look()), true],
    ['a device that asks for a code', () => see('client', { clientId: 'c', signIn: '1' }), false],
    [
      'two devices of one client that ask for a code',
      () => {
        see('client', { clientId: 'c', signIn: '1' })
        see('client', { clientId: 'c', signIn: '2' })
      },
      true,
    ],
  ])(
    'an attempt that stops without a refusal gets advice only if it repeats: %s',
    async (_, looks, advised) => {
      looks()
      runtime.advance(60)
      const stopped = (await read()).filter(({ result }) => result !== 'connected')
      for (const { result, advice } of stopped)
        expect([result, advice !== undefined]).toEqual(['stopped', advised])
      expect((await read({ failed: true })).length > 0).toBe(advised)
    },
  )

  it.each<[what: string, refusal: Partial<SeenStep>]>([
    ['a refused registration', { step: 'register', ok: false, status: 400, detail: 'invalid_redirect_uri' }],
    ['metadata that is not there', { step: 'server_metadata', ok: false, status: 404 }],
  ])('requests without a client have failed after %s', async (_, refusal) => {
    see('challenge')
    see('challenge', refusal)
    runtime.advance(60)
    expect(await read({ failed: true })).toMatchObject([{ result: 'failed', advice: expect.any(String) }])
  })

  it.each<[step: AttemptStep, check: RegExp]>([
    ['challenge', /doctor: challenge/],
    ['resource_metadata', /exact-paths/],
    ['server_metadata', /REGISTRATION must be on and POST .oauth.register must pass/],
    ['code', /public-port/],
    ['token', /keeps-headers/],
  ])(
    'an attempt that stopped twice after %s gets advice that names the check of doctor',
    async (step, check) => {
      const isKnown = step === 'code' || step === 'token'
      for (const of of ['1', '2']) {
        see(step, isKnown ? { clientId: 'c', signIn: `s ${of}`, grantId: `g ${of}` } : {})
        runtime.advance(60)
      }
      runtime.advance(60)
      for (const { advice } of await read()) expect(advice).toMatch(check)
    },
  )

  it('readAttempts finds a client by a part of its name', async () => {
    see('register', { clientId: 'c' })
    see('register', { clientId: 'd', userAgent: 'another' })
    expect(await read({ client: 'sam' })).toMatchObject([{ client: 'Sample' }])
    expect(await read({ client: 'd' })).toMatchObject([{ client: 'd' }])
    expect(await read({ client: 'x' })).toEqual([])
  })

  it('an attempt gets advice about its refusal', async () => {
    see('register', { ok: false, status: 400, detail: 'invalid_redirect_uri' })
    runtime.advance(60)
    expect(await read()).toMatchObject([
      { advice: expect.stringMatching(/refused.*\(invalid_redirect_uri\)$/) },
    ])
    see('page', { clientId: 'c' })
    runtime.advance(600)
    expect(await read({ client: 'c' })).toMatchObject([
      { advice: expect.stringMatching(/the user did not sign in/) },
    ])
  })
})
