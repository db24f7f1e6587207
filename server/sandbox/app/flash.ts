import { parseCookieHeader } from '@drawbridge/shared/session-cookie/cookie-header.ts'

const COOKIE = 'fieldnotes-flash'

const MESSAGES = {
  'signed-up': 'Welcome. Your account is ready.',
  'signed-in': 'You are signed in.',
  'signed-out': 'You are signed out.',
  'note-added': 'Note added.',
  'note-deleted': 'Note deleted.',
  'note-gone': 'That note was already gone.',
} as const

/** What has just been done, told once on the next page. */
export type Flash = keyof typeof MESSAGES

/** `Set-Cookie` value that carries a flash over a redirect. It holds a name, not text: nobody can plant words. */
export function writeFlash(flash: Flash): string {
  return `${COOKIE}=${flash}; Path=/; Max-Age=60; HttpOnly; SameSite=Lax`
}

/** `Set-Cookie` value that forgets a shown flash. */
export const CLEARED_FLASH: string = `${COOKIE}=; Path=/; Max-Age=0; HttpOnly; SameSite=Lax`

/** The message to show, if there is one. */
export function readFlash(request: Request): string | undefined {
  const cookies = parseCookieHeader(request.headers.get('cookie') ?? '')
  const value = cookies.find(({ name }) => name === COOKIE)?.value
  return Object.entries(MESSAGES).find(([flash]) => flash === value)?.[1]
}
