import { randomBytes } from 'node:crypto'
import { writeSessionCookies } from '@drawbridge/shared/session-cookie/session-cookie.ts'

/** A session as stored by the vendor's library, with an unsigned token. */
export interface SessionSample extends Record<string, unknown> {
  access_token: string
  refresh_token: string
}

/** Returns a session of ada that expires in `seconds` (negative: in the past), with `metadata` for its user. */
export function sessionSample(
  given: { seconds?: number; email?: string; metadata?: object; claims?: object } = {},
): SessionSample {
  const { seconds = 3600, email = 'ada@example.com', metadata = {}, claims = {} } = given
  const now = Math.floor(Date.now() / 1000)
  const token = tokenSample({
    iss: 'https://abcdefghijklmnopqrst.supabase.co/auth/v1',
    sub: '11111111-2222-4333-8444-555555555555',
    aud: 'authenticated',
    role: 'authenticated',
    email,
    iat: now + seconds - 3600,
    exp: now + seconds,
    ...claims,
  })
  return {
    access_token: token,
    token_type: 'bearer',
    expires_in: 3600,
    expires_at: now + seconds,
    refresh_token: `refresh-${randomBytes(12).toString('base64url')}`,
    user: { id: '11111111-2222-4333-8444-555555555555', email, user_metadata: metadata },
  }
}

/** Returns a JWT with any payload. */
function tokenSample(payload: unknown): string {
  const encode = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url')
  return `${encode({ alg: 'HS256', typ: 'JWT' })}.${encode(payload)}.${randomBytes(32).toString('base64url')}`
}

/** Returns `Set-Cookie` values for that session and name; `attributes` such as `HttpOnly; Secure`. */
export function setCookies(session: object, options: { name?: string; attributes?: string } = {}): string[] {
  const { name = 'sb-abcdefghijklmnopqrst-auth-token', attributes = '' } = options
  return writeSessionCookies(session, { name }).map(
    (cookie) => `${cookie.name}=${cookie.value}; Path=/; SameSite=Lax${attributes && `; ${attributes}`}`,
  )
}
