import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { createClient } from '@supabase/supabase-js'
import { afterEach, expect, it, vi } from 'vitest'
import { createFakeRuntime } from '../support/server/fake-runtime.ts'
import {
  account,
  appUrl,
  baseUrl,
  type DrawbridgeFixture,
  startDrawbridge,
} from '../support/server/drawbridge-fixture.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { blocksOf } from './command-block.ts'

const source = blocksOf('docs/supabase.md').find(({ mark }) => mark?.text === 'connect-page.js')?.text ?? ''

type Answer = (allow: boolean, choice?: { scope?: string; workspace?: string }) => Promise<void>
interface Shown {
  sentences: string[]
  scopes: { value: string; fixed: boolean }[]
  workspaces?: { id: string }[]
}

let server: DrawbridgeFixture
afterEach(async () => {
  vi.unstubAllGlobals()
  await server.close()
})

/** Runs the page of docs/supabase.md in the browser of a request, as far as it needs one. */
async function openPage(isSignedIn: boolean) {
  const clock = createFakeRuntime()
  const workspaces = async () => [
    { id: 'sales', name: 'Sales' },
    { id: 'legal', name: 'Legal' },
  ]
  const runtime = { ...clock, fetch: async (request: Request) => server.app.fetch(request) }
  server = await startDrawbridge({ signInUrl: `${appUrl}/connect` }, runtime, {
    scopes: { 'notes:read': 'Read your notes' },
    workspaces,
    tools: [{ name: 'read', scope: 'notes:read', call: () => 'read' }],
  })
  const browser = server.browser()
  const { client_id: clientId } = await server.register()
  const sealed = await server.app.fetch(
    new Request(server.authorizeUrl(clientId, { scope: 'mcp notes:read' })),
  )
  // The cookie of the browser that began.
  const cookie = sealed.headers.getSetCookie().map((line) => line.split(';')[0])
  const location = {
    search: new URL(sealed.headers.get('location') ?? '').search,
    pathname: '/connect',
    replace: vi.fn<(url: string) => void>(),
    assign: vi.fn<(url: string) => void>(),
  }
  vi.stubGlobal('location', location)
  vi.stubGlobal('fetch', async (url: string, init?: RequestInit) =>
    server.app.fetch(
      new Request(url, { ...init, headers: { ...(init?.headers as object), origin: appUrl } }),
    ),
  )
  const supabase = createClient(appUrl, 'sb_publishable_test', {
    auth: { persistSession: false, autoRefreshToken: false },
    global: {
      fetch: async (input, init) =>
        (await server.app.sandbox?.fetch(new Request(input, init))) ?? Response.error(),
    },
  })
  if (isSignedIn) expect((await supabase.auth.signInWithPassword(account)).error).toBeNull()
  const file = join(temporaryFolder(), 'connect-page.mjs')
  writeFileSync(file, source.replaceAll('https://mcp.example.com', baseUrl))
  const { open } = (await import(pathToFileURL(file).href)) as {
    open(
      client: unknown,
      ui: { show(asked: Shown, answer: Answer): void; showError(text: string): void },
    ): Promise<void>
  }
  const shown: [asked: Shown, answer: Answer][] = []
  const errors: string[] = []
  await open(supabase, {
    show: (...given) => void shown.push(given),
    showError: (text) => void errors.push(text),
  })
  return { shown, errors, location, browser, cookie, clientId }
}

it('the page of docs/supabase.md shows who asks, and takes a click, a choice and a workspace', async () => {
  const { shown, errors, location, cookie, clientId } = await openPage(true)
  const [[asked, answer] = []] = shown
  expect(asked?.sentences[0]).toContain('Test client')
  expect(asked?.scopes.map(({ value }) => value)).toEqual(['mcp', 'notes:read'])
  expect(location.assign).not.toHaveBeenCalled()
  await answer?.(true)
  const [, [again, answerAgain] = []] = shown
  expect(again?.workspaces?.map(({ id }) => id)).toEqual(['sales', 'legal'])
  await answerAgain?.(true, { scope: '', workspace: 'legal' })
  expect(errors).toEqual([])
  const back = location.assign.mock.calls[0]?.[0] ?? ''
  const returned = await server.app.fetch(new Request(back, { headers: { cookie: cookie.join('; ') } }))
  const code = new URL(returned.headers.get('location') ?? '').searchParams.get('code') ?? ''
  expect(await (await server.redeem(clientId, code)).json()).toMatchObject({ scope: 'mcp' })
  // Answered: a second click says so.
  await answerAgain?.(true, { workspace: 'legal' })
  expect(errors).toEqual([expect.stringContaining('answered already')])
})

it('the page of docs/supabase.md sends users who are signed out to the login of the app, and back', async () => {
  const { shown, location } = await openPage(false)
  expect(shown).toEqual([])
  const to = location.replace.mock.calls[0]?.[0]
  expect(to).toBe(`/login?next=${encodeURIComponent(`/connect${location.search}`)}`)
})
