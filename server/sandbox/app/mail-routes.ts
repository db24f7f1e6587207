import { Hono } from 'hono'
import { html, type SafeHtml } from '@drawbridge/shared/html.ts'
import { computeTotp } from '../provider/accounts/totp.ts'
import type { AuthServices, Mail } from '../provider/auth-services.ts'
import { company } from '../provider/social/stand-in.ts'
import { fillHtml, fillText } from '../../texts/text.ts'
import { appPage, type DemoView, type ShowPage } from './page.ts'

/** Creates the page with the mails that this machine would have sent; as JSON for programs that ask for it. */
export function createMailRoutes(services: AuthServices, show: ShowPage): Hono {
  const routes = new Hono()
  routes.get('/mail', (c) => {
    const { mails } = services
    if (!/\bapplication\/json\b/.test(c.req.header('accept') ?? '')) {
      return show(c, (view) => mailPage(view, mails))
    }
    const shown = mails.map(({ to, subject, code, link, sentAt }) => ({ to, subject, code, link, sentAt }))
    return c.json(shown, 200, { 'cache-control': 'no-store' })
  })
  return routes
}

/** Shows codes of authenticator apps too, which only their owner would read elsewhere. */
function mailPage(view: DemoView, mails: readonly Mail[]): string {
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
        ${company.accounts.map(
          ({ email, factorSecret }) =>
            factorSecret !== undefined &&
            html`<li class="connection">
              <h3>${fillText(texts.authenticator, { email })}</h3>
              <p class="quiet">${texts.reload}</p>
              ${codeLine(computeTotp(factorSecret, now))}
            </li>`,
        )}
      </ul>
      <p><a class="link alone" href="/">${view.texts.page.start}</a></p>`,
  })
}
