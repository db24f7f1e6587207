import { encodeBase64url, encodeUtf8 } from '@drawbridge/shared/base64url.ts'
import { type MemoryCookie, newCookie } from '../platform/memory-browser.ts'

/** The clock of a new memory browser. */
export const now = 1_800_000_000
/** The cookie of the project `abc`. */
export const cookieName = 'sb-abc-auth-token'
/** Texts that must never be displayed: all secrets of a session other than the access token. */
export const secrets = ['REFRESH-TOKEN-SECRET', 'PROVIDER-TOKEN-SECRET', 'PROVIDER-REFRESH-SECRET'] as const

/** Returns an unsigned JWT with these claims, by default Ada's and valid for another hour. */
export function jwt(claims: object = {}): string {
  const part = (value: object): string => encodeBase64url(encodeUtf8(JSON.stringify(value)))
  const usual = {
    iss: 'https://abc.supabase.co/auth/v1',
    sub: '11111111-2222-4333-8444-555555555555',
    email: 'ada@example.com',
    exp: now + 3600,
  }
  return `${part({ alg: 'HS256', typ: 'JWT' })}.${part({ ...usual, ...claims })}.c2lnbmF0dXJl`
}

/** Returns the JSON of a session as stored by the client libraries, with all its secrets. */
export function sessionJson(token: string): string {
  return JSON.stringify({
    access_token: token,
    refresh_token: secrets[0],
    provider_token: secrets[1],
    provider_refresh_token: secrets[2],
    user: { email: 'ada@example.com' },
  })
}

/** Returns that session as cookies, cut into chunks of `size` if given. */
export function sessionCookies(
  token: string,
  options: Partial<MemoryCookie> & { size?: number } = {},
): MemoryCookie[] {
  const { size = Infinity, name = cookieName, ...given } = options
  const value = `base64-${encodeBase64url(encodeUtf8(sessionJson(token)))}`
  if (value.length <= size) return [newCookie({ ...given, name, value })]
  return Array.from({ length: Math.ceil(value.length / size) }, (_, index) =>
    newCookie({ ...given, name: `${name}.${index}`, value: value.slice(index * size, (index + 1) * size) }),
  )
}

/** Permission for the app of a new memory browser. */
export const appAllowed: readonly string[] = ['https://app.example.com/*', 'http://app.example.com/*']
