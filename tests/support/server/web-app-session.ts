import { writeSessionCookies } from '@drawbridge/shared/session-cookie/session-cookie.ts'
import { account, appUrl, type DrawbridgeFixture } from './drawbridge-fixture.ts'

/** A session of the embedded provider, as held by the web app. */
export interface WebAppSession extends Record<string, unknown> {
  access_token: string
}

/** Signs in to the web app itself, without a client, as the fixture's account or another one with its password. */
export async function signInToWebApp(
  { app }: Pick<DrawbridgeFixture, 'app'>,
  email: string = account.email,
): Promise<WebAppSession> {
  const response = await app.sandbox?.fetch(
    new Request(`${appUrl}/auth/v1/token?grant_type=password`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ ...account, email }),
    }),
  )
  if (!response) throw new Error('There is no embedded provider.')
  return (await response.json()) as WebAppSession
}

/** Returns the cookie header of a browser that has `session` for the web app. */
export function sessionCookieHeader(session: object): string {
  return writeSessionCookies(session, { name: 'sb-localhost-auth-token' })
    .map(({ name, value }) => `${name}=${value}`)
    .join('; ')
}
