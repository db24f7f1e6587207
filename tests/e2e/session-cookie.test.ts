import { defaultSessionCookieName } from '@drawbridge/shared/session-cookie/session-cookie-name.ts'
import { parseCookieHeader } from '@drawbridge/shared/session-cookie/cookie-header.ts'
import { readSessionCookie } from '@drawbridge/shared/session-cookie/session-cookie.ts'
import { createBrowserClient } from '@supabase/ssr'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createPerson } from './person.ts'
import { postMcp } from './plain-client.ts'
import { type ServerProcess, startServer } from './server-process.ts'

const publishableKey = 'sb_publishable_for_tests'

let server: ServerProcess

beforeAll(async () => {
  server = await startServer()
})
afterAll(async () => {
  await server?.close()
})

/** The cookies of the host name of the web app and the server, by name. */
type CookieJar = ReadonlyMap<string, string>

const headerOf = (jar: CookieJar): string => [...jar].map(([name, value]) => `${name}=${value}`).join('; ')

/** Signs in to the web app with the vendor's own library, which stores the session in cookies. */
async function signInToApp(metadata?: object): Promise<CookieJar> {
  const person = await createPerson(server, metadata)
  const jar = new Map<string, string>()
  const supabase = createBrowserClient(server.appUrl, publishableKey, {
    isSingleton: false,
    auth: { autoRefreshToken: false, detectSessionInUrl: false },
    global: { fetch: server.fetch },
    cookies: {
      getAll: () => [...jar].map(([name, value]) => ({ name, value })),
      setAll(written) {
        for (const { name, value, options } of written) {
          if (options.maxAge === 0) jar.delete(name)
          else jar.set(name, value)
        }
      },
    },
  })
  const { error } = await supabase.auth.signInWithPassword(person)
  if (error) throw error
  return jar
}

/** Returns the access token in the cookies, as the popup or a user in the developer console extracts it (section 5.4). */
function accessTokenIn(jar: CookieJar): string {
  const name = defaultSessionCookieName(server.appUrl)
  const reading = readSessionCookie(parseCookieHeader(headerOf(jar)), { name, now: Date.now() / 1000 })
  if (reading.kind !== 'session') throw new Error(`The cookies hold no session: ${reading.kind}`)
  return reading.accessToken
}

/** Calls with the content headers of section 4 and these, and nothing else. */
async function call(headers: Record<string, string>): Promise<[status: number, tools: string[] | undefined]> {
  const response = await postMcp(server, { method: 'tools/list' }, headers)
  const { result } = (await response.json()) as { result?: { tools: { name: string }[] } }
  return [response.status, result?.tools.map(({ name }) => name)]
}

const listed = [200, expect.arrayContaining(['whoami', 'list_notes', 'add_note', 'delete_note'])]

describe('a token taken out of the cookies of the web app (5.4)', () => {
  it('Spec 4: lists the tools with exactly the headers of section 4', async () => {
    const jar = await signInToApp()
    const token = accessTokenIn(jar)
    expect(await call({ authorization: `Bearer ${token}` })).toEqual(listed)
  })

  it('Spec 5.4: is found when the session is split over several cookies, which are taken themselves too (5.3)', async () => {
    const jar = await signInToApp({ biography: 'ü'.repeat(5000) })
    const names = [...jar.keys()]
    expect(names.length).toBeGreaterThan(2)
    expect(names.every((name) => /^sb-localhost-auth-token\.\d+$/.test(name))).toBe(true)
    const token = accessTokenIn(jar)
    expect(await call({ authorization: `Bearer ${token}` })).toEqual(listed)
    expect(await call({ cookie: headerOf(jar) })).toEqual(listed)
    // Of a foreign page, and of a sandboxed one.
    for (const origin of ['https://evil.example', 'null']) {
      expect([origin, ...(await call({ cookie: headerOf(jar), origin }))]).toEqual([origin, 403, undefined])
    }
  })
})
