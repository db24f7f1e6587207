import { beforeEach, describe, expect, it } from 'vitest'
import type { Browser, Visit } from '../../../tests/support/server/browser.ts'
import { accessSample } from '../../../tests/support/server/core/access-sample.ts'
import {
  createLoginFixture,
  type LoginFixture,
  type LoginFixtureOptions,
} from '../../../tests/support/server/login-fixture.ts'
import {
  publicClient,
  secondFactorStep,
  signedIn,
  signInSample,
  welcomingProvider,
} from '../../../tests/support/server/core/sign-in-sample.ts'
import type { Client } from '../../core/clients/client.ts'
import type { Workspace } from '../../core/session/grant.ts'
import {
  ProviderError,
  type ProviderFailure,
  type SessionProvider,
} from '../../core/session/session-provider.ts'

const signInUrl = 'http://localhost:8788/connect?theme=dark'
const callbackUrl = 'http://localhost:8787/oauth/callback'
const sales = { id: 'sales', name: 'Sales' }
const legal = { id: 'legal', name: 'Legal' }

let login: LoginFixture
let browser: Browser
let workspaces: readonly Workspace[] | undefined
let failure: ProviderFailure | undefined
let finishing: ProviderFailure | undefined
let needsCode: boolean
let proofs: string[]
let redeemed: number
let returns: number
let listedWith: string[]
let signedOut: string[]

/** Takes `ada` as the proof of Ada, and `once-...` as one that may be used once. */
function provider(): SessionProvider {
  return welcomingProvider({
    async appSignIn({ proof, callbackUrl: url, state }) {
      proofs.push(proof)
      if (failure) throw new ProviderError(failure, `The provider says ${failure}.`, { retryAfterSeconds: 7 })
      if (!/^(?:ada|once-.*)$/.test(proof)) throw new ProviderError('invalid_token', 'No proof.')
      const code = `code-${proofs.length}`
      return {
        url: `${url}?code=${code}&state=${state}`,
        secret: code,
        identity: signInSample('ada').identity,
        providerToken: 'app-token',
        ...(proof.startsWith('once-') && { singleUse: proof }),
      }
    },
    async socialFinish({ params, secret }) {
      returns += 1
      if (params.get('code') !== secret) throw new ProviderError('expired', 'Another code.')
      if (finishing) throw new ProviderError(finishing, 'Not now.')
      redeemed += 1
      return needsCode ? secondFactorStep() : signedIn()
    },
    verifySecondFactor: async () => signInSample('ada'),
    signOut: async ({ accessToken }) => void signedOut.push(accessToken),
  })
}

const create = (options: LoginFixtureOptions = {}): Promise<LoginFixture> =>
  createLoginFixture(provider(), {
    signInUrl,
    async workspaces(of) {
      listedWith.push(of.providerToken())
      return workspaces
    },
    ...options,
  })

beforeEach(async () => {
  workspaces = []
  failure = undefined
  finishing = undefined
  needsCode = false
  proofs = []
  redeemed = 0
  returns = 0
  listedWith = []
  signedOut = []
  login = await create()
  browser = login.browser()
})

function requestOf({ url }: Visit): string {
  expect(`${url.origin}${url.pathname}`).toBe('http://localhost:8788/connect')
  return url.searchParams.get('request') ?? ''
}

/** Opens a request of the client with another scope in a browser, and returns what the app's page gets. */
async function begin(scope?: string, at: Browser = browser): Promise<string> {
  const url = login.authorizeUrl()
  if (scope !== undefined) url.searchParams.set('scope', scope)
  return requestOf(await at.visit(url))
}

interface Answer {
  status: number
  body: { redirect_to?: string; error?: string; error_description?: string; workspaces?: unknown }
  headers: Headers
}

async function call(request: Request): Promise<Answer> {
  const response = await login.fetch(request)
  const text = await response.text()
  return { status: response.status, body: JSON.parse(text), headers: response.headers }
}

function post(
  body: object,
  { bearer = 'ada', headers = {} }: { bearer?: string | undefined; headers?: Record<string, string> } = {},
): Promise<Answer> {
  return call(
    new Request('http://localhost:8787/oauth/app', {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${bearer}`, ...headers },
      body: JSON.stringify(body),
    }),
  )
}

const allow = (request: string, more: object = {}): Promise<Answer> => post({ request, allow: true, ...more })

const get = (request: string, headers: Record<string, string> = {}): Promise<Answer> =>
  call(new Request(`http://localhost:8787/oauth/app?request=${encodeURIComponent(request)}`, { headers }))

async function allowedBy(request: string, more: object = {}): Promise<string> {
  const { status, body } = await allow(request, more)
  expect([status, body.error]).toEqual([200, undefined])
  expect(body.redirect_to).toMatch(
    /^http:\/\/localhost:8787\/oauth\/callback\?code=code-\d+&state=[\w-]{22}$/,
  )
  return body.redirect_to ?? ''
}

async function granted() {
  const codes = await login.shared.store.listUnredeemedCodes(undefined, {
    now: login.runtime.now(),
    limit: 9,
  })
  return codes.map(({ grant: { scope, workspace, user } }) => ({ scope, workspace, sub: user.sub }))
}

describe('a sign-in in the web app', () => {
  it('the authorization endpoint sends the browser to SIGN_IN_URL, whose own query stays, without asking the provider', async () => {
    const at = await browser.visit(login.authorizeUrl())
    expect(at.url.searchParams.get('theme')).toBe('dark')
    expect(requestOf(at)).toMatch(/^[\w.-]{100,900}$/)
    expect(proofs).toEqual([])
    expect(browser.cookieHeader(callbackUrl)).toMatch(/drawbridge-browser=/)
  })

  it('a registration whose user is at the app is not trimmed for ten minutes', async () => {
    const { store, runtime } = login.shared
    await store.addClient(publicClient({ id: 'mcpc_new', expiresAt: runtime.now() + 86_400 }))
    const url = login.authorizeUrl()
    url.searchParams.set('client_id', 'mcpc_new')
    requestOf(await browser.visit(url))
    expect(await store.trimClients(0, 10, runtime.now() - 600)).toBe(0)
    runtime.advance(601)
    expect(await store.trimClients(0, 10, runtime.now() - 600)).toBe(1)
  })

  it('one click in the app connects the client', async () => {
    const request = await begin('mcp notes:write')
    const done = await browser.visit(await allowedBy(request))
    expect(`${done.url.origin}${done.url.pathname}`).toBe('http://127.0.0.1:4711/callback')
    expect(Object.fromEntries(done.url.searchParams)).toMatchObject({
      code: expect.any(String),
      state: 'state',
      iss: 'http://localhost:8787',
    })
    expect(await granted()).toEqual([{ scope: 'mcp notes:write', workspace: undefined, sub: 'sub ada' }])
    expect(proofs).toEqual(['ada'])
    expect(signedOut).toEqual([])
  })

  it('no code of the client exists before the browser has returned', async () => {
    await allowedBy(await begin())
    expect(await granted()).toEqual([])
    expect(redeemed).toBe(0)
  })

  it('GET describes the request of a client in plain sentences', async () => {
    const { status, body, headers } = await get(await begin('mcp notes:write offline_access'))
    expect(status).toBe(200)
    expect(headers.get('cache-control')).toBe('no-store')
    expect(body).toEqual({
      client: { name: 'Sample', verified: false, host: null },
      returns_to: '127.0.0.1:4711',
      purpose: 'client',
      sentences: [
        'An app that calls itself “Sample” wants to use your account at Notes. This name is not verified.',
        'A program on this computer is asking. Continue only if you started it.',
        'Stay connected for 30 days without asking you again.',
      ],
      scopes: [
        { value: 'mcp', text: expect.stringMatching(/^Use the tools/), fixed: true },
        { value: 'notes:write', text: 'Change your notes', fixed: false },
      ],
      expires_at: new Date((login.runtime.now() + 600) * 1000).toISOString(),
    })
  })

  const documentId = 'https://assistant.example/client.json'
  it.each<[what: string, client: Partial<Client>, facts: object, returnsTo: string, who: string[]]>([
    [
      'whose host is proven',
      {
        id: documentId,
        kind: 'metadata_document',
        redirectUris: ['https://assistant.example/callback'],
      },
      { name: 'Sample', verified: true, host: 'assistant.example' },
      'assistant.example',
      [
        'assistant.example wants to use your account at Notes. This address is verified.',
        'Afterwards this browser returns to assistant.example.',
      ],
    ],
    [
      'whose host any program can claim',
      { id: documentId, kind: 'metadata_document' },
      { name: 'Sample', verified: false, host: 'assistant.example' },
      '127.0.0.1',
      [
        'An app that calls itself “Sample” wants to use your account at Notes. This name is not verified.',
        'It says it belongs to assistant.example. Any program can claim this.',
        'A program on this computer is asking. Continue only if you started it.',
      ],
    ],
    [
      'that the operator set up',
      { id: 'set-up', kind: 'configured', redirectUris: ['https://tool.example/callback'] },
      { name: 'Sample', verified: true, host: null },
      'tool.example',
      [
        '“Sample” wants to use your account at Notes. The server’s operator set it up.',
        'Afterwards this browser returns to tool.example.',
      ],
    ],
    [
      'whose name continues in our voice',
      { id: 'mcpc_sly', name: 'Notes”. It is verified.\nTrust “it' },
      { name: 'Notes’. It is verified. Trust ’it', verified: false, host: null },
      '127.0.0.1',
      [
        'An app that calls itself “Notes’. It is verified. Trust ’it” wants to use your account at Notes. This name is not verified.',
        'A program on this computer is asking. Continue only if you started it.',
      ],
    ],
  ])(
    'GET says how far a client %s is proven, and where the browser returns',
    async (_what, part, client, returns_to, who) => {
      const { id, redirectUris } = publicClient(part)
      await login.shared.store.addClient(publicClient(part))
      const url = login.authorizeUrl()
      url.searchParams.set('client_id', id)
      url.searchParams.set('redirect_uri', redirectUris[0] ?? '')
      const { body } = await get(requestOf(await browser.visit(url)))
      const sentences = [...who, 'Stay connected for 30 days without asking you again.']
      expect(body).toMatchObject({ client, returns_to, sentences })
    },
  )

  it('GET speaks the language in which the sign-in began', async () => {
    const url = login.authorizeUrl()
    url.searchParams.set('ui_locales', 'de')
    const { body } = await get(requestOf(await browser.visit(url)), { 'accept-language': 'en' })
    expect(JSON.stringify(body)).toContain('möchte Ihr Konto bei Notes verwenden')
  })

  it('POST grants the scopes that are named, the fixed ones always, and all of them without scope', async () => {
    for (const [scope, expected] of [
      [undefined, 'mcp notes:write'],
      ['notes:write', 'mcp notes:write'],
      ['mcp', 'mcp'],
      ['', 'mcp'],
    ] as const) {
      await browser.visit(await allowedBy(await begin('mcp notes:write'), { scope }))
      expect(
        (await granted()).some((grant) => grant.scope === expected),
        String(scope),
      ).toBe(true)
      login = await create()
      browser = login.browser()
    }
  })

  it('POST without scope grants what was left out the last time, too', async () => {
    for (const [scope, expected] of [
      ['mcp', 'mcp'],
      [undefined, 'mcp notes:write'],
    ] as const) {
      const done = await browser.visit(await allowedBy(await begin('mcp notes:write'), { scope }))
      const code = done.url.searchParams.get('code') ?? ''
      const { store, runtime } = login.shared
      const tokens = {
        scope: expected,
        accessHash: code,
        accessExpiresAt: runtime.now() + 60,
        refreshHash: `r${code}`,
      }
      expect(await granted()).toMatchObject([{ scope: expected }])
      const [unredeemed] = await store.listUnredeemedCodes(undefined, { now: runtime.now(), limit: 9 })
      await store.redeemAuthorizationCode(unredeemed?.codeHash ?? '', tokens, runtime.now())
    }
  })

  it.each([
    ['a scope that the client did not ask for', { scope: 'mcp notes:write' }, 'invalid_scope', 'scope'],
    ['a workspace of someone else', { workspace: 'foreign' }, 'invalid_workspace', 'workspace'],
  ])('POST refuses and records %s, and can be sent again', async (_what, more, error, field) => {
    const request = await begin('mcp')
    expect(await allow(request, more)).toMatchObject({ status: 400, body: { error } })
    expect(login.logged()).toContain(
      `{"event":"choice_refused","client_id":"mcpc_public","field":"${field}"}`,
    )
    await allowedBy(request)
  })

  it('POST asks for one of several workspaces, and the client gets that one', async () => {
    workspaces = [sales, legal]
    const request = await begin()
    expect(await allow(request)).toMatchObject({
      status: 400,
      body: { error: 'workspace_required', workspaces: [sales, legal] },
    })
    expect(listedWith).toEqual(['app-token'])
    await browser.visit(await allowedBy(request, { workspace: 'legal' }))
    expect(await granted()).toMatchObject([{ workspace: legal }])
  })

  it('the only workspace needs no choice, and a list that fails is asked for again', async () => {
    workspaces = undefined
    const request = await begin()
    expect(await allow(request)).toMatchObject({ status: 503, body: { error: 'transient' } })
    workspaces = [sales]
    await browser.visit(await allowedBy(request))
    expect(await granted()).toMatchObject([{ workspace: sales }])
  })

  it('a workspace that is new between the click and the return is not asked about', async () => {
    workspaces = [sales]
    const url = await allowedBy(await begin())
    workspaces = [legal, sales]
    expect((await browser.visit(url)).url.searchParams.has('code')).toBe(true)
    expect(await granted()).toMatchObject([{ workspace: sales }])
  })

  it('a workspace that is lost between the click and the return is not granted', async () => {
    workspaces = [sales, legal]
    const url = await allowedBy(await begin(), { workspace: 'legal' })
    workspaces = [sales]
    expect((await browser.visit(url)).status).toBe(400)
    expect(await granted()).toEqual([])
  })

  it('a denial goes back to the client with state and iss, needs no proof, and makes nothing', async () => {
    const { body } = await post({ request: await begin(), allow: false }, { bearer: 'x' })
    const done = await browser.visit(body.redirect_to ?? '')
    expect(Object.fromEntries(done.url.searchParams)).toMatchObject({
      error: 'access_denied',
      state: 'state',
      iss: 'http://localhost:8787',
    })
    expect(proofs).toEqual([])
  })

  it('a denial in another browser denies nothing', async () => {
    const { body } = await post({ request: await begin(), allow: false })
    expect((await login.browser().visit(body.redirect_to ?? '')).status).toBe(400)
  })

  it('a denial in a browser with a sign-in of its own denies neither that nor a device', async () => {
    const device = await login.startDevice('203.0.113.9')
    const entry = await browser.visit('http://localhost:8787/oauth/device')
    const request = requestOf(await browser.submit(entry, 'user_code', { user_code: device.user_code }))
    const { body } = await post({ request, allow: false })
    const victim = login.browser()
    const own = await begin(undefined, victim)
    expect((await victim.visit(body.redirect_to ?? '')).status).toBe(400)
    login.runtime.advance(6)
    expect(await login.pollDevice(device.device_code)).toBe('authorization_pending')
    expect((await victim.visit(await allowedBy(own))).url.searchParams.has('code')).toBe(true)
  })

  it('a device is allowed, or denied, in the app', async () => {
    for (const [allowed, expected] of [
      [true, 'approved'],
      [false, 'access_denied'],
    ] as const) {
      const device = await login.startDevice('203.0.113.9')
      const entry = await browser.visit('http://localhost:8787/oauth/device')
      const request = requestOf(await browser.submit(entry, 'user_code', { user_code: device.user_code }))
      const { body: shown } = await get(request)
      expect(shown).toMatchObject({ purpose: 'device', returns_to: null })
      expect(JSON.stringify(shown)).toContain('203.0.113.9')
      expect(JSON.stringify(shown)).toContain(device.user_code)
      const { body } = await post({ request, allow: allowed })
      expect((await browser.visit(body.redirect_to ?? '')).status).toBe(200)
      login.runtime.advance(6)
      expect(await login.pollDevice(device.device_code)).toBe(expected)
    }
  })

  it('the connections page signs in through the app, and its session at the provider ends', async () => {
    const request = requestOf(await browser.visit('http://localhost:8787/account/connections'))
    expect((await get(request)).body).toMatchObject({ client: null, purpose: 'connections', scopes: [] })
    const page = await browser.visit(await allowedBy(request))
    expect(page.url.pathname).toBe('/account/connections')
    expect(page.html).toContain('ada@example.com')
    expect(signedOut).toEqual([signInSample('ada').session.accessToken])
  })

  it('a personal token is made by one click in the app, whose page says so, with a workspace chosen here', async () => {
    login = await create({ personalTokens: true })
    browser = login.browser()
    workspaces = [sales, legal]
    const first = requestOf(await browser.visit('http://localhost:8787/account/connections'))
    const page = await browser.visit(await allowedBy(first))
    const form = { name: 'CI', days: '7', scope: ['notes:write'], action: 'make_token' }
    const request = requestOf(await browser.submit(page, 'days', form))
    expect((await get(request)).body).toMatchObject({
      purpose: 'connections',
      sentences: [expect.stringContaining('make the token “CI”')],
    })
    const choice = await browser.visit(await allowedBy(request))
    expect(choice.html).not.toMatch(/mcpt_/)
    const made = await browser.submit(choice, 'workspace', { workspace: 'legal' })
    expect(made.html).toMatch(/mcpt_[\w-]{43}/)
    const [record] = await login.shared.store.listGrants(undefined, { after: '', limit: 9 })
    expect(record?.grant).toMatchObject({
      clientId: 'personal_token:CI',
      scope: 'mcp notes:write',
      workspace: legal,
    })
  })

  it('a personal token of an account with a second factor is made only after its code', async () => {
    login = await create({ personalTokens: true })
    browser = login.browser()
    const first = requestOf(await browser.visit('http://localhost:8787/account/connections'))
    const page = await browser.visit(await allowedBy(first))
    needsCode = true
    const form = { name: 'CI', days: '7', action: 'make_token' }
    const asked = await browser.visit(await allowedBy(requestOf(await browser.submit(page, 'days', form))))
    expect(asked.html).not.toMatch(/mcpt_/)
    expect(await login.shared.store.listGrants(undefined, { after: '', limit: 9 })).toEqual([])
    const made = await browser.submit(asked, 'code', { code: '123456' })
    expect(made.html).toMatch(/mcpt_[\w-]{43}/)
  })

  it('a second factor is asked for on our page after the click', async () => {
    needsCode = true
    workspaces = [sales, legal]
    const page = await browser.visit(
      await allowedBy(await begin('mcp notes:write'), { scope: 'mcp', workspace: 'legal' }),
    )
    const done = await browser.submit(page, 'code', { code: '123456' })
    expect(done.url.searchParams.has('code')).toBe(true)
    expect(await granted()).toEqual([{ scope: 'mcp', workspace: legal, sub: 'sub ada' }])
  })

  it('a user whom the access rules refuse is told so, with a link back to the app and a way to cancel', async () => {
    login = await create({
      access: accessSample([{ effect: 'deny', conditions: { email: ['ada@example.com'] } }]),
    })
    browser = login.browser()
    const page = await browser.visit(await allowedBy(await begin()))
    expect(page.status).toBe(403)
    expect(page.html).toContain('This account may not connect here')
    expect(page.html).not.toContain('type="password"')
    const [, href = ''] = /<a class="button primary[^>]*href="([^"]*)"/.exec(page.html) ?? []
    expect(requestOf({ ...page, url: new URL(href.replaceAll('&amp;', '&')) })).not.toBe('')
    const denied = await browser.submit(page, 'transaction', { action: 'deny' })
    expect(denied.url.searchParams.get('error')).toBe('access_denied')
  })

  it('a sign-in that cannot be finished now is still open: the return can be loaded again', async () => {
    const url = await allowedBy(await begin())
    finishing = 'transient'
    const page = await browser.visit(url)
    expect(page.status).toBe(503)
    expect(page.html).toContain('Continue with Notes and allow')
    finishing = undefined
    expect((await browser.visit(url)).url.searchParams.has('code')).toBe(true)
  })
})

describe('an attack on a sign-in in the web app', () => {
  it('session fixation: a return in another browser makes no session, and the browser that began gets nothing any more', async () => {
    const attacker = login.browser()
    const request = await begin(undefined, attacker)
    const url = await allowedBy(request)
    const victim = login.browser()
    expect((await victim.visit(url)).html).toContain('begun in another browser')
    expect((await attacker.visit(url)).status).toBe(400)
    expect(redeemed).toBe(0)
    expect(await granted()).toEqual([])
  })

  it('session fixation: a victim whose browser has a sign-in of its own loses only the foreign one', async () => {
    const attacker = login.browser()
    const url = await allowedBy(await begin(undefined, attacker))
    const own = await allowedBy(await begin())
    expect((await browser.visit(url)).status).toBe(400)
    expect((await attacker.visit(url)).status).toBe(400)
    expect((await browser.visit(own)).url.searchParams.has('code')).toBe(true)
  })

  it('consent phishing: without the code the browser that began gets nothing, nor with a guessed one', async () => {
    const attacker = login.browser()
    const url = new URL(await allowedBy(await begin(undefined, attacker)))
    const state = url.searchParams.get('state') ?? ''
    for (const query of [`state=${state}`, `code=guessed&state=${state}`, 'code=guessed'])
      expect((await attacker.visit(`${callbackUrl}?${query}`)).status).toBe(400)
    expect(redeemed).toBe(0)
  })

  it('login CSRF: the code of another browser does not sign in', async () => {
    const code = new URL(await allowedBy(await begin(undefined, login.browser()))).searchParams.get('code')
    const own = new URL(await allowedBy(await begin()))
    own.searchParams.set('code', code ?? '')
    expect((await browser.visit(own)).status).toBe(400)
    expect(redeemed).toBe(0)
  })

  it('a request is answered once, also when both answers come at the same time', async () => {
    const request = await begin()
    const both = await Promise.all([allow(request), allow(request)])
    expect(both.map(({ status }) => status).toSorted((one, other) => one - other)).toEqual([200, 400])
    expect(await allow(request)).toMatchObject({ status: 400, body: { error: 'invalid_request' } })
    expect(await post({ request, allow: false })).toMatchObject({ status: 400 })
    const url = both.find(({ status }) => status === 200)?.body.redirect_to ?? ''
    expect((await browser.visit(url)).url.searchParams.has('code')).toBe(true)
    expect((await browser.visit(url)).status).toBe(400)
  })

  it('a request can be answered again after two answers at the same time that failed', async () => {
    const request = await begin()
    failure = 'transient'
    const both = await Promise.all([allow(request), allow(request)])
    expect(both.map(({ status }) => status)).toEqual([503, 503])
    failure = undefined
    await allowedBy(request)
  })

  it('a request is answered once over all instances', async () => {
    const other = await create({ beside: login })
    const request = await begin()
    await allowedBy(request)
    login = other
    expect(await allow(request)).toMatchObject({ status: 400 })
  })

  it('a proof that may be used once signs in once, over all requests', async () => {
    expect((await post({ request: await begin(), allow: true }, { bearer: 'once-1' })).status).toBe(200)
    const request = await begin()
    const again = await post({ request, allow: true }, { bearer: 'once-1' })
    expect(again).toMatchObject({ status: 401, body: { error: 'invalid_token' } })
    // The request is not used up by it.
    await allowedBy(request)
    expect((await post({ request: await begin(), allow: true }, { bearer: 'once-2' })).status).toBe(200)
  })

  it('a proof that may be used once is not used up by an answer that needs a workspace', async () => {
    workspaces = [sales, legal]
    const request = await begin()
    const bearer = 'once-3'
    expect((await post({ request, allow: true }, { bearer })).body.error).toBe('workspace_required')
    expect((await post({ request, allow: true, workspace: 'sales' }, { bearer })).status).toBe(200)
  })

  it('a request is over after ten minutes, for GET, POST and a denial', async () => {
    const request = await begin()
    const { body } = await post({ request: await begin(), allow: false })
    login.runtime.advance(599)
    expect((await get(request)).status).toBe(200)
    login.runtime.advance(2)
    expect(await get(request)).toMatchObject({ status: 400, body: { error: 'invalid_request' } })
    expect(await allow(request)).toMatchObject({ status: 400, body: { error: 'invalid_request' } })
    expect((await browser.visit(body.redirect_to ?? '')).status).toBe(400)
    expect(proofs).toEqual([])
  })

  it.each(['', 'made-up', 'x'.repeat(3000)])('a made-up request (%#) is refused', async (request) => {
    expect(await get(request)).toMatchObject({ status: 400, body: { error: 'invalid_request' } })
    expect(await allow(request)).toMatchObject({ status: 400, body: { error: 'invalid_request' } })
  })

  it('the seal of another page is refused as a request', async () => {
    const entry = await browser.visit('http://localhost:8787/oauth/device')
    const [, form = ''] = /name="form" value="([^"]*)"/.exec(entry.html) ?? []
    expect(form).not.toBe('')
    expect(await get(form)).toMatchObject({ status: 400 })
  })

  it.each([
    ['without allow', {}],
    ['with allow as text', { allow: 'true' }],
    ['without a request', { request: undefined, allow: true }],
    ['with a scope that is a list', { allow: true, scope: ['mcp'] }],
  ])('POST %s is refused, and uses nothing up', async (_what, body) => {
    const request = await begin()
    expect(await post({ request, ...body })).toMatchObject({
      status: 400,
      body: { error: 'invalid_request' },
    })
    await allowedBy(request)
  })

  it.each([
    ['no token', ''],
    ['the token of someone else', 'foreign'],
  ])('POST with %s is refused with 401, and can be sent again', async (_what, bearer) => {
    const request = await begin()
    const refused = await post({ request, allow: true }, { bearer })
    expect(refused).toMatchObject({ status: 401, body: { error: 'invalid_token' } })
    expect(refused.headers.get('www-authenticate')).toBe('Bearer error="invalid_token"')
    await allowedBy(request)
  })

  it.each<[ProviderFailure, number, string]>([
    ['transient', 503, 'transient'],
    ['rate_limited', 503, 'transient'],
    ['terminal', 403, 'terminal'],
    ['second_factor_missing', 403, 'second_factor_missing'],
    ['protocol', 403, 'protocol'],
    ['denied', 403, 'denied'],
  ])('POST says what the app can do when the provider fails with %s', async (kind, status, error) => {
    const request = await begin()
    failure = kind
    const answer = await allow(request)
    expect(answer).toMatchObject({ status, body: { error } })
    expect(answer.headers.get('retry-after')).toBe(status === 503 ? '7' : null)
    expect(answer.body.error_description).not.toContain('The provider says')
    failure = undefined
    await allowedBy(request)
  })

  it.each([
    ['https://evil.example', 403, null],
    ['null', 403, null],
    ['http://localhost:8787', 403, null],
    ['http://localhost:8788', 200, 'http://localhost:8788'],
  ])('pages of %s get %i', async (origin, status, allowed) => {
    const request = await begin()
    const shown = await get(request, { origin })
    expect([shown.status, shown.headers.get('access-control-allow-origin')]).toEqual([status, allowed])
    const answer = await post({ request, allow: true }, { headers: { origin } })
    expect([answer.status, answer.headers.get('access-control-allow-origin')]).toEqual([status, allowed])
    const preflight = await login.fetch(
      new Request('http://localhost:8787/oauth/app', {
        method: 'OPTIONS',
        headers: {
          origin,
          'access-control-request-method': 'POST',
          'access-control-request-headers': 'authorization,content-type',
        },
      }),
    )
    expect(preflight.headers.get('access-control-allow-origin')).toBe(allowed)
  })

  it('a client that is removed meanwhile gets nothing', async () => {
    const request = await begin()
    const url = await allowedBy(await begin())
    await login.shared.store.removeClient('mcpc_public')
    expect(await get(request)).toMatchObject({ status: 400 })
    expect(await allow(request)).toMatchObject({ status: 400 })
    expect((await browser.visit(url)).status).toBe(400)
    expect(signedOut).toHaveLength(1)
  })

  it('answers with one proof are limited to ten a minute, and those of others are not', async () => {
    failure = 'terminal'
    const request = await begin()
    for (let tries = 0; tries < 10; tries += 1) expect((await allow(request)).status).toBe(403)
    expect(await allow(request)).toMatchObject({ status: 503, body: { error: 'transient' } })
    expect(proofs).toHaveLength(10)
    failure = undefined
    expect((await post({ request, allow: true }, { bearer: 'once-9' })).status).toBe(200)
    login.runtime.advance(61)
    expect((await allow(await begin())).status).toBe(200)
  })

  it('answers without a proof are refused however many there are, and the provider is not asked', async () => {
    const request = await begin()
    for (let tries = 0; tries < 11; tries += 1)
      expect((await post({ request, allow: true }, { bearer: '' })).status).toBe(401)
    expect(proofs).toEqual([])
  })

  it('five sign-ins of one browser can be under way, each returns to its own client request', async () => {
    const urls: string[] = []
    for (let tab = 0; tab < 5; tab += 1) urls.push(await allowedBy(await begin()))
    for (const url of urls.toReversed())
      expect((await browser.visit(url)).url.searchParams.has('code')).toBe(true)
    expect([redeemed, returns]).toEqual([5, 5])
  })

  it('no secret, proof, code or request is logged', async () => {
    const request = await begin()
    const url = new URL(await allowedBy(request))
    await post({ request, allow: true }, { bearer: 'stolen-bearer' })
    await browser.visit(url)
    for (const secret of [request, 'stolen-bearer', url.searchParams.get('code') ?? '', 'app-token'])
      expect(login.logged()).not.toContain(secret)
  })
})
