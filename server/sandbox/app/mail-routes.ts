import { Hono } from 'hono'
import { html, type SafeHtml } from '@drawbridge/shared/html.ts'
import type { Mail } from '../provider/email/mailbox.ts'
import { framePage, type PageResponder, readableTime } from './page-frame.ts'

/** What only its owner would read: mails, and the codes of authenticator apps. */
export interface ReadableSecrets {
  /** Newest first. */
  mails: readonly Mail[]
  authenticators: readonly { email: string; code: string }[]
}

/** Creates the page with the mails that this machine would have sent; as JSON for programs that ask for it. */
export function createMailRoutes({
  read,
  pages,
}: {
  read: () => ReadableSecrets
  pages: PageResponder
}): Hono {
  const routes = new Hono()
  routes.get('/mail', (c) =>
    /\bapplication\/json\b/.test(c.req.header('accept') ?? '')
      ? c.json(read().mails, 200, { 'cache-control': 'no-store' })
      : pages.show(c, mailPage(read())),
  )
  return routes
}

function mailPage({ mails, authenticators }: ReadableSecrets): SafeHtml {
  return framePage(
    { title: 'Mail and codes' },
    html`<div class="card stack plain">
      <h1>Mail and codes</h1>
      <p>Nothing is sent from this machine. Mail that would have been sent, newest first:</p>
      ${mails.length === 0 && html`<p class="hint">No mail yet. Ask for a code or a link on a sign-in page.</p>`}
      ${mails.map(
        ({ to, subject, code, link, sentAt }) =>
          html`<article class="mail">
            <h2>${subject}</h2>
            <p class="hint">To ${to}, ${readableTime(sentAt)}</p>
            <p>Code: <strong>${code}</strong></p>
            ${link !== undefined && html`<p><a href="${link}">Sign in with this link</a></p>`}
          </article>`,
      )}
      ${authenticators.map(
        ({ email, code }) =>
          html`<article class="mail">
            <h2>Authenticator app of ${email}</h2>
            <p class="hint">Changes every 30 seconds: reload this page for the next one.</p>
            <p>Code: <strong>${code}</strong></p>
          </article>`,
      )}
    </div>`,
  )
}
