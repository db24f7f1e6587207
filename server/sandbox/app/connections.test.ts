import { afterEach, beforeEach, expect, it } from 'vitest'
import type { Browser, Visit } from '../../../tests/support/server/browser.ts'
import {
  account,
  appUrl,
  type DrawbridgeFixture,
  startDrawbridge,
  type Tokens,
} from '../../../tests/support/server/drawbridge-fixture.ts'
import { createFakeRuntime, type FakeRuntime } from '../../../tests/support/server/fake-runtime.ts'
import type { ToolModule } from '../../mcp/tools/tool-module.ts'
import { createView } from './page.ts'
import { type Connection, connectionsPage } from './connections-page.ts'

const tools: ToolModule = {
  scopes: { 'notes:read': 'Read', 'notes:write': 'Write' },
  workspaces: async () => [{ id: 'sales', name: 'Sales & <b>more</b>' }],
  tools: [
    { name: 'read', scope: 'notes:read', call: () => 'read' },
    { name: 'write', scope: 'notes:write', call: () => 'written' },
  ],
}

let server: DrawbridgeFixture
let clock: FakeRuntime
let browser: Browser
let tokens: Tokens
/** The app's requests to Drawbridge, and the answer to each while there is an outage. */
let calls: string[]
let outage: Response | Error | undefined

beforeEach(async () => {
  calls = []
  outage = undefined
  const runtime = {
    ...(clock = createFakeRuntime()),
    async fetch(request: Request): Promise<Response> {
      calls.push(`${request.method} ${new URL(request.url).pathname}`)
      if (outage instanceof Error) throw outage
      return outage ?? server.app.fetch(request)
    },
  }
  server = await startDrawbridge({}, runtime, tools)
  ;({ tokens } = await server.connect({ scope: 'mcp notes:read notes:write' }))
  browser = server.browser()
  await signIn(account.email)
})
afterEach(() => server.close())

async function signIn(email: string): Promise<Visit> {
  return browser.submit(await browser.visit(appUrl), 'password', { ...account, email })
}

const open = (): Promise<Visit> => browser.visit(`${appUrl}/connections`)
const boxesOf = ({ html }: Visit): string[] =>
  [...html.matchAll(/type="checkbox"\s+name="scope"\s+value="([^"]*)"\s+checked/g)].map(
    ([, scope = '']) => scope,
  )
const statusOf = async (tool: string): Promise<number> =>
  (
    await server.mcp(
      { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: tool, arguments: {} } },
      { authorization: `Bearer ${tokens.access_token}` },
    )
  ).status

it('the notes page of the demo app leads to the page of connected assistants', async () => {
  const notes = await browser.visit(`${appUrl}/notes`)
  expect(notes.html).toContain('<a class="link alone" href="/connections">Connected assistants</a>')
})

it('the demo app lists an assistant with its scopes as boxes, and its workspace', async () => {
  const unused = await open()
  expect(unused.status).toBe(200)
  expect(unused.html).toContain('<bdi>Test client</bdi>')
  expect(unused.html).toContain('<bdi>Sales &amp; &lt;b&gt;more&lt;/b&gt;</bdi>')
  expect(boxesOf(unused)).toEqual(['notes:read', 'notes:write'])
})

it('the demo app takes an unticked scope back from the next call on, and keeps the fixed one', async () => {
  expect(await statusOf('write')).toBe(200)
  const saved = await browser.submit(await open(), 'id', { scope: ['mcp', 'notes:read'] })
  expect(saved.html).toMatch(/role="status">.*Saved\./s)
  expect(boxesOf(saved)).toEqual(['notes:read'])
  expect([await statusOf('read'), await statusOf('write')]).toEqual([200, 403])
  const last = await browser.submit(saved, 'id', { scope: [] })
  expect(boxesOf(last)).toEqual([])
  expect(last.html).not.toContain('Save</button>')
  expect(last.html).toContain('Test client')
})

it('the demo app disconnects an assistant, and then says that there is none', async () => {
  const ended = await browser.submit(await open(), 'id', { action: 'end' })
  expect(ended.html).toMatch(/role="status">.*Disconnected\./s)
  expect(ended.html).toContain('No assistant is connected')
  expect(await statusOf('read')).toBe(401)
})

it('the demo app says that a scope cannot be added, and shows what holds', async () => {
  const page = await open()
  await browser.submit(page, 'id', { scope: ['mcp'] })
  const refused = await browser.submit(page, 'id', { scope: ['mcp', 'notes:write'] })
  expect(refused.html).toMatch(/role="alert".*That was not possible\./s)
  expect(refused.html).toContain('<title>Error: Connected assistants')
  expect(boxesOf(refused)).toEqual([])
})

it('the demo app shows and changes nothing of another user', async () => {
  const mine = await open()
  await server.admin.createUser({ ...account, email: 'bob@example.com' })
  browser = server.browser()
  await signIn('bob@example.com')
  expect((await open()).html).toContain('No assistant is connected')
  for (const action of ['end', 'save'])
    expect((await browser.submit(mine, 'id', { action, scope: [] })).html).toContain('That was not possible.')
  expect([await statusOf('read'), await statusOf('write')]).toEqual([200, 200])
})

it('the demo app asks Drawbridge nothing for visitors who are not signed in', async () => {
  const page = await open()
  browser = server.browser()
  calls = []
  expect((await open()).url.pathname).toBe('/')
  expect((await browser.submit(page, 'id', { action: 'end' })).url.pathname).toBe('/')
  expect(calls).toEqual([])
})

it('the demo app sends the token of the session that it has just refreshed', async () => {
  clock.advance(3600)
  expect(boxesOf(await open())).toEqual(['notes:read', 'notes:write'])
})

it('the demo app sends an id as one segment of a path, whatever a form says', async () => {
  const page = await open()
  calls = []
  await browser.submit(page, 'id', { id: '../../mcp?x#', action: 'end' })
  expect(calls[0]).toBe('DELETE /account/api/connections/..%2F..%2Fmcp%3Fx%23')
})

it.each<[what: string, outage: () => Response | Error]>([
  ['cannot be reached', () => new Error('connect ECONNREFUSED')],
  ['refuses', () => new Response('', { status: 503 })],
])('the demo app says that something went wrong while Drawbridge %s', async (_what, given) => {
  outage = given()
  const failed = await open()
  expect(failed.status).toBe(500)
  expect(failed.html).toContain('That did not work')
  expect(failed.html).not.toMatch(/ECONNREFUSED|503/)
})

it('the demo app shows the page of connected assistants in German', async () => {
  const german = server.browser('de')
  browser = german
  await signIn(account.email)
  const saved = await browser.submit(await open(), 'id', {})
  for (const text of ['Verbundene Assistenten', 'Gespeichert.', 'Was er darf'])
    expect(saved.html).toContain(text)
})

it('names of an assistant and of its workspace are text on the page of connected assistants, and may be missing', () => {
  const connection: Connection = {
    id: 'grant-1',
    client: { name: '<script>alert(1)</script>' },
    scope: 'mcp "><img>',
    workspace: { name: '<i>Sales</i>' },
  }
  const view = createView(new Request(appUrl), 1_800_000_000)
  const connections = [connection, { ...connection, id: 'grant-2', client: { name: null }, workspace: null }]
  const page = connectionsPage(view, { connections })
  expect(page).not.toMatch(/<script>|<img>|<i>/)
  expect(page).toContain('<bdi>Assistant without a name</bdi>')
  expect(page.match(/&lt;i&gt;Sales/g)).toHaveLength(1)
})
