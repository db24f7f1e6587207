import { beforeEach, describe, expect, it, vi } from 'vitest'
import { ProviderError } from '../../core/session/session-provider.ts'
import type { Workspace } from '../../core/session/grant.ts'
import { createWorkspaceList } from '../../core/workspaces/workspace-list.ts'
import type { Browser, Visit } from '../../../tests/support/server/browser.ts'
import { accessSample } from '../../../tests/support/server/core/access-sample.ts'
import { start } from '../../../tests/support/server/core/grant-sample.ts'
import { createLoginFixture, type LoginFixture } from '../../../tests/support/server/login-fixture.ts'
import {
  adasPassword,
  capabilitiesSample,
  secondFactorStep,
  signInSample,
  welcomingProvider,
} from '../../../tests/support/server/core/sign-in-sample.ts'

const read = 'notes:read'
const write = 'notes:write'
const asked = `mcp ${read} ${write}`
const scopes = { [read]: 'Read your notes', [write]: 'Change your notes' }
const sales = { id: 'sales', name: 'Sales' }
const legal = { id: 'legal', name: 'Legal' }

let login: LoginFixture
let browser: Browser
let listed: readonly Workspace[] | Error
let hangs: boolean
let needsCode: boolean
/** Scopes that workspaces were listed for. */
let listedFor: string[]
let tokenSeconds: number
/** Access tokens of sessions that were signed out at the provider. */
let signedOut: string[]

const provider = welcomingProvider({
  capabilities: async () => capabilitiesSample({ email: 'both', sso: true }),
  passwordSignIn: async ({ password }) => {
    if (password === 'wrong') throw new ProviderError('invalid_credentials', 'no')
    return step()
  },
  socialFinish: async () => step(),
  emailStart: async () => ({ secret: 'secret' }),
  ssoStart: async () => ({ url: 'https://provider/sso', secret: 'secret' }),
  verifySecondFactor: async () => signInSample('ada'),
  signOut: async ({ accessToken }) => void signedOut.push(accessToken),
})

function step() {
  return needsCode
    ? secondFactorStep([{ id: 'phone', label: 'My phone' }])
    : ({ kind: 'signed_in', signIn: signInSample('ada', start + tokenSeconds) } as const)
}

beforeEach(async () => {
  listed = [sales, legal]
  hangs = false
  needsCode = false
  listedFor = []
  tokenSeconds = 3600
  signedOut = []
  login = await createLoginFixture(provider, { scopes, workspaces: list() })
  browser = login.browser()
})

function list() {
  return createWorkspaceList(
    async ({ scope }) => {
      listedFor.push(scope)
      if (hangs) await new Promise(() => {})
      if (listed instanceof Error) throw listed
      return listed
    },
    () => {},
  )
}

const open = (scope = asked, clientId = 'mcpc_public', by = browser): Promise<Visit> => {
  const url = login.authorizeUrl()
  url.searchParams.set('scope', scope)
  url.searchParams.set('client_id', clientId)
  return by.visit(url)
}

const signIn = async (fields: Record<string, string | string[]> = {}): Promise<Visit> =>
  browser.submit(await open(), 'password', { ...adasPassword, ...fields })

/** Client, scope and workspace of each grant to be. */
async function granted(): Promise<string[]> {
  const { store, runtime } = login.shared
  const codes = await store.listUnredeemedCodes(undefined, { now: runtime.now(), limit: 99 })
  return codes.map(({ grant }) => `${grant.clientId} ${grant.scope} @${grant.workspace?.id ?? ''}`)
}

const boxesOf = ({ html }: Visit): string[] =>
  [...html.matchAll(/type="checkbox"\s+name="scope"\s+value="([^"]*)"\s*(checked)?/g)].map(
    ([, scope = '', ticked]) => `${ticked ? '+' : '-'}${scope}`,
  )

/** Each page of a sign-in, with what its form sends. */
const steps: Record<string, () => Promise<[page: Visit, field: string, fields: Record<string, string>]>> = {
  'the password': async () => [await open(), 'password', { ...adasPassword }],
  'a social sign-in': async () => [await open(), 'provider', { provider: 'google' }],
  'single sign-on': async () => [await open(), 'password', { action: 'sso', email: 'example.com' }],
  'a mail': async () => [await open(), 'password', { action: 'email', email: 'ada@example.com' }],
  cancelling: async () => [await open(), 'action', { action: 'deny' }],
  'a second password': async () => [
    await browser.submit(await open(), 'password', { ...adasPassword, password: 'wrong' }),
    'password',
    { ...adasPassword },
  ],
  'the code of the second factor': async () => {
    needsCode = true
    return [await signIn(), 'code', { code: '123456' }]
  },
  'the workspace': async () => [await signIn(), 'workspace', { workspace: 'sales' }],
  'the retry of a list': async () => {
    listed = new Error('down')
    const page = await signIn()
    listed = [sales]
    return [page, 'transaction', {}]
  },
}

describe('a hostile person or page', () => {
  it.each(Object.keys(steps))(
    'a scope that was not asked for is refused and recorded at each step of a sign-in: with %s',
    async (name) => {
      const [page, field, fields] = (await steps[name]?.()) ?? []
      if (!page || field === undefined) throw new Error('There is no such step.')
      const refused = await browser.submit(page, field, { ...fields, scope: [read, 'notes:admin'] })
      expect(refused.status).toBe(400)
      expect(refused.html).toContain('This choice is not possible')
      expect(login.logged()).toContain('{"event":"choice_refused","client_id":"mcpc_public","field":"scope"}')
      expect(await granted()).toEqual([])
    },
  )

  it.each(Object.keys(steps).filter((name) => name !== 'the workspace'))(
    'a workspace that is posted before the user is asked for one gives nothing: with %s',
    async (name) => {
      const [page, field, fields] = (await steps[name]?.()) ?? []
      if (!page || field === undefined) throw new Error('There is no such step.')
      await browser.submit(page, field, { ...fields, workspace: 'foreign' })
      expect((await granted()).join()).not.toContain('foreign')
      expect((await granted()).filter((text) => !text.endsWith('@sales'))).toEqual([])
    },
  )

  it.each<[what: string, name: string, fields: Record<string, string | string[]>]>([
    ['on the page of the code', 'the code of the second factor', { scope: [read, write] }],
    ['on the page of the workspaces', 'the workspace', { scope: [read, write] }],
  ])('a scope that was left out cannot be ticked later, %s', async (_what, name, fields) => {
    needsCode = name.includes('code')
    const page = await signIn({ scope: [] })
    const next = await browser.submit(page, needsCode ? 'code' : 'workspace', {
      ...(needsCode ? { code: '123456' } : { workspace: 'sales' }),
      ...fields,
    })
    if (needsCode) await browser.submit(next, 'workspace', { workspace: 'sales', ...fields })
    expect(await granted()).toEqual(['mcpc_public mcp @sales'])
  })

  it('the pages after the choice say what was left ticked, and the app is asked for its workspaces with that scope', async () => {
    needsCode = true
    const codePage = await signIn({ scope: [read] })
    const page = await browser.submit(codePage, 'code', { code: '123456' })
    for (const { html } of [codePage, page]) {
      expect(html).toContain('Read your notes')
      expect(html).not.toContain('Change your notes')
    }
    expect(listedFor).toEqual([`mcp ${read}`])
  })

  it('the workspace page is completed once by parallel and repeated posts of different workspaces', async () => {
    const page = await signIn()
    const posts = Array.from({ length: 12 }, (_, index) =>
      browser.submit(page, 'workspace', { workspace: index % 2 === 0 ? 'sales' : 'legal' }),
    )
    const visits = await Promise.all(posts)
    expect(visits.filter(({ url }) => url.searchParams.has('code'))).toHaveLength(1)
    expect(visits.filter(({ status }) => status === 500)).toEqual([])
    expect(await granted()).toHaveLength(1)
    expect(signedOut).toEqual([])
  })

  it('a workspace page that is posted twenty times without a choice ends its sign-in, and the session is signed out', async () => {
    let page = await signIn()
    for (let post = 0; post < 20; post += 1) page = await browser.submit(page, 'transaction', {})
    expect(page.html).toContain('name="workspace"')
    page = await browser.submit(page, 'workspace', { workspace: 'sales' })
    expect(page.html).toContain('That sign-in expired')
    expect(await login.toSignOut()).toHaveLength(1)
    expect(await granted()).toEqual([])
  })

  it('cancelling while another tab chooses gives one of both, and never leaves a session behind', async () => {
    const page = await signIn()
    await Promise.all([
      browser.submit(page, 'workspace', { workspace: 'sales' }),
      browser.submit(page, 'action', { action: 'deny' }),
    ])
    expect((await granted()).length + (await login.toSignOut()).length).toBe(1)
  })

  it('two tabs with two clients and two choices get each their own', async () => {
    const client = await login.shared.store.findClient('mcpc_public')
    if (!client) throw new Error('The client is gone.')
    await login.shared.store.addClient({ ...client, id: 'mcpc_other' })
    const one = await open(`mcp ${read}`)
    const other = await open(`mcp ${write}`, 'mcpc_other')
    const onePage = await browser.submit(one, 'password', { ...adasPassword, scope: [] })
    const otherPage = await browser.submit(other, 'password', { ...adasPassword, scope: [write] })
    await browser.submit(onePage, 'workspace', { workspace: 'legal' })
    await browser.submit(otherPage, 'workspace', { workspace: 'sales' })
    expect((await granted()).toSorted()).toEqual([`mcpc_other mcp ${write} @sales`, 'mcpc_public mcp @legal'])
  })

  it('a choice made before a social sign-in holds when the browser comes back in another tab', async () => {
    const tab = await open()
    await browser.submit(tab, 'provider', { provider: 'google', scope: [write] })
    await open()
    const page = await browser.visit('http://localhost:8787/oauth/callback?code=social')
    expect(page.html).not.toContain('Read your notes')
    await browser.submit(page, 'workspace', { workspace: 'sales' })
    expect(await granted()).toEqual([`mcpc_public mcp ${write} @sales`])
  })

  it('names of workspaces as hostile text are inert on the page', async () => {
    const hostile = [
      '"><script>alert(1)</script>',
      "'><img src=x onerror=alert(1)>",
      '</fieldset></form><form action="https://evil.example">',
      '\u202Eevil\u2066',
      'a\0b\r\nSet-Cookie: x=1',
      '{{constructor}} ${7*7} %s',
      '\uD83D',
      'x'.repeat(5000),
    ].map((name, index) => ({ id: `w"'<&${index}`, name }))
    listed = hostile
    const page = await signIn()
    expect(page.html.match(/type="radio"/g)).toHaveLength(hostile.length)
    expect(page.html).not.toMatch(/<script>alert|<img|action="https:\/\/evil/)
    expect(page.html.match(/<bdi>/g)?.length).toBeGreaterThanOrEqual(hostile.length)
    expect(page.html).not.toContain('x'.repeat(201))
    const done = await browser.submit(page, 'workspace', { workspace: `w"'<&4` })
    expect(done.url.searchParams.has('code')).toBe(true)
    expect(login.logged()).not.toContain('alert(1)')
    expect(await granted()).toEqual([`mcpc_public ${asked} @w"'<&4`])
  })

  it('a thousand workspaces are a page, whose last one can be chosen; one more is a page to try again', async () => {
    listed = Array.from({ length: 1000 }, (_, index) => ({ id: `w${index}`, name: `Workspace ${index}` }))
    const page = await signIn()
    expect(page.html.match(/type="radio"/g)).toHaveLength(1000)
    await browser.submit(page, 'workspace', { workspace: 'w999' })
    expect(await granted()).toEqual([`mcpc_public ${asked} @w999`])
    listed = [...listed, sales]
    expect((await signIn()).status).toBe(503)
  })

  it('a list that lies, with other ids each time, gives no code for what is not listed now', async () => {
    const page = await signIn()
    listed = [{ id: 'new-1', name: 'Sales' }, legal]
    expect((await browser.submit(page, 'workspace', { workspace: 'sales' })).status).toBe(400)
    listed = []
    const none = await browser.submit(page, 'workspace', { workspace: 'sales' })
    expect(none.status).toBe(400)
    expect(await granted()).toEqual([])
  })

  it.each<[what: string, cookie: string]>([
    ['empty', ''],
    ['made up', 'a.b.c'],
    ['as long as a jar can be', 'x'.repeat(4000)],
  ])('a cookie with the choices that is %s hides no box', async (_what, cookie) => {
    const request = new Request(login.authorizeUrl(), { headers: { cookie: `drawbridge-choices=${cookie}` } })
    const url = new URL(request.url)
    url.searchParams.set('scope', asked)
    const html = await (await login.fetch(new Request(url, request))).text()
    expect(boxesOf({ html } as Visit)).toEqual([`+${read}`, `+${write}`])
  })

  it('the choices of one server mean nothing at another with other keys', async () => {
    await browser.submit(await signIn({ scope: [] }), 'workspace', { workspace: 'sales' })
    const other = await createLoginFixture(provider, { scopes })
    const url = other.authorizeUrl()
    url.searchParams.set('scope', asked)
    const cookie = browser.cookieHeader('http://localhost:8787/')
    expect(cookie).toContain('drawbridge-choices=')
    const html = await (await other.fetch(new Request(url, { headers: { cookie } }))).text()
    expect(boxesOf({ html } as Visit)).toEqual([`+${read}`, `+${write}`])
  })
})

describe('a client that comes back', () => {
  async function connect(scope: string, ticked: string[]): Promise<Visit> {
    const page = await open(scope)
    const next = await browser.submit(page, 'password', { ...adasPassword, scope: ticked })
    await browser.submit(next, 'workspace', { workspace: 'sales' })
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
    return page
  }

  it('a client that comes back with fewer scopes gets no more than those, without a box', async () => {
    await connect(asked, [read, write])
    const page = await open(`mcp ${read}`)
    expect(boxesOf(page)).toEqual([])
    const next = await browser.submit(page, 'password', adasPassword)
    await browser.submit(next, 'workspace', { workspace: 'sales' })
    expect(await granted()).toEqual([`mcpc_public mcp ${read} @sales`])
  })

  it('a client that comes back with more scopes, after fewer, finds the one that was left out unticked', async () => {
    await connect(asked, [read])
    await connect(`mcp ${read}`, [])
    expect(boxesOf(await open())).toEqual([`-${write}`])
  })

  it('a step-up gives no scope that the access rules have taken away since', async () => {
    await connect(`mcp ${read}`, [read])
    const narrow = await createLoginFixture(provider, {
      scopes,
      workspaces: list(),
      beside: login,
      access: accessSample([{ effect: 'allow', conditions: {}, scopes: ['mcp', read] }]),
    })
    const { shared } = login
    login = narrow
    browser = narrow.browser()
    const next = await browser.submit(await open(), 'password', { ...adasPassword, scope: [read, write] })
    await browser.submit(next, 'workspace', { workspace: 'legal' })
    const codes = await shared.store.listUnredeemedCodes(undefined, { now: shared.runtime.now(), limit: 9 })
    expect(codes.map(({ grant }) => grant.scope)).toEqual([`mcp ${read}`])
  })
})

it('fifty sign-ins at once at an app that hangs get the page to try again after ten seconds, and lose nothing', async () => {
  const browsers = Array.from({ length: 50 }, () => login.browser())
  // Passwords of one account are limited.
  for (const by of browsers)
    await by.submit(await open(asked, 'mcpc_public', by), 'provider', { provider: 'google' })
  hangs = true
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  let waiting: Visit[]
  try {
    const posts = browsers.map((by) => by.visit('http://localhost:8787/oauth/callback?code=social'))
    while (vi.getTimerCount() < 50) await new Promise((resolve) => setImmediate(resolve))
    await vi.advanceTimersByTimeAsync(10_000)
    waiting = await Promise.all(posts)
  } finally {
    vi.useRealTimers()
  }
  expect(new Set(waiting.map(({ status }) => status))).toEqual(new Set([503]))
  hangs = false
  const lists = await Promise.all(
    browsers.map((by, index) => by.submit(waiting[index] as Visit, 'transaction', {})),
  )
  await Promise.all(
    browsers.map((by, index) => by.submit(lists[index] as Visit, 'workspace', { workspace: 'legal' })),
  )
  expect(await granted()).toHaveLength(50)
})

it('a sign-in waits for its workspace no longer than its access token lives, and is signed out then', async () => {
  tokenSeconds = 120
  const page = await signIn()
  login.runtime.advance(120)
  const late = await browser.submit(page, 'workspace', { workspace: 'sales' })
  expect(late.html).toContain('That sign-in expired')
  await login.shared.store.collectExpired(login.runtime.now(), 100)
  expect(await login.toSignOut()).toHaveLength(1)
  expect(await granted()).toEqual([])
})
