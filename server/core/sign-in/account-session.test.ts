import { describe, expect, it } from 'vitest'
import { createFakeRuntime } from '../../../tests/support/server/fake-runtime.ts'
import { start, sealerSample } from '../../../tests/support/server/core/grant-sample.ts'
import { signInSample } from '../../../tests/support/server/core/sign-in-sample.ts'
import { accountFormSeal, accountSeal, type AccountSession, createAccountSession } from './account-session.ts'
import { transactionSeal } from './sign-in-transaction.ts'

const runtime = createFakeRuntime(start)
const ports = { sealer: sealerSample(), runtime }
const at = (seconds: number): typeof ports => ({ ...ports, runtime: createFakeRuntime(start + seconds) })
const create = (): ReturnType<typeof createAccountSession> =>
  createAccountSession(signInSample().identity, 'https://provider', runtime)

const sealed = (session: AccountSession): string =>
  accountSeal.seal(session, 'binding', ports, session.expiresAt)

describe('the session of the connections page', () => {
  it('the session of the connections page has the user of the provider, and a new id each time', () => {
    const session = create()
    expect(session).toMatchObject({
      userId: 'https://provider#sub ada',
      sub: 'sub ada',
      email: 'ada@example.com',
      expiresAt: start + 3600,
    })
    expect(create().id).not.toBe(session.id)
  })

  it.each<[rule: string, binding: string | undefined, after: number, opens: boolean]>([
    ['its browser', 'binding', 3599, true],
    ['its browser, an hour later', 'binding', 3600, false],
    ['another browser', 'another', 0, false],
  ])('RFC 9700 4.7: a session of the connections page in %s', (_rule, binding, after, opens) => {
    const session = create()
    const opened = accountSeal.open(sealed(session), binding, at(after))
    expect(opened.kind === 'open' ? opened.value : undefined).toEqual(opens ? session : undefined)
  })

  it.each<[what: string, sealed: string | undefined]>([
    [
      'a login transaction',
      transactionSeal.seal({ purpose: { kind: 'account', language: 'en' } }, 'binding', ports),
    ],
    ['a form', accountFormSeal.seal(create().id, 'binding', ports)],
    ['no cookie', undefined],
  ])('%s is not a session of the connections page', (_what, text) => {
    expect(accountSeal.open(text, 'binding', ports)).toEqual({ kind: 'invalid' })
  })
})

describe('the seal of its forms', () => {
  const { id } = create()
  const form = accountFormSeal.seal(id, 'binding', ports)

  it('a form of the connections page names its session, in its browser', () => {
    expect(accountFormSeal.open(form, 'binding', ports)).toEqual({
      kind: 'open',
      value: id,
      binding: 'binding',
    })
  })

  it.each<[rule: string, kind: string, text: string, binding: string, after: number]>([
    ['in another browser', 'foreign_browser', form, 'another', 0],
    ['after an hour', 'expired', form, 'binding', 3600],
    ['that is the session itself', 'invalid', sealed(create()), 'binding', 0],
  ])('a form of the connections page %s is refused: %s', (_rule, kind, text, binding, after) => {
    expect(accountFormSeal.open(text, binding, at(after)).kind).toBe(kind)
  })
})
