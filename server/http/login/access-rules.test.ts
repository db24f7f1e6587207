import { beforeEach, describe, expect, it } from 'vitest'
import type { AccessRule } from '../../core/access/access-rules.ts'
import { ProviderError, type SessionProvider } from '../../core/session/session-provider.ts'
import type { Browser, Visit } from '../../../tests/support/server/browser.ts'
import { accessSample } from '../../../tests/support/server/core/access-sample.ts'
import {
  adasPassword,
  capabilitiesSample,
  publicClient,
  secondFactorStep,
  signedIn,
  signInSample,
  welcomingProvider,
} from '../../../tests/support/server/core/sign-in-sample.ts'
import { createLoginFixture, type LoginFixture } from '../../../tests/support/server/login-fixture.ts'

const notAda: AccessRule[] = [
  { effect: 'deny', conditions: { sub: ['sub ada'] } },
  { effect: 'allow', conditions: {}, scopes: ['mcp'] },
]
const text = 'This account may not connect here.'

let login: LoginFixture
let browser: Browser
let ended: unknown[]
let name: string

function provider(methods: Partial<SessionProvider> = {}): SessionProvider {
  return welcomingProvider({
    passwordSignIn: async () => signedIn(name),
    socialFinish: async () => signedIn(name),
    signOut: async (session) => void ended.push(session),
    ...methods,
  })
}

async function open(
  given: SessionProvider = provider(),
  access = accessSample(notAda, given),
): Promise<Visit> {
  login = await createLoginFixture(given, { access })
  browser = login.browser('192.0.2.1')
  return login.open(browser)
}

function expectRefused(visit: Visit): void {
  expect(visit.status).toBe(403)
  expect(visit.html).toContain(text)
  expect(ended).toEqual([signInSample('ada').session])
  expect(login.logged()).toContain(
    '"event":"access_denied","client_id":"mcpc_public","sub":"sub ada","rule":1,"reason":"deny_rule"',
  )
  expect(login.logged()).not.toContain('signed_in')
}

beforeEach(() => {
  ended = []
  name = 'ada'
})

const callback = 'http://localhost:8787/oauth/callback?code=social'
const device = 'http://localhost:8787/oauth/device'

const submit = (...given: Parameters<Browser['submit']>): Promise<Visit> => browser.submit(...given)

/** Every way to sign in under these rules, up to the page that follows. */
const waysUnder = (rules: readonly AccessRule[]): Record<string, () => Promise<Visit>> => ({
  password: async () => submit(await openUnder(rules), 'password', adasPassword),
  async social() {
    await submit(await openUnder(rules), 'provider', { provider: 'google' })
    return browser.visit(callback)
  },
  async 'second factor'() {
    const given = provider({
      passwordSignIn: async () => secondFactorStep(),
      verifySecondFactor: async () => signInSample(name),
    })
    const asked = await submit(await openUnder(rules, given), 'password', adasPassword)
    return submit(asked, 'code', { code: '123456' })
  },
})

const openUnder = (rules: readonly AccessRule[], given = provider()): Promise<Visit> =>
  open(given, accessSample(rules, given))

const ways = waysUnder(notAda)

describe('a person whom the access rules refuse', () => {
  it.each(Object.keys(ways))(
    'a refused person who signs in by %s sees why, and the provider session is ended',
    async (way) => {
      expectRefused((await ways[way]?.()) as Visit)
    },
  )

  it('a refused person cannot allow a device, but can deny it', async () => {
    await open()
    const { user_code: userCode, device_code: deviceCode } = await login.startDevice()
    const entered = await submit(await browser.visit(device), 'user_code', { user_code: userCode })
    const refused = await submit(entered, 'password', adasPassword)
    expectRefused(refused)
    expect(await login.pollDevice(deviceCode)).toBe('authorization_pending')
    await submit(refused, 'action', { action: 'deny' })
    login.runtime.advance(10)
    expect(await login.pollDevice(deviceCode)).toBe('access_denied')
  })

  it('a refused person can still see and end connections', async () => {
    await open()
    const account = await browser.visit('http://localhost:8787/account/connections')
    const shown = await submit(account, 'password', adasPassword)
    expect(shown.status).toBe(200)
    expect(shown.html).not.toContain(text)
  })

  it.each(['password', 'social'])(
    'a person who signs in by %s while the rules cannot ask the provider is told to try again later',
    async (way) => {
      let isDown = false
      const answer = async (): Promise<ReturnType<typeof signedIn>> => {
        isDown = true
        return signedIn()
      }
      const given = provider({
        passwordSignIn: answer,
        socialFinish: answer,
        async capabilities() {
          if (isDown) throw new ProviderError('transient', 'down')
          return capabilitiesSample()
        },
      })
      // Only whether the address is verified decides.
      const rules: AccessRule[] = [{ effect: 'allow', conditions: { email: ['*@example.com'] } }]
      const page = await open(given, accessSample(rules, given))
      const away = way === 'social' ? await submit(page, 'provider', { provider: 'google' }) : page
      const stopped =
        way === 'social' ? await browser.visit(callback) : await submit(away, 'password', adasPassword)
      expect(stopped.status).toBe(503)
      expect(ended).toHaveLength(1)
    },
  )
})

describe('a person whom a rule limits to some scopes', () => {
  beforeEach(async () => {
    name = 'eve'
    await open()
  })

  const granted = async (): Promise<string[]> => {
    const codes = await login.shared.store.listUnredeemedCodes(undefined, { now: 0, limit: 10 })
    return codes.map(({ grant }) => grant.scope)
  }

  it('a device gets only the scopes that the rule gives the person', async () => {
    const { user_code: userCode } = await login.startDevice(undefined, 'mcp notes:write')
    const entered = await submit(await browser.visit(device), 'user_code', { user_code: userCode })
    await submit(entered, 'password', adasPassword)
    expect(await granted()).toEqual(['mcp'])
  })

  it('a client gets only the scopes that the rule gives the person', async () => {
    const url = login.authorizeUrl()
    url.searchParams.set('scope', 'mcp notes:write offline_access')
    const left = await submit(await browser.visit(url), 'password', adasPassword)
    expect(left.url.searchParams.has('code')).toBe(true)
    expect(await granted()).toEqual(['mcp offline_access'])
  })
})

it('a client learns whether the rules refused the account or the person cancelled', async () => {
  const said = async (page: Visit) =>
    (await submit(page, 'action', { action: 'deny' })).url.searchParams.get('error_description')
  expect(await said(await open())).toBe('The user refused.')
  expect(await said(await submit(await open(), 'password', adasPassword))).toBe(text)
  const again = await submit(await open(), 'password', adasPassword)
  expect(await said(await submit(again, 'password', { email: 'x', password: '' }))).toBe('The user refused.')
})

describe('a client that the access rules refuse', () => {
  const hosted = 'https://client.example/metadata.json'
  const rules = (client: string): AccessRule[] => [
    { effect: 'deny', conditions: { client: [client] } },
    { effect: 'allow', conditions: {}, scopes: ['mcp'] },
  ]

  /** Opens the login page of the client with this id. */
  async function openFor(id: string, denied: string, given = provider()): Promise<Visit> {
    await open(given, accessSample(rules(denied), given))
    await login.shared.store.addClient(publicClient({ id, redirectUris: ['http://127.0.0.1/callback'] }))
    const url = login.authorizeUrl()
    url.searchParams.set('client_id', id)
    return browser.visit(url)
  }

  it.each([
    ['mcpc_other', 'mcpc_other', 'refused'],
    ['mcpc_other', 'mcpc_public', 'let in'],
    [hosted, 'client.example', 'refused'],
    [hosted, hosted, 'refused'],
    [hosted, 'other.example', 'let in'],
  ])('a sign-in for the client %s while the rules refuse %s is %s', async (id, denied, outcome) => {
    const left = await submit(await openFor(id, denied), 'password', adasPassword)
    if (outcome === 'let in') {
      expect(left.url.searchParams.has('code')).toBe(true)
      return
    }
    expect(left.status).toBe(403)
    expect(left.html).toContain(text)
    expect(ended).toEqual([signInSample('ada').session])
    expect(login.logged()).toContain(
      `"event":"access_denied","client_id":"${id}","sub":"sub ada","rule":1,"reason":"deny_rule"`,
    )
    const refused = await submit(left, 'action', { action: 'deny' })
    expect(refused.url.searchParams.get('error')).toBe('access_denied')
  })

  it.each(Object.keys(ways))('a refused client gets no code by a sign-in by %s', async (way) => {
    expectRefused((await waysUnder(rules('mcpc_public'))[way]?.()) as Visit)
  })

  it('a refused client cannot be allowed as a device, and one confined to a scope gets only that', async () => {
    const given = provider()
    const enter = async (access: readonly AccessRule[]): Promise<{ page: Visit; deviceCode: string }> => {
      await open(given, accessSample(access, given))
      const { user_code: userCode, device_code: deviceCode } = await login.startDevice(
        undefined,
        'mcp notes:write',
      )
      const entered = await submit(await browser.visit(device), 'user_code', { user_code: userCode })
      return { page: await submit(entered, 'password', adasPassword), deviceCode }
    }
    const refused = await enter(rules('mcpc_public'))
    expectRefused(refused.page)
    expect(await login.pollDevice(refused.deviceCode)).toBe('authorization_pending')
    const confined = await enter([
      { effect: 'allow', conditions: { client: ['mcpc_public'] }, scopes: ['mcp'] },
      { effect: 'allow', conditions: {} },
    ])
    expect(confined.page.status).toBe(200)
    const codes = await login.shared.store.listUnredeemedCodes(undefined, { now: 0, limit: 10 })
    expect(codes.map(({ grant }) => grant.scope)).toEqual(['mcp'])
    expect(await login.pollDevice(confined.deviceCode)).toBe('approved')
  })

  it('a person whose client is refused still sees and ends connections', async () => {
    await open(provider(), accessSample(rules('mcpc_public')))
    const account = await browser.visit('http://localhost:8787/account/connections')
    expect((await submit(account, 'password', adasPassword)).status).toBe(200)
  })
})
