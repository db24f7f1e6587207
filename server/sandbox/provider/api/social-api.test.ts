import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import {
  AUTH,
  type ProviderFixture,
  SITE,
  startProvider,
} from '../../../../tests/support/sandbox/provider-fixture.ts'
import { company } from '../social/stand-in.ts'

let provider: ProviderFixture
beforeEach(() => (provider = startProvider()))
afterEach(() => provider.close())

const challenge = 'x'.repeat(43)
const parametersOf = (values: Record<string, string>): string => new URLSearchParams(values).toString()

const visit = (path: string): Promise<Response> => provider.fetch(new Request(`${AUTH}${path}`))

const authorize = (values: Record<string, string>): Promise<Response> =>
  visit(`/authorize?${parametersOf({ provider: 'google', code_challenge: challenge, ...values })}`)

const locationOf = ({ headers }: Response): URL => new URL(headers.get('location') ?? '')

describe('a social sign-in of the sandbox', () => {
  it.each([
    ['S256', 302],
    ['s256', 302],
    ['plain', 400],
    ['', 400],
  ])('a social sign-in whose code_challenge_method is %j is answered with %d', async (method, status) => {
    const answer = await authorize({ code_challenge_method: method })
    expect(answer.status).toBe(status)
    if (status === 400) expect(await answer.text()).toContain('PKCE only')
  })

  it('a social sign-in that names no code_challenge_method is refused, since its challenge would be the verifier', async () => {
    expect((await authorize({})).status).toBe(400)
  })
})

it.each([
  ['/google', 'nobody'],
  ['/google', 'employee-1'],
  ['/company', '100000000000000000001'],
  ['/company', ''],
])(
  'the page that plays %s returns no browser for the account %j, which is none of its own',
  async (path, account) => {
    const form = { method: 'POST', body: new URLSearchParams({ state: 'state', account }) }
    const answer = await provider.fetch(new Request(`${SITE}${path}/choose`, form))
    expect([answer.status, answer.headers.get('location')]).toEqual([400, null])
  },
)

describe('single sign-on of the sandbox', () => {
  const employee = company.accounts[0]!

  it('the assertion endpoint of single sign-on takes no state of a social sign-in', async () => {
    const toGoogle = locationOf(await authorize({ code_challenge_method: 's256' }))
    const state = toGoogle.searchParams.get('state') ?? ''
    const back = locationOf(await visit(`/sso/saml/acs?${parametersOf({ state, code: employee.subject })}`))
    expect(back.origin).toBe(SITE)
    expect(back.searchParams.get('error_code')).toBe('saml_relay_state_not_found')
    // The sign-in itself goes on.
    const signedIn = locationOf(
      await visit(`/callback?${parametersOf({ state, code: '100000000000000000001' })}`),
    )
    expect(signedIn.searchParams.get('code')).toMatch(/^[\da-f-]{36}$/)
  })

  it('single sign-on is offered for the domain of the company only', async () => {
    const body = { redirect_to: SITE, code_challenge: challenge }
    const answers = [company.domain, `evil.${company.domain}`, ''].map((domain) =>
      provider.call('POST', '/sso', { ...body, domain }),
    )
    expect((await Promise.all(answers)).map(({ status }) => status)).toEqual([200, 404, 404])
  })
})
