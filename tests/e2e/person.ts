import { randomUUID } from 'node:crypto'
import { type Browser, createBrowser } from '../support/server/browser.ts'
import type { ServerAddress } from './server-process.ts'

/** A user with an account in the web app, and a browser. */
export interface Person {
  email: string
  password: string
  browser: Browser
  /** Opens an authorization request, signs in with the password, and returns where the browser was sent. */
  allow(authorizationUrl: string | URL): Promise<URL>
}

/** Creates an account in the embedded provider, as the web app's sign-up does. */
export async function createPerson(server: ServerAddress, metadata?: object): Promise<Person> {
  const email = `${randomUUID().slice(0, 8)}@example.com`
  const password = `correct horse ${randomUUID()}`
  const response = await server.fetch(`${server.appUrl}/auth/v1/signup`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ email, password, data: metadata }),
  })
  if (!response.ok) throw new Error(`Signing up answered ${response.status}.`)
  return personOf(server, { email, password })
}

/** Gives the owner of an account a browser. */
export function personOf(server: ServerAddress, account: { email: string; password: string }): Person {
  const browser = createServerBrowser(server)
  return {
    ...account,
    browser,
    async allow(authorizationUrl) {
      const login = await browser.visit(authorizationUrl)
      if (login.response?.status !== 200) {
        throw new Error(`The login page answered ${login.response?.status} at ${login.url.pathname}.`)
      }
      const { url, response } = await browser.submit(login, 'password', account)
      if (response) throw new Error(`Signing in ended at ${url.pathname} with status ${response.status}.`)
      return url
    },
  }
}

/** Creates a browser that reaches the server, the web app and `others`, and stops at addresses of clients. */
export function createServerBrowser(server: ServerAddress, ...others: string[]): Browser {
  const served = new Set([server.baseUrl, server.appUrl, ...others].map((url) => new URL(url).origin))
  return createBrowser((request) =>
    served.has(new URL(request.url).origin) ? server.fetch(request) : undefined,
  )
}
