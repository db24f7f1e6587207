import { describe, expect, it } from 'vitest'
import { sealerSample } from '../../../tests/support/server/core/grant-sample.ts'
import { createFakeRuntime } from '../../../tests/support/server/fake-runtime.ts'
import {
  accountOf,
  type KnownAccounts,
  knownSeconds,
  markOfAccount,
  openKnownAccounts,
  rememberAccount,
  sealKnownAccounts,
} from './device-cookie.ts'

const runtime = createFakeRuntime()
const sealer = sealerSample()
const issuer = 'https://provider'
const remember = (...accounts: string[]): KnownAccounts =>
  accounts.reduce<KnownAccounts>((known, account) => rememberAccount(known, account, issuer, runtime), [])
const knowsAccount = (...given: Parameters<typeof markOfAccount>): boolean =>
  markOfAccount(...given) !== undefined

describe('known accounts (OWASP Authentication Cheat Sheet, device cookies)', () => {
  it('a device cookie knows accounts that signed in to that provider, and no others', () => {
    const known = remember('ada@example.com')
    expect(knowsAccount(known, 'ada@example.com', issuer)).toBe(true)
    expect(knowsAccount(known, 'eve@example.com', issuer)).toBe(false)
    expect(knowsAccount(known, 'ada@example.com', 'https://elsewhere')).toBe(false)
    expect(knowsAccount([], 'ada@example.com', issuer)).toBe(false)
  })

  it.each([[' Ada@Example.com ']])('%j is the account however it is typed', (typed) =>
    expect(accountOf(typed)).toBe('ada@example.com'),
  )

  it('Unicode: what a provider takes for the same letter is the same account, with the same limit', () => {
    expect(accountOf('al\u0130ce@example.com')).toBe('alice@example.com')
    expect(accountOf('\u212Aim@example.com')).toBe('kim@example.com')
    expect(accountOf('\u039F\u03A3@example.com')).toBe('\u03BF\u03C3@example.com')
  })

  it('a device cookie has a separate mark for each sign-in', () => {
    const one = remember('ada@example.com')
    const mark = markOfAccount(one, 'ada@example.com', issuer)
    expect(mark).toMatch(/^[\w-]{22}$/)
    expect(markOfAccount(remember('ada@example.com'), 'ada@example.com', issuer)).not.toBe(mark)
    const again = rememberAccount(one, 'ada@example.com', issuer, runtime)
    expect(markOfAccount(again, 'ada@example.com', issuer)).not.toBe(mark)
  })

  it('a device cookie ends after a year, even if the browser keeps it', () => {
    const sealed = sealKnownAccounts(remember('ada@example.com'), sealer)
    const at = (seconds: number): KnownAccounts =>
      openKnownAccounts(sealed, { sealer, runtime: createFakeRuntime(runtime.now() + seconds) })
    expect(at(knownSeconds - 1)).toHaveLength(1)
    expect(at(knownSeconds)).toEqual([])
  })

  it('a device cookie drops the oldest of six accounts, and moves one that is used again to the front', () => {
    const known = rememberAccount(remember('a', 'b', 'c', 'd', 'e'), 'a', issuer, runtime)
    expect(known).toHaveLength(5)
    const next = rememberAccount(known, 'f', issuer, runtime)
    expect(next).toHaveLength(5)
    expect(knowsAccount(next, 'a', issuer)).toBe(true)
    expect(knowsAccount(next, 'b', issuer)).toBe(false)
  })

  it('a device cookie comes back from the browser, which can read no account in it', () => {
    const sealed = sealKnownAccounts(remember('ada@example.com'), sealer)
    expect(knowsAccount(openKnownAccounts(sealed, { sealer, runtime }), 'ada@example.com', issuer)).toBe(true)
    expect(Buffer.from(sealed.replace(/^.*\./, ''), 'base64url').toString('latin1')).not.toContain('ada')
  })

  it.each<[what: string, sealed: string | undefined]>([
    ['no cookie', undefined],
    ['a made-up one', 'k.AAAA'],
    ['one sealed for another use', sealer.seal('["x"]', 'drawbridge login transaction')],
  ])('a device cookie knows no account: %s', (_what, sealed) => {
    expect(openKnownAccounts(sealed, { sealer, runtime })).toEqual([])
  })
})
