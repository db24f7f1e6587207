import { expect, it } from 'vitest'
import { type ContractFailure, failureOf } from './driver.ts'
import { skipFor, type Stage } from './stage.ts'

/** GoTrue allows a burst of 30. */
const maxTries = 40
const solved = 'the captcha token of the contract'

/** Cases of rate limits and captchas. */
export function limitCases(stage: () => Stage): void {
  it('too many attempts are reported, and not mistaken for wrong passwords', async (context) => {
    const { driver, server } = stage()
    skipFor(
      context,
      server.hasCaptcha ? 'a captcha stands before the limit' : undefined,
      // There the limit is by real address: everything after this case would be refused.
      /\.supabase\.(?:co|in)$/.test(new URL(server.authUrl).hostname)
        ? 'the server is a hosted one'
        : undefined,
    )
    server.levers?.limitTokens(true)
    try {
      const nobody = { email: 'nobody@example.com', password: 'not a real password' }
      let failure: ContractFailure | 'none' = 'none'
      for (let tries = 0; tries < maxTries && failure !== 'rate_limited'; tries += 1) {
        failure = failureOf(await driver.signIn(nobody))
      }
      if (failure !== 'rate_limited') skipFor(context, 'this server limits nothing: GOTRUE_RATE_LIMIT_HEADER')
      expect(failure).toBe('rate_limited')
    } finally {
      server.levers?.limitTokens(false)
    }
  })

  it('a password without the captcha token that the server asks for is refused for that', async (context) => {
    const { driver, server } = stage()
    if (!server.levers && !server.hasCaptcha) skipFor(context, 'this server asks for no captcha')
    server.levers?.askForCaptcha(solved)
    try {
      const nobody = { email: 'nobody@example.com', password: 'not a real password' }
      expect(failureOf(await driver.signIn(nobody))).toBe('captcha')
      if (!server.levers) return
      expect(failureOf(await driver.signIn(nobody, 'a guess'))).toBe('captcha')
      expect(failureOf(await driver.signIn(nobody, solved))).toBe('invalid_credentials')
    } finally {
      server.levers?.askForCaptcha(undefined)
    }
  })
}
