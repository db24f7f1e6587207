import { createHash } from 'node:crypto'
import { beforeEach, describe, expect, it } from 'vitest'
import type { CredentialStore, LoginId } from '../../credentials/credential-store.ts'
import type { Credential } from '../../credentials/credential.ts'
import { systemRuntime } from '../../config/system-runtime.ts'
import { OAuthFailure } from '../login-port.ts'
import { refreshUnderLock, type RefreshOutcome, type RefreshContext } from './refresh.ts'
import type { TokenAnswer } from './token-response.ts'
import { loginCredential } from '../../../tests/support/bridge/oauth/login-parts.ts'

const id: LoginId = 'a'.repeat(64)
const used = loginCredential('http://issuer.example', {
  accessToken: 'access 1',
  refreshToken: 'refresh 1',
  issuedAt: 0,
  expiresAt: 1,
})
const renewed: Credential = {
  ...used,
  generation: 3,
  tokens: { accessToken: 'access 2', refreshToken: 'refresh 2', issuedAt: 2, expiresAt: 9_999_999_999 },
}

let stored: Credential | undefined
/** Refresh tokens that the server received. */
let sent: string[]
/** Runs after this process has asked for the lock and before it gets it. */
let beforeLock: () => void
let lock: Promise<unknown>

beforeEach(() => {
  stored = used
  sent = []
  beforeLock = () => undefined
  lock = Promise.resolve()
})

const store = {
  read: async () => stored,
  write: async (_id: LoginId, credential: Credential) => {
    stored = credential
  },
  // The lock is free, so the callback for waiting is never used.
  exclusively<T>(_name: string, _options: object, work: () => Promise<T>): Promise<T> {
    const run = lock.then(() => {
      beforeLock()
      return work()
    })
    lock = run.catch(() => undefined)
    return run
  },
} as unknown as CredentialStore

const refresh = (given: Credential = used, changes: Partial<RefreshContext> = {}): Promise<RefreshOutcome> =>
  refreshUnderLock(given, {
    id,
    need: 'ended',
    store,
    runtime: systemRuntime,
    maySend: () => true,
    async refresh({ tokens }) {
      sent.push(tokens?.refreshToken ?? '')
      const number = sent.length + 1
      const issued = { accessToken: `access ${number}`, refreshToken: `refresh ${number}`, issuedAt: 2 }
      return { kind: 'issued', tokens: { ...issued, expiresAt: 9_999_999_999 } }
    },
    ...changes,
  })

describe('the owner of the lock reads the store again before it sends anything', () => {
  it('tokens that another process has renewed are used, and nothing is sent', async () => {
    beforeLock = () => void (stored = renewed)
    expect(await refresh()).toEqual({ kind: 'renewed', credential: renewed })
    expect(sent).toEqual([])
  })

  it('after a sign-out nothing is sent or stored again', async () => {
    beforeLock = () => void (stored = undefined)
    expect(await refresh()).toEqual({ kind: 'sign_in_needed', credential: undefined })
    expect([sent, stored]).toEqual([[], undefined])
  })

  it('tokens refused to another process are not tried again', async () => {
    const refused: Credential = { ...used, generation: 2, signInNeeded: 'invalid_grant' }
    beforeLock = () => void (stored = refused)
    expect(await refresh()).toEqual({ kind: 'sign_in_needed', credential: refused })
    expect(sent).toEqual([])
  })

  it('expired tokens of another process are renewed with their refresh token, not the spent one', async () => {
    const over = {
      ...renewed,
      tokens: { ...renewed.tokens, accessToken: 'access 2', issuedAt: 2, expiresAt: 3 },
    }
    beforeLock = () => void (stored = over)
    expect((await refresh()).kind).toBe('renewed')
    expect(sent).toEqual(['refresh 2'])
  })

  it.each([
    ['access token', { accessToken: 'access 2', refreshToken: 'refresh 1' }],
    ['refresh token', { accessToken: 'access 1', refreshToken: 'refresh 2' }],
  ])('a different %s alone shows that another process has renewed', async (_what, tokens) => {
    const other = { ...renewed, tokens: { ...tokens, issuedAt: 2, expiresAt: 9_999_999_999 } }
    beforeLock = () => void (stored = other)
    expect(await refresh()).toEqual({ kind: 'renewed', credential: other })
    expect(sent).toEqual([])
  })

  it('a stored login without tokens is not used', async () => {
    const without = { ...renewed, signInId: 'x', tokens: undefined }
    beforeLock = () => void (stored = without)
    expect(await refresh()).toEqual({ kind: 'sign_in_needed', credential: without })
    expect(sent).toEqual([])
  })

  it('eight renewals of the same tokens send one request, and share its result', async () => {
    const outcomes = await Promise.all(Array.from({ length: 8 }, () => refresh()))
    expect(sent).toEqual(['refresh 1'])
    for (const outcome of outcomes) {
      expect(outcome).toMatchObject({ kind: 'renewed', credential: { tokens: { accessToken: 'access 2' } } })
    }
  })
})

/** Answers the requests in turn, and records which tokens they carried. */
const answers = (...given: (TokenAnswer | (() => TokenAnswer))[]): Pick<RefreshContext, 'refresh'> => ({
  async refresh({ tokens }) {
    sent.push(tokens?.refreshToken ?? '')
    const answer = given[sent.length - 1]
    if (answer === undefined) throw new Error('There is no other answer.')
    return typeof answer === 'function' ? answer() : answer
  },
})
const refused = (error: string): TokenAnswer => ({ kind: 'refused', error, description: undefined })
const unavailable = (wasSent: boolean): TokenAnswer => ({
  kind: 'unavailable',
  retryAfterSeconds: 7,
  cause: 'the cause',
  sent: wasSent,
})
const issued = (tokens: object): TokenAnswer => ({
  kind: 'issued',
  tokens: { accessToken: 'access 2', issuedAt: 2, ...tokens },
})
/** The store as an earlier process left it: it sent this refresh token, and did not live to see the answer. */
const interrupted: Credential = {
  ...used,
  generation: used.generation + 1,
  pendingRefresh: { refreshHash: createHash('sha256').update('refresh 1').digest('hex'), at: 0 },
}
const quick = { runtime: { ...systemRuntime, sleep: async () => undefined } }

describe('the stored result of a renewal', () => {
  it('the token is marked as spent before it is sent, and its successor is stored before it is used', async () => {
    let during: Credential | undefined
    const outcome = await refresh(used, {
      ...answers(() => {
        during = stored
        return { ...issued({ refreshToken: 'refresh 2' }), quirks: { refusesResource: true } } as TokenAnswer
      }),
    })
    expect(during).toEqual({
      ...interrupted,
      pendingRefresh: { ...interrupted.pendingRefresh, at: expect.any(Number) },
    })
    const { pendingRefresh: _none, ...rest } = interrupted
    expect(stored).toEqual({
      ...rest,
      generation: used.generation + 2,
      quirks: { refusesResource: true },
      tokens: {
        accessToken: 'access 2',
        refreshToken: 'refresh 2',
        issuedAt: 2,
        scope: undefined,
        idToken: undefined,
      },
    })
    expect(outcome).toEqual({ kind: 'renewed', credential: stored })
  })

  it('refresh token, scope and ID token stay if the response leaves them out', async () => {
    const tokens = { ...used.tokens, accessToken: 'access 1', issuedAt: 0, scope: 'mcp', idToken: 'id 1' }
    stored = { ...used, tokens, quirks: { wantsScopeAtRefresh: true } }
    await refresh(stored, answers(issued({})))
    expect(stored).toMatchObject({
      quirks: { wantsScopeAtRefresh: true },
      tokens: { refreshToken: 'refresh 1', scope: 'mcp', idToken: 'id 1' },
    })
    sent = []
    await refresh(stored, answers(issued({ refreshToken: 'refresh 2', scope: 'less', idToken: 'id 2' })))
    expect(stored.tokens).toMatchObject({ refreshToken: 'refresh 2', scope: 'less', idToken: 'id 2' })
  })

  it.each<
    [
      what: string,
      before: Credential,
      need: RefreshContext['need'],
      answer: TokenAnswer,
      kind: string,
      after: object,
    ]
  >([
    [
      'nothing was sent: no mark is left',
      used,
      'ended',
      unavailable(false),
      'unavailable',
      { marked: false },
    ],
    ['it was sent: the mark stays', used, 'ended', unavailable(true), 'unavailable', { marked: true }],
    [
      'an earlier one was: its mark stays',
      interrupted,
      'ended',
      unavailable(false),
      'unavailable',
      { marked: true },
    ],
    [
      'refused',
      used,
      'ended',
      refused('invalid_grant'),
      'sign_in_needed',
      { marked: false, because: 'invalid_grant' },
    ],
    [
      'refused after the token was',
      used,
      'refused',
      refused('x'),
      'sign_in_needed',
      { marked: false, because: 'x' },
    ],
    ['too soon', used, 'ended', refused('slow_down'), 'unavailable', { marked: false }],
    ['refused, early', used, 'early', refused('invalid_grant'), 'unavailable', { marked: false }],
    [
      'refused, early, after another process',
      interrupted,
      'early',
      refused('invalid_grant'),
      'unavailable',
      { marked: false },
    ],
  ])(
    'a renewal ends as its answer demands: %s',
    async (
      _what,
      before,
      need,
      answer,
      kind,
      { marked, because }: { marked?: boolean; because?: string },
    ) => {
      stored = before
      const outcome = await refresh(before, { need, ...quick, ...answers(answer) })
      expect(outcome.kind).toBe(kind)
      expect(sent).toHaveLength(1)
      expect(stored.pendingRefresh !== undefined).toBe(marked)
      expect(stored.signInNeeded).toBe(because)
      expect(stored.tokens).toEqual(used.tokens)
      if (outcome.kind === 'unavailable' && answer.kind === 'unavailable')
        expect(outcome).toMatchObject({ retryAfterSeconds: 7, cause: 'the cause' })
    },
  )

  it('an unexpected error counts as sent, and its message stays out of the failure', async () => {
    const outcome = await refresh(used, { refresh: () => Promise.reject(new Error('the token refresh 1')) })
    expect(outcome).toMatchObject({
      kind: 'unavailable',
      cause: { message: 'something unexpected happened' },
    })
    expect(stored?.pendingRefresh).toBeDefined()
  })

  it('a refresh that the settings do not allow counts as not sent, and keeps its reason', async () => {
    const lacking = new OAuthFailure('client_refused', 'No private key is configured.')
    const outcome = await refresh(used, { refresh: () => Promise.reject(lacking) })
    expect(outcome).toMatchObject({ kind: 'unavailable', cause: lacking })
    expect(stored?.pendingRefresh).toBeUndefined()
    expect(stored?.tokens).toEqual(used.tokens)
  })

  it('storing is tried three times, and the renewal goes on without it', async () => {
    let [writes, slept] = [0, 0]
    const failing = {
      ...store,
      write: async (...given: Parameters<CredentialStore['write']>) => {
        writes += 1
        if (writes > 1) throw new Error('full')
        return store.write(...given)
      },
    }
    const runtime = { ...systemRuntime, sleep: async () => void (slept += 1) }
    const outcome = await refresh(used, {
      store: failing,
      runtime,
      ...answers(issued({ refreshToken: 'refresh 2' })),
    })
    expect(outcome).toMatchObject({ kind: 'renewed', credential: { tokens: { refreshToken: 'refresh 2' } } })
    expect([writes, slept]).toEqual([4, 2])
    if (outcome.kind !== 'renewed') return
    // The store has the token that was spent: this process has the one that is good.
    sent = []
    await refresh(outcome.credential, answers(issued({})))
    expect(sent).toEqual(['refresh 2'])
  })
})

describe('a token that an earlier process may have spent', () => {
  it('a refused refresh is sent once more, unless another process has stored new tokens meanwhile', async () => {
    stored = interrupted
    expect(
      await refresh(interrupted, { ...quick, ...answers(refused('invalid_grant'), issued({})) }),
    ).toMatchObject({
      kind: 'renewed',
    })
    expect(sent).toEqual(['refresh 1', 'refresh 1'])

    sent = []
    stored = interrupted
    const sleep = async (): Promise<void> => void (stored = renewed)
    const runtime = { ...systemRuntime, sleep }
    expect(await refresh(interrupted, { runtime, ...answers(refused('invalid_grant')) })).toEqual({
      kind: 'renewed',
      credential: renewed,
    })
    expect(sent).toEqual(['refresh 1'])
  })

  it.each<[what: string, before: Credential, error: string]>([
    ['for another reason', interrupted, 'invalid_client'],
    ['and nobody had sent it', used, 'invalid_grant'],
    [
      'and another one had been sent',
      { ...interrupted, pendingRefresh: { refreshHash: 'another', at: 0 } },
      'invalid_grant',
    ],
  ])('a refused refresh is not sent again when refused %s', async (_what, before, error) => {
    stored = before
    expect(await refresh(before, { ...quick, ...answers(refused(error)) })).toMatchObject({
      kind: 'sign_in_needed',
    })
    expect(sent).toHaveLength(1)
  })
})

describe('a stored login that changed during the request', () => {
  const during = (change: Credential | undefined): Pick<RefreshContext, 'refresh'> =>
    answers(() => {
      stored = change
      return issued({})
    })

  it.each<[what: string, change: Credential | undefined, outcome: RefreshOutcome]>([
    ['a sign-out holds', undefined, { kind: 'sign_in_needed', credential: undefined }],
    [
      'a new sign-in holds',
      { ...renewed, signInId: 'x' },
      { kind: 'renewed', credential: { ...renewed, signInId: 'x' } },
    ],
    [
      'a new one that needs another sign-in holds',
      { ...renewed, signInId: 'x', signInNeeded: 'no' },
      { kind: 'sign_in_needed', credential: { ...renewed, signInId: 'x', signInNeeded: 'no' } },
    ],
    [
      'a new one without tokens holds',
      { ...renewed, signInId: 'x', tokens: undefined },
      { kind: 'sign_in_needed', credential: { ...renewed, signInId: 'x', tokens: undefined } },
    ],
  ])('a stored login that changed during the renewal stays: %s', async (_what, change, outcome) => {
    expect(await refresh(used, during(change))).toEqual(outcome)
    expect(stored).toEqual(change)
  })
})

it.each<[what: string, before: Credential, changes: Partial<RefreshContext>, credential: unknown]>([
  [
    'after a refusal',
    { ...used, signInNeeded: 'invalid_grant' },
    {},
    expect.objectContaining({ signInNeeded: 'invalid_grant' }),
  ],
  [
    'without a refresh token',
    { ...used, tokens: { accessToken: 'access 1', issuedAt: 0 } },
    {},
    expect.anything(),
  ],
  ['when tokens were refused too often', used, { maySend: () => false }, undefined],
])('nothing is sent %s: the user signs in', async (_what, before, changes, credential) => {
  stored = before
  expect(await refresh(before, changes)).toEqual({ kind: 'sign_in_needed', credential })
  expect(sent).toEqual([])
  expect(stored).toBe(before)
})

it('while another process has the lock, what it stores is taken without the lock', async () => {
  let instead: (() => Promise<unknown>) | undefined
  const busy = {
    ...store,
    exclusively: (_name: string, options: { waitMs: number; instead: () => Promise<unknown> }) => {
      instead = options.instead
      expect(options.waitMs).toBe(20_000)
      return new Promise(() => undefined)
    },
  } as unknown as CredentialStore
  void refresh(used, { store: busy })
  expect(await instead?.()).toBeUndefined()
  stored = renewed
  expect(await instead?.()).toEqual({ kind: 'renewed', credential: renewed })
})
