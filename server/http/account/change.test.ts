import { beforeEach, describe, expect, it } from 'vitest'
import type { Workspace } from '../../core/session/grant.ts'
import { createWorkspaceList } from '../../core/workspaces/workspace-list.ts'
import type { Browser, Visit } from '../../../tests/support/server/browser.ts'
import { addGrant, grantSample } from '../../../tests/support/server/core/grant-sample.ts'
import { createLoginFixture, type LoginFixture } from '../../../tests/support/server/login-fixture.ts'
import {
  adasPassword,
  signedIn,
  welcomingProvider,
} from '../../../tests/support/server/core/sign-in-sample.ts'

const page = 'http://localhost:8787/account/connections'
const ada = { id: 'https://provider#sub ada', sub: 'sub ada', email: 'ada@example.com', name: undefined }
const sales = { id: 'sales', name: '<b>Sales</b>' }
const legal = { id: 'legal', name: 'Legal' }
const scope = 'mcp notes:read notes:write offline_access'

let login: LoginFixture
let browser: Browser
let listed: readonly Workspace[] | Error

beforeEach(async () => {
  listed = [sales, legal]
  await open({ 'notes:read': 'Read your notes', 'notes:write': 'Change your notes' })
})

async function open(scopes: Record<string, string>, hasWorkspaces = true): Promise<void> {
  const workspaces = createWorkspaceList(
    async () => {
      if (listed instanceof Error) throw listed
      return listed
    },
    () => {},
  )
  login = await createLoginFixture(
    welcomingProvider({ passwordSignIn: async () => signedIn('ada'), signOut: async () => {} }),
    { scopes, ...(hasWorkspaces && { workspaces }) },
  )
  browser = login.browser()
  await addGrant(
    login.shared.store,
    grantSample('a', {
      user: ada,
      clientId: 'mcpc_public',
      scope,
      ...(hasWorkspaces && { workspace: sales }),
    }),
  )
}

const signIn = async (): Promise<Visit> => browser.submit(await browser.visit(page), 'password', adasPassword)
const change = async (id = 'grant a'): Promise<Visit> =>
  browser.visit(`${page}?change=${encodeURIComponent(id)}`)
const save = (at: Visit, fields: Record<string, string | string[]>): Promise<Visit> =>
  browser.submit(at, 'action', { action: 'change', ...fields })
const stored = async (id = 'grant a'): Promise<unknown> => {
  const grant = (await login.shared.store.findGrant(id))?.grant
  return [grant?.scope, grant?.workspace?.id]
}

describe('the page that changes a connection', () => {
  it('the connections page shows the workspace, and leads to the page that changes it', async () => {
    const { html } = await signIn()
    expect(html).toContain('&lt;b&gt;Sales&lt;/b&gt;')
    expect(html).toContain('href="/account/connections?change=grant%20a"')
    const shown = await change()
    expect(shown.html).toMatch(/value="notes:read"\s+checked.*value="notes:write"\s+checked/s)
    expect(shown.html).toMatch(/value="sales"\s+checked\s+required/)
    expect(shown.html).toContain('“<bdi>Sample</bdi>”')
  })

  it('the connections page leads there where only scopes, or only workspaces, can be changed, and nowhere else', async () => {
    const leads = async (): Promise<boolean> => (await signIn()).html.includes('?change=')
    await open({ 'notes:read': 'Read your notes' }, false)
    expect(await leads()).toBe(true)
    await open({}, true)
    expect(await leads()).toBe(true)
    await open({}, false)
    expect(await leads()).toBe(false)
  })

  it('saving takes scopes back and changes the workspace; the list says so once', async () => {
    await signIn()
    const saved = await save(await change(), { scope: ['notes:read'], workspace: 'legal' })
    expect(saved.html).toContain('The connection of “<bdi>Sample</bdi>” has been changed.')
    expect(saved.html).toContain('Legal')
    expect(await stored()).toEqual(['mcp notes:read offline_access', 'legal'])
    expect(login.logged()).toContain('"event":"grant_changed"')
    expect((await browser.visit(page)).html).not.toContain('has been changed')
  })

  it('the page that changes a connection has a box for each scope that the connection has, and for no other', async () => {
    await signIn()
    const boxes = (at: Visit): string[] =>
      [...at.html.matchAll(/name="scope"\s+value="([^"]*)"\s+checked/g)].map(([, value = '']) => value)
    const all = await change()
    expect(boxes(all)).toEqual(['notes:read', 'notes:write'])
    await save(all, { scope: ['notes:read'] })
    const left = await change()
    expect(boxes(left)).toEqual(['notes:read'])
    expect(left.html).not.toContain('notes:write')
  })

  it('a page sent as it came changes nothing, and nothing is in the log', async () => {
    await signIn()
    await save(await change(), {})
    expect(await stored()).toEqual([scope, 'sales'])
    expect(login.logged()).not.toContain('grant_changed')
  })

  it.each<[what: string, fields: Record<string, string | string[]>, field: string]>([
    ['a scope that the connection has not', { scope: ['notes:read', 'notes:admin'] }, 'scope'],
    ['a workspace of somebody else', { workspace: 'other' }, 'workspace'],
  ])('a posted %s is refused, said and recorded', async (_what, fields, field) => {
    await signIn()
    const refused = await save(await change(), fields)
    expect(refused.html).toContain('the choice is no longer possible')
    expect(await stored()).toEqual([scope, 'sales'])
    expect(login.logged()).toContain(`"event":"choice_refused","client_id":"mcpc_public","field":"${field}"`)
  })

  it('scopes can be taken back while the app cannot list its workspaces', async () => {
    await signIn()
    listed = new Error('the message of the app')
    const shown = await change()
    expect(shown.html).toContain('Your workspaces cannot be listed right now')
    expect(shown.html).not.toContain('the message of the app')
    await save(shown, { scope: [] })
    expect(await stored()).toEqual(['mcp offline_access', 'sales'])
  })

  it('a workspace that cannot be checked is not taken, and the page says so', async () => {
    await signIn()
    const shown = await change()
    listed = new Error('down')
    expect((await save(shown, { workspace: 'legal' })).html).toContain('was not changed')
    expect(await stored()).toEqual([scope, 'sales'])
  })

  it('a connection that has ended, is of another user or unknown leads back to the list', async () => {
    const { store, runtime } = login.shared
    await addGrant(store, grantSample('b', { scope }))
    await signIn()
    const shown = await change()
    for (const id of ['grant b', 'nothing', ''])
      expect((await change(id)).html).toContain('had already ended')
    expect((await save(shown, { connection: 'grant b', scope: [] })).html).toContain('had already ended')
    expect(await stored('grant b')).toEqual([scope, undefined])
    await store.endGrant('grant a', 'revoked_by_user', runtime.now())
    expect((await save(shown, { scope: [] })).html).toContain('had already ended')
  })

  it('a form of another sign-in or browser changes nothing', async () => {
    await signIn()
    const shown = await change()
    const stranger = login.browser()
    await stranger.submit(await stranger.visit(page), 'password', adasPassword)
    await stranger.submit(shown, 'action', { action: 'change', scope: [] })
    expect(await stored()).toEqual([scope, 'sales'])
  })

  it('without a sign-in the page that changes a connection asks for one', async () => {
    expect((await change()).html).toContain('Sign in to manage your connections')
  })

  it('a connection with nothing to choose has no page to change it', async () => {
    await open({}, false)
    expect((await signIn()).html).not.toContain('?change=')
  })
})
