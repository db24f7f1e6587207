import { describe, expect, it } from 'vitest'
import { createFakeRuntime, type FakeRuntime } from '../../../tests/support/server/fake-runtime.ts'
import { start } from '../../../tests/support/server/core/grant-sample.ts'
import { createCapabilities, type OfferedMethods } from './capabilities.ts'

const google = { id: 'google', label: 'Google' }
const everything: OfferedMethods = { social: undefined, captcha: undefined, password: true, email: undefined }

function open(settings: unknown, offered: OfferedMethods = everything) {
  const runtime: FakeRuntime = createFakeRuntime(start)
  const api = { settings, asked: 0, failing: false }
  const capabilities = createCapabilities(
    async () => {
      api.asked += 1
      if (api.failing) throw new Error('The API is down.')
      return api.settings
    },
    offered,
    runtime,
  )
  return { runtime, api, capabilities }
}

describe('what the provider reports', () => {
  it.each<[what: string, external: Record<string, unknown>, password: boolean, social: object[]]>([
    ['email and google', { email: true, google: true, github: false }, true, [google]],
    ['no email', { email: false, google: true }, false, [google]],
    ['nothing', {}, false, []],
    ['a switch that is no boolean', { email: 'true', google: 1 }, false, []],
    [
      'what is no button',
      { phone: true, anonymous_users: true, saml: true, web3_solana: true, passkeys: true },
      false,
      [],
    ],
    ['another method', { azure: true }, false, [{ id: 'azure', label: 'Microsoft' }]],
  ])(
    'the login page offers the methods that the provider reports: %s',
    async (_what, external, password, social) => {
      expect(await open({ external }).capabilities()).toMatchObject({ password, social, captcha: undefined })
    },
  )

  it.each([[{}], [null], [undefined], [[]], [{ external: [] }], [{ external: 'google' }]])(
    'the capabilities %j are a protocol failure',
    async (settings) => {
      await expect(open(settings).capabilities()).rejects.toMatchObject({ failure: 'protocol' })
    },
  )
})

it.each<[settings: object, confirmsEmail: boolean, sso: boolean]>([
  [{ mailer_autoconfirm: false }, true, false],
  [{ mailer_autoconfirm: true, saml_enabled: true }, false, true],
  [{ mailer_autoconfirm: 'false', saml_enabled: 'true' }, false, false],
  [{ external: { saml: true, sso: true } }, false, false],
])(
  'whether an address is confirmed, and whether there is single sign-on: %j: %s, %s',
  async (settings, confirmsEmail, sso) => {
    expect(await open({ external: {}, ...settings }).capabilities()).toMatchObject({ confirmsEmail, sso })
  },
)

it('Google comes first, and the others in the order of the provider', async () => {
  const { social } = await open({ external: { github: true, azure: true, google: true } }).capabilities()
  expect(social.map(({ id }) => id)).toEqual(['google', 'github', 'azure'])
})

describe('what is configured', () => {
  it('the configuration decides about social methods', async () => {
    const { capabilities } = open({ external: { email: true, google: true } }, { ...everything, social: [] })
    expect(await capabilities()).toMatchObject({ password: true, social: [] })
    const other = open({ external: { email: true } }, { ...everything, social: ['keycloak', 'google'] })
    expect((await other.capabilities()).social).toEqual([{ id: 'keycloak', label: 'Keycloak' }, google])
  })

  it('the configuration decides about the password and about mails, if the provider has an email sign-in', async () => {
    const own = { ...everything, password: false, email: 'code' } as const
    const ofEmail = async (email: boolean) => open({ external: { email } }, own).capabilities()
    expect(await ofEmail(true)).toMatchObject({ password: false, email: 'code' })
    expect(await ofEmail(false)).toMatchObject({ password: false, email: undefined })
  })

  it('the configuration names the captcha that the provider demands, which does not report it', async () => {
    const captcha = { kind: 'turnstile', siteKey: '1x00000000000000000000AA' } as const
    const { capabilities } = open({ external: { email: true } }, { ...everything, captcha })
    expect((await capabilities()).captcha).toEqual(captcha)
  })
})

describe('asking', () => {
  it('capabilities are requested once a minute, and once for concurrent callers', async () => {
    const { runtime, api, capabilities } = open({ external: { email: true } })
    await Promise.all([capabilities(), capabilities(), capabilities()])
    expect(api.asked).toBe(1)
    api.settings = { external: { azure: true } }
    runtime.advance(59)
    expect((await capabilities()).password).toBe(true)
    runtime.advance(1)
    expect((await capabilities()).password).toBe(false)
    expect(api.asked).toBe(2)
  })

  it('a failed request for capabilities leaves the last answer in use for a minute more', async () => {
    const { runtime, api, capabilities } = open({ external: { email: true } })
    await capabilities()
    api.failing = true
    runtime.advance(61)
    const both = await Promise.all([capabilities(), capabilities()])
    expect(both.map(({ password }) => password)).toEqual([true, true])
    expect(api.asked).toBe(2)
    api.settings = { external: {} }
    api.failing = false
    expect((await capabilities()).password).toBe(true)
    runtime.advance(60)
    expect((await capabilities()).password).toBe(false)
  })

  it('a first request for capabilities that fails is repeated for the next caller', async () => {
    const { api, capabilities } = open({ external: { email: true } })
    api.failing = true
    await expect(capabilities()).rejects.toThrow('The API is down.')
    api.failing = false
    expect((await capabilities()).password).toBe(true)
  })
})

it.each([
  ['google', 'Google'],
  ['azure', 'Microsoft'],
  ['linkedin_oidc', 'LinkedIn'],
  ['something_new', 'Something new'],
  ['custom:acme-sso', 'Acme sso'],
  ['custom:', 'Custom:'],
  ['constructor', 'Constructor'],
])('the social sign-in method %s is called %s', async (id, label) => {
  const { capabilities } = open({ external: { [id]: true } }, { ...everything, social: [id] })
  expect((await capabilities()).social).toEqual([{ id, label }])
})
