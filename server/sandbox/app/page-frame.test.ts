import { describe, expect, it } from 'vitest'
import { CLEARED_FLASH, readFlash, writeFlash } from './page-frame.ts'

const withCookie = (cookie: string): Request => new Request('http://localhost/', { headers: { cookie } })

describe('a flash', () => {
  it.each([
    ['signed-up', 'Welcome. Your account is ready.'],
    ['signed-in', 'You are signed in.'],
    ['signed-out', 'You are signed out.'],
    ['note-added', 'Note added.'],
    ['note-deleted', 'Note deleted.'],
    ['note-gone', 'That note was already gone.'],
  ] as const)('%s is carried over a redirect as "%s"', (flash, message) => {
    const cookie = writeFlash(flash)
    expect(cookie).toMatch(/; Path=\/; Max-Age=60; HttpOnly; SameSite=Lax$/)
    expect(readFlash(withCookie(`other=1; ${cookie.split(';', 1)[0] ?? ''}; more=2`))).toBe(message)
  })

  it.each([
    '',
    'other=signed-in',
    'fieldnotes-flash=',
    'fieldnotes-flash=<b>hello</b>',
    'fieldnotes-flash=constructor',
  ])('cannot be planted by %j', (cookie) => {
    expect(readFlash(withCookie(cookie))).toBeUndefined()
  })

  it('is forgotten under the name and path it was written with', () => {
    expect(CLEARED_FLASH).toMatch(/^fieldnotes-flash=; Path=\/; Max-Age=0;/)
  })
})
