import { expect, it } from 'vitest'
import { claimsOf, failureOf, valueOf } from './driver.ts'
import { walkSocialSignIn } from './social-walk.ts'
import { skipFor, type Stage } from './stage.ts'
import { callbackUrl } from './target.ts'

/** Cases of single sign-on by domain (SAML). */
export function ssoCases(stage: () => Stage): void {
  it('single sign-on is refused for an unknown domain', async (context) => {
    const { driver, server } = stage()
    skipFor(context, server.lacks.sso)
    const domain = `${crypto.randomUUID()}.example`
    expect(failureOf(await driver.ssoStart(domain, callbackUrl))).toBe('unknown_domain')
  })

  it('single sign-on goes to the company of the domain, and ends with a session of the person', async (context) => {
    const { driver, server, send } = stage()
    skipFor(context, server.lacks.sso ?? server.lacks.verifier)
    const { ssoDomain = '' } = server
    skipFor(context, ssoDomain === '' ? 'GOTRUE_SSO_DOMAIN is not set' : undefined)
    const leg = valueOf(await driver.ssoStart(ssoDomain, callbackUrl))
    const walk = await walkSocialSignIn(leg.url, callbackUrl, send)
    if (walk.kind === 'stuck') return skipFor(context, `the company did not redirect back: ${walk.reason}`)
    const { accessToken } = valueOf(await leg.finish(walk.params)).session
    const claims = claimsOf(accessToken)
    expect(claims['email']).toContain('@')
    expect(claims['app_metadata']).toMatchObject({ provider: expect.stringMatching(/^sso:[\da-f-]{36}$/) })
    expect(valueOf(await driver.life(accessToken))).toBe('live')
    expect(failureOf(await leg.finish(walk.params))).toBe('expired')
  })
}
