import { afterEach, beforeEach, expect, it } from 'vitest'
import { type ProviderFixture, startProvider } from '../../../../tests/support/sandbox/provider-fixture.ts'
import { computeTotp } from '../accounts/totp.ts'

const ADA = { email: 'ada@example.com', password: 'correct horse' }
let provider: ProviderFixture
let auth: ReturnType<ProviderFixture['client']>['auth']

beforeEach(async () => {
  provider = startProvider()
  auth = provider.client().auth
  await auth.signUp(ADA)
})
afterEach(() => provider.close())

async function enroll(friendlyName: string) {
  const { data } = await auth.mfa.enroll({ factorType: 'totp', friendlyName })
  return { id: data?.id ?? '', code: () => computeTotp(data?.totp.secret ?? '', provider.runtime.now()) }
}

const challenge = async (factorId: string): Promise<string> =>
  (await auth.mfa.challenge({ factorId })).data?.id ?? ''

async function prove({ id, code }: Awaited<ReturnType<typeof enroll>>) {
  await auth.mfa.challengeAndVerify({ factorId: id, code: code() })
}

const factorNames = async (): Promise<unknown> =>
  (await auth.mfa.listFactors()).data?.all.map(({ friendly_name: name }) => name)

it('the first code of a factor removes factors that were never verified, and keeps verified ones', async () => {
  await enroll('begun')
  await prove(await enroll('first'))
  expect(await factorNames()).toEqual(['first'])
  await enroll('begun again')
  await prove(await enroll('second'))
  expect(await factorNames()).toEqual(['first', 'second'])
})

it('a challenge of a second factor takes one right code, after wrong ones too', async () => {
  const { id: factorId, code } = await enroll('phone')
  const challengeId = await challenge(factorId)
  const verify = async (given: string): Promise<string | undefined> =>
    (await auth.mfa.verify({ factorId, challengeId, code: given })).error?.code
  const wrong = code() === '000000' ? '111111' : '000000'
  expect([await verify(wrong), await verify(code()), await verify(code())]).toEqual([
    'mfa_verification_failed',
    undefined,
    'mfa_ip_address_mismatch',
  ])
})

it('a challenge of a second factor is for that factor, and for five minutes', async () => {
  const [phone, tablet] = [await enroll('phone'), await enroll('tablet')]
  const codeOf = async (factorId: string, challengeId: string, code: string): Promise<string | undefined> =>
    (await auth.mfa.verify({ factorId, challengeId, code })).error?.code
  const ofTablet = await challenge(tablet.id)
  expect(await codeOf(phone.id, ofTablet, phone.code())).toBe('mfa_factor_not_found')
  provider.runtime.advance(300)
  expect(await codeOf(tablet.id, ofTablet, tablet.code())).toBe('mfa_challenge_expired')
})

it.each([
  [-60, 'mfa_verification_failed'],
  [-30, undefined],
  [30, undefined],
  [60, 'mfa_verification_failed'],
])('the code of an authenticator app whose clock is %d s off is answered with %s', async (off, error) => {
  const { data } = await auth.mfa.enroll({ factorType: 'totp', friendlyName: 'phone' })
  const code = computeTotp(data?.totp.secret ?? '', provider.runtime.now() + off)
  const verified = await auth.mfa.challengeAndVerify({ factorId: data?.id ?? '', code })
  expect(verified.error?.code).toBe(error)
})

it('a further factor is enrolled under another name, in a session that has proved the first', async () => {
  await prove(await enroll('phone'))
  const other = provider.client().auth
  await other.signInWithPassword(ADA)
  const halfWay = await other.mfa.enroll({ factorType: 'totp', friendlyName: 'tablet' })
  expect(halfWay.error?.code).toBe('insufficient_aal')
  const again = await auth.mfa.enroll({ factorType: 'totp', friendlyName: 'phone' })
  expect(again.error?.code).toBe('mfa_factor_name_conflict')
})
