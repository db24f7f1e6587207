import type { SafeHtml } from '@drawbridge/shared/html.ts'
import type { Context } from 'hono'
import { CLEARED_FLASH, readFlash, writeFlash, type Flash } from './flash.ts'
import { pageHeaders } from './page-frame.ts'

/** How the routes answer a browser. */
export interface PageResponder {
  /** A page; a flash that it shows is forgotten with it. */
  show(
    c: Context,
    page: SafeHtml,
    options?: { status?: PageStatus; setCookies?: readonly string[] },
  ): Response
  /** A redirect that is followed with GET. */
  redirect(c: Context, path: string, options?: { flash?: Flash; setCookies?: readonly string[] }): Response
}

type PageStatus = 200 | 400 | 403 | 404 | 413 | 422 | 500 | 503

/** `authOrigin` is where the forms for a social sign-in lead, `mcpOrigin` what scripts of the console may call. */
export function createPageResponder(authOrigin: string, mcpOrigin: string): PageResponder {
  const headers = pageHeaders([authOrigin], [mcpOrigin])
  return {
    show(c, page, { status = 200, setCookies = [] } = {}) {
      for (const cookie of setCookies) c.header('set-cookie', cookie, { append: true })
      if (readFlash(c.req.raw) !== undefined) c.header('set-cookie', CLEARED_FLASH, { append: true })
      return c.html(page.toString(), status, headers)
    },
    redirect(c, path, { flash, setCookies = [] } = {}) {
      for (const cookie of setCookies) c.header('set-cookie', cookie, { append: true })
      if (flash !== undefined) c.header('set-cookie', writeFlash(flash), { append: true })
      c.header('cache-control', 'no-store')
      return c.redirect(path, 303)
    },
  }
}
