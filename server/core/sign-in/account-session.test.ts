import { describe, expect, it } from 'vitest'
import { createFakeRuntime } from '../../../tests/support/server/fake-runtime.ts'
import { start, sealerSample } from '../../../tests/support/server/core/grant-sample.ts'
import { signInSample } from '../../../tests/support/server/core/sign-in-sample.ts'
import {
  createAccountSession,
  isAccountForm,
  openAccountSession,
  sealAccountForm,
  sealAccountSession,
} from './account-session.ts'
import { sealForBrowser } from './browser-seal.ts'

const runtime = createFakeRuntime(start)
const ports = { sealer: sealerSample(), runtime }
const at = (seconds: number): typeof ports => ({ ...ports, runtime: createFakeRuntime(start + seconds) })
const create = (): ReturnType<typeof createAccountSession> =>
  createAccountSession(signInSample().identity, 'https://provider', runtime)

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
    const opened = openAccountSession(sealAccountSession(session, 'binding', ports), binding, at(after))
    expect(opened).toEqual(opens ? session : undefined)
  })

  it.each<[what: string, sealed: string | undefined]>([
    [
      'a login transaction',
      sealForBrowser(
        {},
        { use: 'drawbridge login transaction', binding: 'binding', expiresAt: start + 60 },
        ports,
      ),
    ],
    ['a form', sealAccountForm(create(), 'binding', ports)],
  ])('%s is not a session of the connections page', (_what, sealed) => {
    expect(openAccountSession(sealed, 'binding', ports)).toBeUndefined()
  })
})

describe('the seal of its forms', () => {
  const session = create()
  const sealed = sealAccountForm(session, 'binding', ports)

  it.each<[rule: string, accepted: boolean, check: () => boolean]>([
    ['this session in its browser', true, () => isAccountForm(sealed, session, 'binding', ports)],
    ['another session of the browser', false, () => isAccountForm(sealed, create(), 'binding', ports)],
    ['another browser', false, () => isAccountForm(sealed, session, 'another', ports)],
    ['after its end', false, () => isAccountForm(sealed, session, 'binding', at(3600))],
    [
      'the session itself in its place',
      false,
      () => isAccountForm(sealAccountSession(session, 'binding', ports), session, 'binding', ports),
    ],
  ])('a form of the connections page, for %s, is accepted: %s', (_rule, accepted, check) =>
    expect(check()).toBe(accepted),
  )
})
