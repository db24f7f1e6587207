import { ProviderError } from '../../core/session/session-provider.ts'
import { beforeEach, describe, expect, it } from 'vitest'
import type { Browser, Visit } from '../../../tests/support/server/browser.ts'
import { createLoginFixture, type LoginFixture } from '../../../tests/support/server/login-fixture.ts'
import {
  adasPassword,
  signInSample,
  welcomingProvider,
} from '../../../tests/support/server/core/sign-in-sample.ts'
import { accessSample } from '../../../tests/support/server/core/access-sample.ts'

const write = 'notes:write'
const read = 'notes:read'
const asked = `mcp ${read} ${write}`

let login: LoginFixture
let browser: Browser
/** How the first step of a sign-in ends. */
let fails: boolean

beforeEach(async () => {
  fails = false
  login = await createLoginFixture(
    welcomingProvider({
      passwordSignIn: async () => ({ kind: 'signed_in', signIn: signInSample('ada') }),
      socialFinish: async () => ({ kind: 'signed_in', signIn: signInSample('ada') }),
      signOut: async () => {},
    }),
    { scopes: { [read]: 'Read your notes', [write]: 'Change "your" notes' } },
  )
  browser = login.browser()
})

const open = (scope = asked, by: Browser = browser): Promise<Visit> => {
  const url = login.authorizeUrl()
  url.searchParams.set('scope', scope)
  return by.visit(url)
}

/** The boxes of a page, ticked or not. */
function boxesOf({ html }: Visit): string[] {
  return [...html.matchAll(/<input\s+type="checkbox"\s+name="scope"\s+value="([^"]*)"\s*(checked)?/g)].map(
    ([, scope = '', ticked]) => `${ticked ? '+' : '-'}${scope}`,
  )
}

async function granted(): Promise<string[]> {
  const { store, runtime } = login.shared
  const codes = await store.listUnredeemedCodes(undefined, { now: runtime.now(), limit: 9 })
  return codes.map(({ grant }) => grant.scope)
}

/** Redeems the only code, as the client does. */
async function redeem(): Promise<string> {
  const { store, runtime } = login.shared
  const [code] = await store.listUnredeemedCodes(undefined, { now: runtime.now(), limit: 1 })
  const hash = code?.codeHash ?? ''
  const tokens = {
    scope: 'mcp',
    accessHash: `a${hash}`,
    accessExpiresAt: runtime.now() + 60,
    refreshHash: `r${hash}`,
  }
  await store.redeemAuthorizationCode(hash, tokens, runtime.now())
  return code?.grant.id ?? ''
}

const signIn = (at: Visit, fields: Record<string, string | string[]> = {}): Promise<Visit> =>
  browser.submit(at, 'password', { ...adasPassword, ...fields })

describe('the boxes of the login page', () => {
  it.each([
    ['nothing', '', []],
    ['the scope of every client', 'mcp offline_access', []],
    ['one further scope', `mcp ${write}`, [`+${write}`]],
    ['two, and one that is unknown', `${asked} offline_access unknown`, [`+${read}`, `+${write}`]],
  ])(
    'the login page has a ticked box for each optional scope of a client that asks for %s',
    async (_what, scope, boxes) => {
      expect(boxesOf(await open(scope))).toEqual(boxes)
    },
  )

  it('the login page says in plain words what a box and the rest allow', async () => {
    const { html } = await open()
    expect(html).toContain('Change &quot;your&quot; notes')
    expect(html).toMatch(/What signing in allows.*Use the tools of the web app.*Stay connected.*Also allow/s)
    expect(html.match(/Read your notes/g)).toHaveLength(1)
  })

  it.each<[what: string, ticked: string[], left: string]>([
    ['all', [read, write], asked],
    ['one', [write], `mcp ${write}`],
    ['none', [], 'mcp'],
    ['one, with the fixed one', ['mcp', read], `mcp ${read}`],
  ])(
    'the grant has what is left when %s of the boxes are ticked, with any way to sign in',
    async (_what, ticked, left) => {
      await signIn(await open(), { scope: ticked })
      await browser.submit(await open(), 'provider', { provider: 'google', scope: ticked })
      await browser.visit('http://localhost:8787/oauth/callback?code=social')
      expect(await granted()).toEqual([left, left])
    },
  )

  it('the grant has all that was asked for when the page is sent as it came', async () => {
    await signIn(await open(`${asked} offline_access`))
    expect(await granted()).toEqual([`${asked} offline_access`])
  })

  it.each([['notes:admin'], [''], [`${read} ${write}`], ['openid']])(
    'the posted scope %j, which was not asked for, gets a page with 400, no code, and a line in the log',
    async (scope) => {
      const refused = await signIn(await open(), { scope: [read, scope] })
      expect(refused.status).toBe(400)
      expect(refused.html).toContain('This choice is not possible')
      expect(login.logged()).toContain('{"event":"choice_refused","client_id":"mcpc_public","field":"scope"}')
      expect(await granted()).toEqual([])
    },
  )

  it('a posted scope is refused also on a page without boxes', async () => {
    expect((await signIn(await open('mcp'), { scope: write })).status).toBe(400)
    expect(await granted()).toEqual([])
  })

  it('the boxes stay as they were left after a wrong password', async () => {
    login = await createLoginFixture(
      welcomingProvider({
        passwordSignIn: async () => {
          if (fails) throw new ProviderError('invalid_credentials', 'no')
          return { kind: 'signed_in', signIn: signInSample('ada') }
        },
      }),
      { scopes: { [read]: 'Read your notes', [write]: 'Change your notes' } },
    )
    browser = login.browser()
    fails = true
    const failed = await signIn(await open(), { scope: [write] })
    expect(boxesOf(failed)).toEqual([`-${read}`, `+${write}`])
    fails = false
    await signIn(failed)
    expect(await granted()).toEqual([`mcp ${write}`])
  })

  it('the access rules take away what a ticked box cannot give', async () => {
    login = await createLoginFixture(
      welcomingProvider({ passwordSignIn: async () => ({ kind: 'signed_in', signIn: signInSample('ada') }) }),
      {
        scopes: { [read]: 'Read', [write]: 'Write' },
        access: accessSample([{ effect: 'allow', conditions: {}, scopes: ['mcp', read] }]),
      },
    )
    browser = login.browser()
    await signIn(await open())
    expect(await granted()).toEqual([`mcp ${read}`])
  })

  it('a device has the same boxes', async () => {
    const device = await login.startDevice(undefined, asked)
    const entry = await browser.visit('http://localhost:8787/oauth/device')
    const page = await browser.submit(entry, 'user_code', { user_code: device.user_code })
    expect(boxesOf(page)).toEqual([`+${read}`, `+${write}`])
    await signIn(page, { scope: [read] })
    expect(await granted()).toEqual([`mcp ${read}`])
  })
})

describe('a step-up', () => {
  it('a step-up shows a box only for what is new, ticked', async () => {
    await signIn(await open(`mcp ${read}`))
    await redeem()
    const page = await open()
    expect(boxesOf(page)).toEqual([`+${write}`])
    expect(page.html).toMatch(/What signing in allows.*Read your notes.*Also allow/s)
    await signIn(page)
    expect(await granted()).toEqual([asked])
  })

  it('a step-up shows a scope that was left out before again, unticked', async () => {
    await signIn(await open(), { scope: [read] })
    await redeem()
    const page = await open()
    expect(boxesOf(page)).toEqual([`-${write}`])
    await signIn(page)
    expect(await granted()).toEqual([`mcp ${read}`])
  })

  it('a scope taken back later has a box again, unticked', async () => {
    await signIn(await open())
    const grantId = await redeem()
    const { store, runtime } = login.shared
    const from = { scope: asked, workspace: undefined }
    await store.changeGrant({ grantId, from, to: { ...from, scope: `mcp ${read}` } }, runtime.now())
    expect(boxesOf(await open())).toEqual([`-${write}`])
  })

  it.each<[what: string, then: (grantId: string) => Promise<unknown>, by?: () => Browser]>([
    [
      'after the grant has ended',
      (id) => login.shared.store.endGrant(id, 'revoked_by_user', login.runtime.now()),
    ],
    ['after 30 days', async () => login.runtime.advance(30 * 86_400)],
    ['in another browser', async () => undefined, () => login.browser()],
  ])('all boxes are there again, ticked, %s', async (_what, then, by = () => browser) => {
    await signIn(await open(), { scope: [read] })
    await then(await redeem())
    expect(boxesOf(await open(asked, by()))).toEqual([`+${read}`, `+${write}`])
  })

  it('a page that was open before the step-up keeps its own boxes', async () => {
    const old = await open()
    await signIn(await open(), { scope: [read] })
    await redeem()
    await signIn(old, { scope: [write] })
    expect(await granted()).toEqual([`mcp ${write}`])
  })

  it('a browser is given no choice to remember by a server without scopes to choose', async () => {
    const cookies = (): string => browser.cookieHeader('http://localhost:8787/')
    await signIn(await open('mcp offline_access'))
    expect(cookies()).toContain('choices')
    login = await createLoginFixture(
      welcomingProvider({ passwordSignIn: async () => ({ kind: 'signed_in', signIn: signInSample('ada') }) }),
      { scopes: {} },
    )
    browser = login.browser()
    await signIn(await open('mcp offline_access'))
    expect(cookies()).not.toContain('choices')
  })

  it('a step-up replaces a grant that its client asked for without a choice', async () => {
    await signIn(await open('mcp'))
    const first = await redeem()
    expect(boxesOf(await open())).toEqual([`+${read}`, `+${write}`])
    expect(await replaced(open())).toBe(first)
  })

  it('a choice for one client says nothing about another, and twelve clients fit into the browser', async () => {
    await signIn(await open(), { scope: [] })
    await redeem()
    for (let index = 0; index < 12; index += 1) {
      const id = `mcpc_${index}`
      const client = await login.shared.store.findClient('mcpc_public')
      if (!client) throw new Error('The client is gone.')
      await login.shared.store.addClient({ ...client, id })
      const url = login.authorizeUrl()
      url.searchParams.set('scope', asked)
      url.searchParams.set('client_id', id)
      const page = await browser.visit(url)
      expect(boxesOf(page)).toEqual([`+${read}`, `+${write}`])
      await signIn(page, { scope: [read] })
      await redeem()
    }
    expect(browser.cookieHeader('http://localhost:8787/').length).toBeLessThan(6000)
  })

  /** Signs in at a page that asks for both scopes. Returns the grant that this replaces. */
  async function replaced(at: Promise<Visit>, by: Browser = browser): Promise<string | undefined> {
    const { store, runtime } = login.shared
    await by.submit(await at, 'password', { ...adasPassword, scope: [read, write] })
    const [code] = await store.listUnredeemedCodes(undefined, { now: runtime.now(), limit: 1 })
    return code && (await store.findAuthorizationCode(code.codeHash))?.replaces
  }

  it('a step-up replaces the last grant of its client in this browser', async () => {
    await signIn(await open(`mcp ${read}`))
    await redeem()
    await signIn(await open(`mcp ${read}`))
    const last = await redeem()
    expect(await replaced(open())).toBe(last)
  })

  it('a sign-in replaces no grant of another browser, nor one of a client of the same name', async () => {
    await signIn(await open(`mcp ${read}`))
    await redeem()
    expect(await replaced(open(asked, login.browser()), login.browser())).toBeUndefined()
    const client = await login.shared.store.findClient('mcpc_public')
    await login.shared.store.addClient({ ...client!, id: 'mcpc_twin' })
    const url = login.authorizeUrl()
    url.searchParams.set('scope', asked)
    url.searchParams.set('client_id', 'mcpc_twin')
    expect(await replaced(browser.visit(url))).toBeUndefined()
  })

  it('a device replaces no grant, and none replaces that of a device, which may be anywhere', async () => {
    const openDevice = async (): Promise<Visit> => {
      const device = await login.startDevice(undefined, asked)
      const entry = await browser.visit('http://localhost:8787/oauth/device')
      return browser.submit(entry, 'user_code', { user_code: device.user_code })
    }
    await signIn(await openDevice(), { scope: [] })
    await redeem()
    expect(await replaced(open())).toBeUndefined()
    await redeem()
    expect(await replaced(openDevice())).toBeUndefined()
  })
})
