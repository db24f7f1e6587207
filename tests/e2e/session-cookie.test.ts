import { defaultSessionCookieName } from '@drawbridge/shared/session-cookie/session-cookie-name.ts'
import { parseCookieHeader } from '@drawbridge/shared/session-cookie/cookie-header.ts'
import { readSessionCookie } from '@drawbridge/shared/session-cookie/session-cookie.ts'
import { createBrowserClient, createServerClient } from '@supabase/ssr'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createPerson, createServerBrowser } from './person.ts'
import { type ServerProcess, startServer } from './server-process.ts'

const publishableKey = 'sb_publishable_for_tests'

let server: ServerProcess

beforeAll(async () => {
  server = await startServer()
})
afterAll(async () => {
  await server?.close()
})

/** A cookie jar like a browser's, for the host name of the web app and the server. */
class CookieJar {
  readonly cookies = new Map<string, string>()

  getAll(): { name: string; value: string }[] {
    return [...this.cookies].map(([name, value]) => ({ name, value }))
  }

  setAll(written: readonly { name: string; value: string; options: { maxAge?: number } }[]): void {
    for (const { name, value, options } of written) {
      if (options.maxAge === 0) this.cookies.delete(name)
      else this.cookies.set(name, value)
    }
  }

  header(): string {
    return [...this.cookies].map(([name, value]) => `${name}=${value}`).join('; ')
  }
}

/** Signs in to the web app with the vendor's own library, which stores the session in cookies. */
async function signInToApp(metadata?: object): Promise<CookieJar> {
  const person = await createPerson(server)
  const jar = new CookieJar()
  const supabase = createBrowserClient(server.appUrl, publishableKey, {
    isSingleton: false,
    auth: { autoRefreshToken: false, detectSessionInUrl: false },
    global: { fetch: server.fetch },
    cookies: { getAll: () => jar.getAll(), setAll: (written) => jar.setAll(written) },
  })
  const { error } = await supabase.auth.signInWithPassword(person)
  if (error) throw error
  if (metadata) {
    const updated = await supabase.auth.updateUser({ data: metadata })
    if (updated.error) throw updated.error
  }
  return jar
}

/** Returns the access token in the cookies, as the popup or a user in the developer console extracts it (section 5.4). */
function accessTokenIn(jar: CookieJar): string {
  const name = defaultSessionCookieName(server.appUrl)
  const reading = readSessionCookie(parseCookieHeader(jar.header()), { name, now: Date.now() / 1000 })
  if (reading.kind !== 'session') throw new Error(`The cookies hold no session: ${reading.kind}`)
  return reading.accessToken
}

const listTools = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list' })
/** The headers of section 4, and nothing else. */
const contentHeaders = {
  'Content-Type': 'application/json',
  Accept: 'application/json, text/event-stream',
}

interface Answer {
  status: number
  contentType: string
  body: { id?: number; error?: string; result?: { tools: { name: string }[] } }
}

async function call(headers: Record<string, string>): Promise<Answer> {
  const response = await server.fetch(server.mcpUrl, { method: 'POST', headers, body: listTools })
  const contentType = response.headers.get('content-type') ?? ''
  return { status: response.status, contentType, body: (await response.json()) as Answer['body'] }
}

const toolNames = ['whoami', 'list_notes', 'add_note', 'delete_note']

function expectTools({ status, contentType, body }: Answer): void {
  expect(status).toBe(200)
  expect(contentType).toMatch(/^application\/json/)
  expect(body.id).toBe(1)
  expect(body.result?.tools.map(({ name }) => name)).toEqual(expect.arrayContaining(toolNames))
}

describe('a token taken out of the cookies of the web app (5.4)', () => {
  it('Spec 4: lists the tools with exactly the headers of section 4', async () => {
    const jar = await signInToApp()
    const token = accessTokenIn(jar)
    expectTools(await call({ Authorization: `Bearer ${token}`, ...contentHeaders }))
  })

  it('Spec 5.4: is found when the session is split over several cookies, which are taken themselves too (5.3)', async () => {
    const jar = await signInToApp({ biography: 'ü'.repeat(5000) })
    const names = [...jar.cookies.keys()]
    expect(names.length).toBeGreaterThan(2)
    expect(names.every((name) => /^sb-localhost-auth-token\.\d+$/.test(name))).toBe(true)
    const token = accessTokenIn(jar)
    expectTools(await call({ Authorization: `Bearer ${token}`, ...contentHeaders }))
    expectTools(await call({ Cookie: jar.header(), ...contentHeaders }))
    // Of a foreign page, and of a sandboxed one.
    for (const Origin of ['https://evil.example', 'null']) {
      const { status, body } = await call({ Cookie: jar.header(), ...contentHeaders, Origin })
      expect([Origin, status, body.result]).toEqual([Origin, 403, undefined])
    }
  })
})

describe("the web app's own sign-in", () => {
  it('writes cookies that the vendor library and /mcp read', async () => {
    const { email, password } = await createPerson(server)
    const browser = createServerBrowser(server)
    const page = await browser.visit(`${server.appUrl}/`)
    const { url } = await browser.submit(page, 'password', { email, password })
    expect(url.pathname).toBe('/notes')
    const cookies = browser.cookieHeader(server.appUrl)

    const supabase = createServerClient(server.appUrl, publishableKey, {
      global: { fetch: server.fetch },
      cookies: { getAll: () => parseCookieHeader(cookies), setAll: () => undefined },
    })
    const { data, error } = await supabase.auth.getUser()
    expect(error).toBeNull()
    expect(data.user?.email).toBe(email)

    expectTools(await call({ Cookie: cookies, ...contentHeaders }))
  })
})
