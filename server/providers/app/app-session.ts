import { z } from 'zod'
import { parseJson } from '@drawbridge/shared/json-object.ts'
import { retryAfterSeconds } from '@drawbridge/shared/retry-after.ts'
import type { Runtime } from '@drawbridge/shared/runtime.ts'
import {
  ProviderError,
  type ProviderFailure,
  type ProviderSession,
} from '../../core/session/session-provider.ts'
import { failureOfStatus, fetchFromProvider } from '../provider-response.ts'
import { signAppJwt } from './app-jwt.ts'

/** Longer than any connection lasts. */
export const endlessSeconds = 4000 * 86_400

/** What the web app says about a user. Frameworks have null for what is not known. */
const userSchema = z.object({
  sub: z.string().min(1).max(255),
  email: z.string().nullish(),
  email_verified: z.boolean().nullish(),
  name: z.string().nullish(),
  claims: z.record(z.string(), z.unknown()).nullish(),
  /** For the app's own API: it becomes a header. */
  token: z
    .string()
    .regex(/^[\x21-\x7E]{1,16384}$/)
    .nullish(),
  expires_in: z.number().min(1).nullish(),
})

/** Reads a session from what the app says. Throws `failure` with the first fault. */
export function readAppSession(said: unknown, failure: ProviderFailure, now: number): ProviderSession {
  const { data, error } = userSchema.safeParse(said)
  if (!data) throw new ProviderError(failure, `The web app described a user badly: ${z.prettifyError(error)}`)
  const { token, expires_in: expiresIn, ...userinfo } = data
  const seconds = token && expiresIn ? Math.floor(expiresIn) : endlessSeconds
  return { accessToken: token ?? '', refreshToken: '', expiresAt: now + seconds, userinfo }
}

/**
 * Asks the web app about the user of a session, with a signed request. Undefined when the user may not stay connected (404). Any other
 * answer than 200 with the same user rejects, and says nothing about the session.
 */
export async function askAppSession(
  sub: string,
  { sessionUrl, secret }: { sessionUrl: string; secret: string },
  runtime: Pick<Runtime, 'now' | 'randomBytes' | 'fetch'>,
): Promise<ProviderSession | undefined> {
  const url = new URL(sessionUrl)
  const signed = { audience: url.origin + url.pathname, sub, secret }
  const jwt = await signAppJwt('drawbridge-session+jwt', signed, runtime)
  url.searchParams.set('sub', sub)
  const headers = { accept: 'application/json', authorization: `Bearer ${jwt}` }
  const response = await fetchFromProvider(new Request(url, { headers, redirect: 'manual' }), runtime)
  const { status } = response
  if (status === 404) return undefined
  if (status !== 200) {
    throw new ProviderError(failureOfStatus(status), `SESSION_URL answered ${status}.`, {
      retryAfterSeconds: retryAfterSeconds(Object.fromEntries(response.headers), runtime.now()),
    })
  }
  const session = readAppSession(parseJson(await response.text()), 'protocol', runtime.now())
  if (session.userinfo?.['sub'] === sub) return session
  throw new ProviderError('protocol', 'SESSION_URL answered with another user.')
}
