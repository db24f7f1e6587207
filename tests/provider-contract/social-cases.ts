import { expect, it, type TestContext } from 'vitest'
import { claimsOf, type ContractStep, failureOf, valueOf } from './driver.ts'
import { walkSocialSignIn } from './social-walk.ts'
import { skipFor, type Stage } from './stage.ts'
import { callbackUrl } from './target.ts'

/** Cases of signing in through a social provider. */
export function socialCases(stage: () => Stage): void {
  /** Starts two sign-ins, one of which returns. */
  async function returned(context: TestContext) {
    const { driver, server, send } = stage()
    skipFor(context, server.lacks.social)
    const leg = await driver.socialStart(server.socialProvider, callbackUrl)
    const other = await driver.socialStart(server.socialProvider, callbackUrl)
    const walk = await walkSocialSignIn(leg.url, callbackUrl, send)
    if (walk.kind === 'stuck') skipFor(context, `the social provider did not redirect back: ${walk.reason}`)
    return { leg, other, params: walk.kind === 'returned' ? walk.params : new URLSearchParams() }
  }

  const sessionOf = (step: ContractStep) => step.session

  it('a social sign-in begins with PKCE at the auth API, which sends the browser on', async (context) => {
    const { driver, server, send } = stage()
    skipFor(context, server.lacks.social)
    const { url } = await driver.socialStart(server.socialProvider, callbackUrl)
    expect(Object.fromEntries(new URL(url).searchParams)).toMatchObject({
      provider: server.socialProvider,
      redirect_to: callbackUrl,
      code_challenge: expect.stringMatching(/^[\w-]{43}$/),
      code_challenge_method: 's256',
    })
    const response = await send(url, { redirect: 'manual' })
    // Some providers are asked for their metadata first, and the name of an unreachable one is unusual.
    const text = response.status === 302 ? '' : await response.text()
    if (!server.levers && /unsupported provider/i.test(text)) {
      skipFor(context, 'this server cannot reach the social provider')
    }
    expect([response.status, text]).toEqual([302, ''])
    const next = new URL(response.headers.get('location') ?? '')
    expect(next.searchParams.get('response_type')).toBe('code')
    expect(next.searchParams.get('state')).toBeTruthy()
    expect(next.searchParams.get('redirect_uri')).toMatch(/\/callback$/)
  })

  it('a social sign-in ends once, and by its own verifier only, with a session of the person', async (context) => {
    const { driver } = stage()
    const { leg, other, params } = await returned(context)
    expect(params.get('error_description')).toBeNull()
    expect(failureOf(await other.finish(params))).toBe('expired')
    const { accessToken } = sessionOf(valueOf(await leg.finish(params)))
    expect(claimsOf(accessToken)).toMatchObject({
      role: 'authenticated',
      email: expect.stringContaining('@'),
    })
    expect(valueOf(await driver.life(accessToken))).toBe('live')
    expect(failureOf(await leg.finish(params))).toBe('expired')
  })

  it.each([
    ['keycloak', 'openid'],
    ['azure', 'email'],
  ])(
    'a social sign-in without the scope that %s needs (%s) brings back an error and no code',
    async (method, scope) => {
      const { driver, server, send } = stage()
      // A real server's own provider may be set up to need none.
      if (!server.levers) return
      const { url } = await driver.socialStart(method, callbackUrl)
      const without = new URL(url)
      for (const [scopes, code] of [
        ['', undefined],
        [`profile ${scope}`, expect.any(String)],
      ] as const) {
        without.searchParams.set('scopes', scopes)
        const walk = await walkSocialSignIn(without.href, callbackUrl, send)
        const params = walk.kind === 'returned' ? walk.params : new URLSearchParams()
        expect([params.get('error_code') ?? undefined, params.get('code') ?? undefined]).toEqual([
          code === undefined ? 'unexpected_failure' : undefined,
          code,
        ])
      }
    },
  )

  it('a made-up code of a social sign-in is refused', async (context) => {
    const { driver, server } = stage()
    skipFor(context, server.lacks.social)
    const leg = await driver.socialStart(server.socialProvider, callbackUrl)
    const params = new URLSearchParams({ code: crypto.randomUUID() })
    expect(failureOf(await leg.finish(params))).toBe('expired')
  })
}
