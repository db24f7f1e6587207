import { encodeBase64url, encodeUtf8 } from '@drawbridge/shared/base64url.ts'
import { type MemoryCookie, newCookie } from '../platform/memory-browser.ts'

/** The clock of a new memory browser. */
export const now = 1_800_000_000
/** The cookie of the project `abc`. */
export const cookieName = 'sb-abc-auth-token'
/** Texts that must never be shown: each stands where a session has a secret that is not the access token. */
export const secrets = ['REFRESH-TOKEN-SECRET', 'PROVIDER-TOKEN-SECRET', 'PROVIDER-REFRESH-SECRET'] as const

/** An unsigned JWT of these claims, by default of Ada and for an hour more. */
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

/** The JSON of a session as the client libraries keep it, with every secret that they keep. */
export function sessionJson(token: string): string {
  return JSON.stringify({
    access_token: token,
    refresh_token: secrets[0],
    provider_token: secrets[1],
    provider_refresh_token: secrets[2],
    user: { email: 'ada@example.com' },
  })
}

/** That session as cookies, cut into chunks when `size` says so. */
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
