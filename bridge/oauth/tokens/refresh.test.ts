import { beforeEach, describe, expect, it } from 'vitest'
import type { CredentialStore, LoginId } from '../../credentials/credential-store.ts'
import type { Credential } from '../../credentials/credential.ts'
import { systemRuntime } from '../../config/system-runtime.ts'
import { refreshUnderLock, type RefreshOutcome } from './refresh.ts'
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
    const turn = lock.then(() => {
      beforeLock()
      return work()
    })
    lock = turn.catch(() => undefined)
    return turn
  },
} as unknown as CredentialStore

const refresh = (): Promise<RefreshOutcome> =>
  refreshUnderLock(used, {
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
  })

describe('the owner of the lock reads the store again before it sends anything', () => {
  it('another process has renewed the tokens: these are used, and nothing is sent', async () => {
    beforeLock = () => void (stored = renewed)
    expect(await refresh()).toEqual({ kind: 'renewed', credential: renewed })
    expect(sent).toEqual([])
  })

  it('after a sign-out nothing is sent or stored again', async () => {
    beforeLock = () => void (stored = undefined)
    expect(await refresh()).toEqual({ kind: 'sign_in_needed', credential: undefined })
    expect([sent, stored]).toEqual([[], undefined])
  })

  it('the server has refused them to another process: they are not tried again', async () => {
    const refused: Credential = { ...used, generation: 2, signInNeeded: 'invalid_grant' }
    beforeLock = () => void (stored = refused)
    expect(await refresh()).toEqual({ kind: 'sign_in_needed', credential: refused })
    expect(sent).toEqual([])
  })

  it('what another process has renewed has ended since: its refresh token is sent, not the used one', async () => {
    const over = {
      ...renewed,
      tokens: { ...renewed.tokens, accessToken: 'access 2', issuedAt: 2, expiresAt: 3 },
    }
    beforeLock = () => void (stored = over)
    expect((await refresh()).kind).toBe('renewed')
    expect(sent).toEqual(['refresh 2'])
  })

  it('eight at once with the same tokens: one request, and all get what it brought', async () => {
    const outcomes = await Promise.all(Array.from({ length: 8 }, refresh))
    expect(sent).toEqual(['refresh 1'])
    for (const outcome of outcomes) {
      expect(outcome).toMatchObject({ kind: 'renewed', credential: { tokens: { accessToken: 'access 2' } } })
    }
  })
})
