import { Hono } from 'hono'
import { html, type SafeHtml } from '@drawbridge/shared/html.ts'
import type { Mail } from '../provider/email/mailbox.ts'
import { framePage, type PageResponder } from './page-frame.ts'

/** Creates the page with the mails that this machine would have sent; as JSON for programs that ask for it. */
export function createMailRoutes({
  mails,
  pages,
}: {
  mails: () => readonly Mail[]
  pages: PageResponder
}): Hono {
  const routes = new Hono()
  routes.get('/mail', (c) =>
    /\bapplication\/json\b/.test(c.req.header('accept') ?? '')
      ? c.json(mails(), 200, { 'cache-control': 'no-store' })
      : pages.show(c, mailPage(mails())),
  )
  return routes
}

function mailPage(mails: readonly Mail[]): SafeHtml {
  return framePage(
    { title: 'Mail' },
    html`<div class="card stack">
      <h1>Mail</h1>
      <p>Nothing is sent from this machine. Mail that would have been sent, newest first:</p>
      ${mails.length === 0 && html`<p>There is no mail yet. Ask for a code on the sign-in page.</p>`}
      ${mails.map(
        ({ to, subject, code, link }) =>
          html`<article class="stack">
            <h2>${subject}</h2>
            <p>To ${to}</p>
            <p>Code: <strong>${code}</strong></p>
            ${link !== undefined && html`<p><a href="${link}">Sign in with this link</a></p>`}
          </article>`,
      )}
    </div>`,
  )
}
