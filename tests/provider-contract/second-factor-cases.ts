import { expect, it, type TestContext } from 'vitest'
import { computeTotp } from '../../server/sandbox/provider/accounts/totp.ts'
import { isJsonObject } from '@drawbridge/shared/json-object.ts'
import type { ContractAccount } from './accounts.ts'
import { claimsOf, type ContractSession, type ContractStep, failureOf, signedIn, valueOf } from './driver.ts'
import { skipFor, type Stage } from './stage.ts'
import { codeOf, textOf } from './wire.ts'

interface EnrolledAccount extends ContractAccount {
  factorId: string
  code(): string
  wrongCode(): string
}

const label = 'Phone of the contract'

/** Cases of the second step of a sign-in. */
export function secondFactorCases(stage: () => Stage): void {
  let known: EnrolledAccount | undefined

  async function enrolled(context: TestContext): Promise<EnrolledAccount> {
    skipFor(context, stage().server.lacks.accounts)
    return (known ??= await enroll(context))
  }

  /** Creates an account with an authenticator app, set up as by its web app. */
  async function enroll(context: TestContext): Promise<EnrolledAccount> {
    const { driver, server, wire } = stage()
    const account = await server.accounts.create()
    const { accessToken: bearer } = signedIn(await driver.signIn(account))
    const body = { factor_type: 'totp', friendly_name: label }
    const made = await wire('POST', '/factors', { body, bearer })
    if (codeOf(made) === 'mfa_totp_enroll_not_enabled') {
      skipFor(context, 'second factors cannot be enrolled at this server')
    }
    const factorId = textOf(made, 'id')
    const totp = made.body?.['totp']
    const secret = isJsonObject(totp) ? String(totp['secret']) : ''
    const codeAt = (offset: number): string => computeTotp(secret, Math.floor(Date.now() / 1000) + offset)
    const challenge = await wire('POST', `/factors/${factorId}/challenge`, { body: {}, bearer })
    const answer = { challenge_id: textOf(challenge, 'id'), code: codeAt(0) }
    const verified = await wire('POST', `/factors/${factorId}/verify`, { body: answer, bearer })
    expect(claimsOf(textOf(verified, 'access_token'))['aal']).toBe('aal2')
    return {
      ...account,
      factorId,
      code: () => codeAt(0),
      wrongCode() {
        const right = new Set([-60, -30, 0, 30, 60].map(codeAt))
        return (
          ['000000', '111111', '222222', '333333', '444444', '555555'].find((code) => !right.has(code)) ?? ''
        )
      },
    }
  }

  async function halfWay(account: EnrolledAccount): Promise<ContractStep & { kind: 'second_factor' }> {
    const step = valueOf(await stage().driver.signIn(account))
    if (step.kind !== 'second_factor') throw new Error('No second factor was asked for.')
    return step
  }

  /** Proves the second factor; `session` comes from the first step. */
  async function proven(context: TestContext): Promise<{ session: ContractSession; full: ContractSession }> {
    const account = await enrolled(context)
    const { session } = await halfWay(account)
    const verified = await stage().driver.verifySecondFactor(session, account.factorId, account.code())
    return { session, full: valueOf(verified) }
  }

  it('a second factor is requested after the password, and the half-way session is of the first level', async (context) => {
    const account = await enrolled(context)
    const { session, factors } = await halfWay(account)
    expect(factors).toEqual([{ id: account.factorId, label }])
    expect(claimsOf(session.accessToken)['aal']).toBe('aal1')
  })

  it('a wrong code of a second factor is reported, and the right one still works', async (context) => {
    const { driver } = stage()
    const account = await enrolled(context)
    const { session } = await halfWay(account)
    const wrong = await driver.verifySecondFactor(session, account.factorId, account.wrongCode())
    expect(failureOf(wrong)).toBe('wrong_code')
    const proven = valueOf(await driver.verifySecondFactor(session, account.factorId, account.code()))
    expect(claimsOf(proven.accessToken)).toMatchObject({ sub: account.id, aal: 'aal2' })
  })

  it('a proven session stays proven when it is refreshed', async (context) => {
    const { driver } = stage()
    const { full } = await proven(context)
    expect(valueOf(await driver.life(full.accessToken))).toBe('live')
    const next = valueOf(await driver.refresh(full))
    expect(claimsOf(next.accessToken)['aal']).toBe('aal2')
  })

  it('the refresh token of the first step brings no session of its own any more', async (context) => {
    const { driver } = stage()
    const { session, full } = await proven(context)
    const old = await driver.refresh(session)
    // Opaque tokens are forgiven as the parent of the proven one, others only within the reuse interval.
    if (old.ok) expect(old.value.refreshToken).toBe(full.refreshToken)
    else expect(failureOf(old)).toBe('terminal')
  })
}
