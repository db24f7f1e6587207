import { afterEach, describe, expect, it } from 'vitest'
import { type Browser, createBrowser, type Visit } from '../support/server/browser.ts'
import { createPerson, type Person } from './person.ts'
import { type PlainClient, registerPlainClient } from './plain-client.ts'
import { type ServerProcess, startServer } from './server-process.ts'

// The prefix of one household, office or tunnel (RFC 6177 section 2): 65,536 blocks of the size of one link.
const sourceInSite = (link: number): string => `2001:db8:1:${link.toString(16)}::1`

const owner = '198.51.100.7'

let server: ServerProcess
afterEach(async () => {
  await server?.close()
})

/** Opens a browser whose requests seem to come from `address`, through the proxy that the server trusts. */
function browserAt(address: string): Browser {
  return createBrowser((request) => {
    if (new URL(request.url).origin !== server.baseUrl) return undefined
    request.headers.set('x-forwarded-for', address)
    return server.fetch(request)
  })
}

async function signIn(
  { authorizationUrl }: Pick<PlainClient, 'authorizationUrl'>,
  person: Pick<Person, 'email' | 'password'>,
  browser: Browser,
): Promise<Visit> {
  const { email, password } = person
  return browser.submit(await browser.visit(authorizationUrl), 'password', { email, password })
}

/** Returns the result of a sign-in: the status of its last page, or `code`. */
const outcomeOf = ({ url, response }: Visit): number | 'code' =>
  response?.status ?? (url.searchParams.has('code') ? 'code' : 0)

describe('a site with many blocks of addresses', () => {
  it('leaves sign-ins for others, and a share for browsers that are known', async () => {
    server = await startServer({ TRUSTED_PROXIES: '127.0.0.1' })
    const person = await createPerson(server)
    const client = await registerPlainClient(server)
    const known = browserAt(owner)
    expect(outcomeOf(await signIn(client, person, known))).toBe('code')

    const flood = async (link: number): Promise<number | 'code'> =>
      outcomeOf(
        await signIn(
          client,
          { email: `nobody-${link}@example.com`, password: 'x' },
          browserAt(sourceInSite(link)),
        ),
      )
    const flooded = await Promise.all(Array.from({ length: 14 }, (_, link) => flood(link)))
    expect(flooded.filter((outcome) => outcome === 429).length).toBe(4)
    expect(outcomeOf(await signIn(client, person, browserAt('203.0.113.8')))).toBe('code')

    // Another site uses up the rest of the strangers' share.
    await Promise.all(
      Array.from({ length: 6 }, (_, link) =>
        signIn(
          client,
          { email: `nobody-else-${link}@example.com`, password: 'x' },
          browserAt(`2001:db8:2:${link}::1`),
        ),
      ),
    )
    expect(outcomeOf(await signIn(client, person, browserAt('203.0.113.9')))).toBe(429)
    expect(outcomeOf(await signIn(client, person, known))).toBe('code')
  })
})

describe('a faulty request of a client that somebody has just registered', () => {
  it('RFC 9700 4.11.2: shows a page with a link, until somebody has signed in with the client', async () => {
    server = await startServer()
    const returnTo = 'https://client.example/callback'
    const client = await registerPlainClient(server, 'Client', returnTo)
    const faulty = (): Promise<Response> =>
      server.fetch(`${server.baseUrl}/oauth/authorize?client_id=${client.id}&state=s`, { redirect: 'manual' })

    const before = await faulty()
    expect(before.status).toBe(400)
    expect(before.headers.get('location')).toBeNull()
    const html = await before.text()
    expect(html).toContain('client.example')
    expect(html).toContain(`href="${returnTo}?error=invalid_request`)
    expect(html).not.toMatch(/http-equiv|<script/)

    await client.connect(await createPerson(server))
    const after = await faulty()
    expect(after.status).toBe(303)
    expect(after.headers.get('location')).toMatch(
      /^https:\/\/client\.example\/callback\?error=invalid_request/,
    )
  })
})
