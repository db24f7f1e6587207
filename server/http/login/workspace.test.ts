import { beforeEach, describe, expect, it } from 'vitest'
import type { SessionProvider } from '../../core/session/session-provider.ts'
import type { Grant, Workspace } from '../../core/session/grant.ts'
import { addGrant, grantSample } from '../../../tests/support/server/core/grant-sample.ts'
import { type WorkspaceUser, createWorkspaceList } from '../../core/workspaces/workspace-list.ts'
import type { Browser, Visit } from '../../../tests/support/server/browser.ts'
import { createLoginFixture, type LoginFixture } from '../../../tests/support/server/login-fixture.ts'
import {
  adasPassword,
  secondFactorStep,
  signInSample,
  welcomingProvider,
} from '../../../tests/support/server/core/sign-in-sample.ts'

const sales = { id: 'sales', name: 'Sales' }
const legal = { id: 'legal', name: '"><script>alert(1)</script> \u202E' }

let login: LoginFixture
let browser: Browser
/** What the app answers, or fails with. */
let answer: readonly Workspace[] | Error
let asked: WorkspaceUser[]
let failures: string[]
let signedOut: string[]
let needsCode: boolean

function provider(): SessionProvider {
  const step = () =>
    needsCode
      ? secondFactorStep([{ id: 'phone', label: 'My phone' }])
      : ({ kind: 'signed_in', signIn: signInSample('ada') } as const)
  return welcomingProvider({
    passwordSignIn: async () => step(),
    socialFinish: async () => step(),
    verifySecondFactor: async () => signInSample('ada'),
    signOut: async ({ accessToken }) => void signedOut.push(accessToken),
  })
}

beforeEach(async () => {
  answer = [sales, legal]
  asked = []
  failures = []
  signedOut = []
  needsCode = false
  login = await createLoginFixture(provider(), {
    workspaces: createWorkspaceList(
      async (of) => {
        asked.push(of)
        if (answer instanceof Error) throw answer
        return answer
      },
      (event, fields) => void failures.push(JSON.stringify({ event, ...fields })),
    ),
  })
  browser = login.browser()
})

const signIn = async (): Promise<Visit> => browser.submit(await login.open(browser), 'password', adasPassword)

const choose = (at: Visit, fields: Record<string, string>): Promise<Visit> =>
  browser.submit(at, 'workspace', fields)

const retry = (at: Visit): Promise<Visit> => browser.submit(at, 'transaction', {})

/** Returns the workspace of what the client would get, once it has a code. */
async function granted(): Promise<(string | undefined)[]> {
  const codes = await login.shared.store.listUnredeemedCodes(undefined, {
    now: login.runtime.now(),
    limit: 9,
  })
  return codes.map(({ grant }) => grant.workspace?.id)
}

/** Returns what the client would get of a sign-in that is left at its code. */
async function grantOfSignIn(): Promise<Grant | undefined> {
  await choose(await signIn(), { workspace: 'legal' })
  const { store, runtime } = login.shared
  const [code] = await store.listUnredeemedCodes(undefined, { now: runtime.now(), limit: 9 })
  return code?.grant
}

describe('a sign-in where the app lists workspaces', () => {
  it.each<[what: string, listed: readonly Workspace[], expected: string | undefined]>([
    ['none', [], undefined],
    ['one', [legal], 'legal'],
  ])('the login asks for no workspace where the user is in %s', async (_what, listed, expected) => {
    answer = listed
    const done = await signIn()
    expect(done.url.searchParams.has('code')).toBe(true)
    expect(await granted()).toEqual([expected])
    expect(asked).toHaveLength(1)
    expect(asked[0]).toMatchObject({ user: { sub: 'sub ada' }, clientId: 'mcpc_public' })
    expect(asked[0]?.providerToken()).toBe(signInSample('ada').session.accessToken)
  })

  it('the login asks for one of several workspaces after the sign-in, with none chosen, and grants that one', async () => {
    const page = await signIn()
    expect(page.status).toBe(200)
    expect(page.html).toMatch(/<input\s+type="radio"\s+name="workspace"\s+value="sales"\s+required\s*\/>/)
    expect(page.html).not.toMatch(/\schecked/)
    expect(page.html).not.toContain('<script>alert')
    expect(page.html).toContain('127.0.0.1')
    expect(await granted()).toEqual([])
    const done = await choose(page, { workspace: 'legal' })
    expect(done.url.searchParams.has('code')).toBe(true)
    expect(await granted()).toEqual(['legal'])
    expect(signedOut).toEqual([])
    expect(await login.toSignOut()).toEqual([])
  })

  it('the login asks for a workspace after the second factor and after a social sign-in too', async () => {
    needsCode = true
    const codePage = await signIn()
    const page = await browser.submit(codePage, 'code', { code: '123456' })
    expect((await choose(page, { workspace: 'sales' })).url.searchParams.has('code')).toBe(true)
    needsCode = false
    await browser.submit(await login.open(browser), 'provider', { provider: 'google' })
    const social = await browser.visit('http://localhost:8787/oauth/callback?code=social')
    expect((await choose(social, { workspace: 'legal' })).url.searchParams.has('code')).toBe(true)
    expect(new Set(await granted())).toEqual(new Set(['legal', 'sales']))
  })

  it('the login chooses what the same client got before, for the same user only', async () => {
    await choose(await signIn(), { workspace: 'legal' })
    const { store, runtime } = login.shared
    const [code] = await store.listUnredeemedCodes(undefined, { now: runtime.now(), limit: 9 })
    const tokens = { scope: 'mcp', accessHash: 'a', accessExpiresAt: runtime.now() + 60, refreshHash: 'r' }
    await store.redeemAuthorizationCode(code?.codeHash ?? '', tokens, runtime.now())
    expect((await signIn()).html).toMatch(/value="legal"\s+checked\s+required/)
    await store.endGrant(code?.grant.id ?? '', 'revoked_by_user', runtime.now())
    expect((await signIn()).html).not.toMatch(/\schecked/)
  })

  it('the login chooses by the last of several connections of the client, whatever other clients got', async () => {
    const { store } = login.shared
    const { user } = (await grantOfSignIn()) ?? {}
    const connections = [
      ['a', 'client of another kind', legal, 40],
      ['b', 'mcpc_public', legal, 10],
      ['c', 'mcpc_public', sales, 20],
      ['d', 'client of another kind', legal, 30],
    ] as const
    for (const [name, clientId, workspace, after] of connections) {
      const createdAt = login.runtime.now() + after - 60
      await addGrant(store, grantSample(name, { user: user!, clientId, workspace, createdAt }))
    }
    expect((await signIn()).html).toMatch(/value="sales"\s+checked\s+required/)
  })

  it.each(['other', '', 'Sales', 'sales '])(
    'the login refuses the posted workspace %j, which is not of the user, without a code, and says so in the log',
    async (workspace) => {
      const refused = await choose(await signIn(), { workspace })
      expect(refused.status).toBe(400)
      expect(refused.html).toContain('This choice is not possible')
      expect(login.logged()).toContain(
        '{"event":"choice_refused","client_id":"mcpc_public","field":"workspace"}',
      )
      expect(await granted()).toEqual([])
    },
  )

  it('the login refuses a workspace that the user has left since the page was shown', async () => {
    const page = await signIn()
    answer = [sales, { id: 'new', name: 'New' }]
    expect((await choose(page, { workspace: 'legal' })).status).toBe(400)
    answer = [sales]
    expect((await choose(page, { workspace: 'legal' })).status).toBe(400)
    expect((await choose(page, { workspace: 'sales' })).url.searchParams.has('code')).toBe(true)
  })

  it('a form without a choice shows the workspaces again', async () => {
    const page = await choose(await signIn(), {})
    expect(page.status).toBe(200)
    expect(page.html).toContain('value="sales"')
    expect(await granted()).toEqual([])
  })

  it('a sign-in survives an app that cannot list its workspaces: the page tries again', async () => {
    answer = new Error('the message of the app')
    const page = await signIn()
    expect(page.status).toBe(503)
    expect(page.html).toContain('Your workspaces cannot be listed right now')
    expect(page.html).not.toContain('the message of the app')
    expect(failures).toEqual(['{"event":"workspaces_failed","message":"the message of the app"}'])
    const still = await retry(page)
    expect(still.status).toBe(503)
    answer = [sales, legal]
    const list = await retry(still)
    expect(list.html).toContain('value="sales"')
    expect((await choose(list, { workspace: 'sales' })).url.searchParams.has('code')).toBe(true)
    expect(await granted()).toEqual(['sales'])
  })

  it('a retry that finds a single workspace completes the sign-in with it', async () => {
    answer = new Error('down')
    const page = await signIn()
    answer = [legal]
    expect((await retry(page)).url.searchParams.has('code')).toBe(true)
    expect(await granted()).toEqual(['legal'])
  })

  it('a workspace is chosen once: a second post of the page leads back to the login', async () => {
    const page = await signIn()
    await choose(page, { workspace: 'sales' })
    const second = await choose(page, { workspace: 'legal' })
    expect(second.status).toBe(400)
    expect(second.html).toContain('That sign-in expired')
    expect(await granted()).toEqual(['sales'])
  })

  it('of posts at once, one gets a code', async () => {
    const page = await signIn()
    const visits = await Promise.all(Array.from({ length: 10 }, () => choose(page, { workspace: 'sales' })))
    expect(visits.filter(({ url }) => url.searchParams.has('code'))).toHaveLength(1)
    expect(await granted()).toEqual(['sales'])
  })

  it('a choice waits for ten minutes, and its session is signed out then', async () => {
    const page = await signIn()
    login.runtime.advance(601)
    expect((await choose(page, { workspace: 'sales' })).html).toContain('That sign-in expired')
    await login.shared.store.collectExpired(login.runtime.now(), 100)
    expect(await login.toSignOut()).toHaveLength(1)
    expect(await granted()).toEqual([])
  })

  it('another browser cannot choose', async () => {
    const page = await signIn()
    const stranger = login.browser()
    await login.open(stranger)
    const refused = await stranger.submit(page, 'workspace', { workspace: 'sales' })
    expect(refused.status).toBe(403)
    expect(await granted()).toEqual([])
  })

  it('cancelling on the workspace page denies access and ends the session', async () => {
    const denied = await browser.submit(await signIn(), 'action', { action: 'deny' })
    expect(denied.url.searchParams.get('error')).toBe('access_denied')
    expect(await login.toSignOut()).toHaveLength(1)
    expect(await granted()).toEqual([])
  })

  it('a device gets the chosen workspace', async () => {
    const device = await login.startDevice()
    const entry = await browser.visit('http://localhost:8787/oauth/device')
    const shown = await browser.submit(entry, 'user_code', { user_code: device.user_code })
    const page = await browser.submit(shown, 'password', adasPassword)
    await choose(page, { workspace: 'legal' })
    expect(await granted()).toEqual(['legal'])
  })

  it('the connections page asks for no workspace', async () => {
    const page = await browser.visit('http://localhost:8787/account/connections')
    const done = await browser.submit(page, 'password', adasPassword)
    expect(done.html).toContain('Your connections')
    expect(asked).toEqual([])
  })
})
