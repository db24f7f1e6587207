import { beforeEach, describe, expect, it } from 'vitest'
import { createFakeRuntime, type FakeRuntime } from '../../../tests/support/server/fake-runtime.ts'
import { start, sealerSample } from '../../../tests/support/server/core/grant-sample.ts'
import { authorizationPurpose } from '../../../tests/support/server/core/sign-in-sample.ts'
import { hashSecret } from '../seal.ts'
import { type BrowserSealPorts, createBrowserBinding } from './browser-seal.ts'
import { transactionSeal } from './sign-in-transaction.ts'

let runtime: FakeRuntime
let ports: BrowserSealPorts

const purpose = authorizationPurpose()
const transaction = { purpose, stored: undefined }
const binding = createBrowserBinding((length) => new Uint8Array(length).fill(1))
const otherBinding = createBrowserBinding((length) => new Uint8Array(length).fill(2))

beforeEach(() => {
  runtime = createFakeRuntime(start)
  ports = { sealer: sealerSample(), runtime }
})

it('createBrowserBinding: holds 256 random bits', () => {
  const bindings = Array.from({ length: 50 }, () => createBrowserBinding(runtime.randomBytes))
  expect(new Set(bindings).size).toBe(50)
  for (const each of bindings) expect(each).toMatch(/^[A-Za-z0-9_-]{43}$/)
})

describe('the login transaction', () => {
  it('the login transaction opens in the browser that got it, unchanged', () => {
    const sealed = transactionSeal.seal(transaction, binding, ports)
    const opened = { kind: 'open', value: { purpose }, binding }
    expect(transactionSeal.open(sealed, binding, ports)).toEqual(opened)
    expect(transactionSeal.open(sealed, binding, ports)).toEqual(opened)
  })

  it.each<[rule: string, presented: string | undefined]>([
    ['another browser', otherBinding],
    ['a browser without the cookie', undefined],
    ['the hash of the binding', hashSecret(binding)],
  ])('RFC 9700 4.7, RFC 9700 4.7.1: the login transaction is useless in %s', (_rule, presented) => {
    const sealed = transactionSeal.seal(transaction, binding, ports)
    expect(transactionSeal.open(sealed, presented, ports)).toMatchObject({ kind: 'foreign_browser' })
  })

  it.each([
    [3599, 'open'],
    [3600, 'expired'],
  ])('the login transaction after %i s: %s', (after, kind) => {
    const sealed = transactionSeal.seal(transaction, binding, ports)
    runtime.advance(after)
    expect(transactionSeal.open(sealed, binding, ports).kind).toBe(kind)
  })

  it('the login transaction tells a foreign browser nothing about expiry', () => {
    const sealed = transactionSeal.seal(transaction, binding, ports)
    runtime.advance(7200)
    expect(transactionSeal.open(sealed, otherBinding, ports).kind).toBe('foreign_browser')
  })

  it.each<[what: string, sealed: () => string]>([
    ['any text', () => 'k.AAAA'],
    ['a text sealed for another purpose', () => ports.sealer.seal('{}', 'drawbridge social sign-in')],
  ])('%s is not a login transaction', (_what, sealed) => {
    expect(transactionSeal.open(sealed(), binding, ports)).toEqual({ kind: 'invalid' })
  })
})
