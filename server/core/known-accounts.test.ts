import { describe, expect, it } from 'vitest'
import { createFakeRuntime } from '../testing/fake-runtime.ts'
import {
  accountOf,
  type KnownAccounts,
  knowsAccount,
  openKnownAccounts,
  rememberAccount,
  sealKnownAccounts,
} from './known-accounts.ts'
import { createSealer, fixedKeyRing } from './seal.ts'

const { randomBytes } = createFakeRuntime()
const sealer = createSealer(fixedKeyRing([{ kid: 'k', key: randomBytes(32) }]), randomBytes)
const issuer = 'https://provider'
const remember = (...accounts: string[]): KnownAccounts =>
  accounts.reduce<KnownAccounts>((known, account) => rememberAccount(known, account, issuer), [])

describe('known accounts (OWASP Authentication Cheat Sheet, device cookies)', () => {
  it('knows what was signed in to, at that provider, and nothing else', () => {
    const known = remember('ada@example.com')
    expect(knowsAccount(known, 'ada@example.com', issuer)).toBe(true)
    expect(knowsAccount(known, 'eve@example.com', issuer)).toBe(false)
    expect(knowsAccount(known, 'ada@example.com', 'https://elsewhere')).toBe(false)
    expect(knowsAccount([], 'ada@example.com', issuer)).toBe(false)
  })

  it.each([['Ada@Example.com'], [' ada@example.com '], ['ADA@EXAMPLE.COM']])(
    '%j is the account however it is typed',
    (typed) => expect(accountOf(typed)).toBe('ada@example.com'),
  )

  it('of six the first is forgotten, and one that is used again moves to the front', () => {
    const known = rememberAccount(remember('a', 'b', 'c', 'd', 'e'), 'a', issuer)
    expect(known).toHaveLength(5)
    const next = rememberAccount(known, 'f', issuer)
    expect(next).toHaveLength(5)
    expect(knowsAccount(next, 'a', issuer)).toBe(true)
    expect(knowsAccount(next, 'b', issuer)).toBe(false)
  })

  it('survives the browser, which can read no account in it', () => {
    const sealed = sealKnownAccounts(remember('ada@example.com'), sealer)
    expect(knowsAccount(openKnownAccounts(sealed, sealer), 'ada@example.com', issuer)).toBe(true)
    expect(Buffer.from(sealed.replace(/^.*\./, ''), 'base64url').toString('latin1')).not.toContain('ada')
  })

  it.each<[what: string, sealed: string | undefined]>([
    ['no cookie', undefined],
    ['an empty one', ''],
    ['a made-up one', 'k.AAAA'],
    ['one sealed for another use', sealer.seal('["x"]', 'drawbridge login transaction')],
  ])('%s knows nothing', (_what, sealed) => {
    expect(openKnownAccounts(sealed, sealer)).toEqual([])
  })
})
