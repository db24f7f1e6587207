import { Hono } from 'hono'
import { html, type SafeHtml } from '@drawbridge/shared/html.ts'
import type { Mail } from '../provider/email/email-code.ts'
import { fillHtml, fillText } from '../../texts/text.ts'
import { appPage, type DemoView, type ShowPage } from './page.ts'

/** Mails and codes of authenticator apps, which only their owner would read elsewhere. */
export interface ReadableSecrets {
  /** Newest first. */
  mails: readonly Mail[]
  authenticators: readonly { email: string; code: string }[]
}

/** Creates the page with the mails that this machine would have sent; as JSON for programs that ask for it. */
export function createMailRoutes({ read, show }: { read: () => ReadableSecrets; show: ShowPage }): Hono {
  const routes = new Hono()
  routes.get('/mail', (c) =>
    /\bapplication\/json\b/.test(c.req.header('accept') ?? '')
      ? c.json(read().mails, 200, { 'cache-control': 'no-store' })
      : show(c, (view) => mailPage(view, read())),
  )
  return routes
}

function mailPage(view: DemoView, { mails, authenticators }: ReadableSecrets): string {
  const { language, now } = view
  const { mail: texts } = view.texts
  const codeLine = (code: string): SafeHtml =>
    html`<p>${fillHtml(texts.code, { code: html`<strong>${code}</strong>` })}</p>`
  return appPage(view, {
    title: texts.title,
    about: texts.about,
    main: html`${mails.length === 0 && html`<p class="quiet">${texts.none}</p>`}
      <ul class="connections">
        ${mails.map(
          ({ to, subject, code, link, sentAt }) =>
            html`<li class="connection">
              <h3>${subject}</h3>
              <p class="quiet">${fillText(texts.to, { email: to, when: language.ago(sentAt, now) })}</p>
              ${codeLine(code)}
              ${link !== undefined && html`<p><a class="link" href="${link}">${texts.link}</a></p>`}
            </li>`,
        )}
        ${authenticators.map(
          ({ email, code }) =>
            html`<li class="connection">
              <h3>${fillText(texts.authenticator, { email })}</h3>
              <p class="quiet">${texts.reload}</p>
              ${codeLine(code)}
            </li>`,
        )}
      </ul>
      <p><a class="link alone" href="/">${view.texts.page.start}</a></p>`,
  })
}
