import { html, type SafeHtml } from '@drawbridge/shared/html.ts'
import type { Captcha, EmailMethod } from '../../core/session/session-provider.ts'
import { fillHtml, fillText } from '../../texts/text.ts'
import { alertBox, layout } from './layout.ts'
import { captchaScript, captchaWidget } from './captcha.ts'
import {
  aboutSubject,
  cancelForm,
  subjectSummary,
  type SignInView,
  type SubjectWords,
  subjectWords,
  transactionInput,
} from './sign-in-subject.ts'

/** Contents of the login page. No text is trusted to be short. */
export interface LoginView extends SignInView {
  /** Offers to sign in with a password. */
  password: boolean
  /** Offers to sign in with a mail. */
  emailMethod?: EmailMethod | undefined
  /** The captcha that the password form requires. */
  captcha?: Captcha
  /** Social sign-in methods to offer, in this order. */
  social: readonly { id: string; label: string }[]
  /** The previous input, or the request's login_hint. */
  email?: string
}

/**
 * Renders the page shown before a user allows a client or manages their connections: proven facts (verified host, return address)
 * stand out, the client's own claims are small and quoted, and every button that allows access says so. No sign-up form, and no
 * script except that of a captcha. Does not check the facts; the authorization request decided them.
 */
export function loginPage(view: LoginView): string {
  const words = subjectWords(view)
  const { language, appName, appUrl } = view
  const texts = language.texts.login
  const title = words.signInTitle
  return layout({
    language,
    links: view.links,
    title: view.error === undefined ? title : fillText(texts.failedTitle, { title }),
    bridge: 'lowering',
    ...(hasForm(view) && view.captcha && { head: captchaScript(view.captcha) }),
    gate: subjectSummary(view),
    main: html`<section class="court-inner" aria-labelledby="sign-in">
      <h2 id="sign-in">${fillHtml(texts.heading, { app: html`<bdi>${appName}</bdi>` })}</h2>
      ${view.error !== undefined && alertBox(view.error, 'sign-in-error')} ${methods(view, words)}
      ${words.cancel !== undefined && cancelForm(view, words.cancel)}
      <div class="court-foot">
        <p>
          ${fillHtml(texts.noAccount, {
            create: html`<a class="link" href="${appUrl}"
              >${fillText(texts.createAccount, { app: appName })}</a
            >`,
          })}
        </p>
        ${aboutSubject(view)}
      </div>
    </section>`,
  })
}

function hasForm({ password, emailMethod }: LoginView): boolean {
  return password || emailMethod !== undefined
}

function methods(view: LoginView, words: SubjectWords): SafeHtml {
  const texts = view.language.texts.login
  const hasSocial = view.social.length > 0
  if (!hasForm(view) && !hasSocial) {
    return alertBox(fillText(texts.noMethod, { app: view.appName }))
  }
  return html`${hasForm(view) && emailForm(view, words)}
  ${hasForm(view) && hasSocial && html`<p class="or"><span>${texts.or}</span></p>`}
  ${hasSocial && socialForm(view, words)}`
}

function emailForm(view: LoginView, words: SubjectWords): SafeHtml {
  const { texts } = view.language
  // After a failed attempt the focus is on the field to correct, and the error describes both fields.
  const failed = view.error !== undefined
  const describedBy = failed ? html` aria-describedby="sign-in-error"` : ''
  const focus = html` autofocus`
  return html`<form method="post" action="${view.action}" class="stack">
    ${transactionInput(view)}
    <div class="field">
      <label for="email">${texts.login.email}</label>
      <input
        id="email"
        name="email"
        type="email"
        inputmode="email"
        autocomplete="username"
        autocapitalize="none"
        spellcheck="false"
        required
        value="${view.email ?? ''}"
        ${describedBy}${failed && !view.email ? focus : ''}
      />
    </div>
    ${view.password && passwordField(texts.login.password, html`${describedBy}${failed && view.email ? focus : ''}`)}
    ${view.captcha && captchaWidget(view.captcha, { elsewhere: view.social.length > 0, texts })}
    ${view.password && html`<button class="button primary deliberate" type="submit">${words.signIn}</button>`}
    ${mailButton(view)}
  </form>`
}

function passwordField(label: string, more: SafeHtml): SafeHtml {
  return html`<div class="field">
    <label for="password">${label}</label>
    <input id="password" name="password" type="password" autocomplete="current-password" required${more} />
  </div>`
}

/** The first button of a form is the one that Enter presses: the password's, where there is one. */
function mailButton({ emailMethod, password, language: { texts } }: LoginView): SafeHtml | false {
  if (emailMethod === undefined) return false
  return html`<button
    class="button ${password ? 'secondary' : 'primary'}"
    name="action"
    value="email"
    formnovalidate
  >
    ${emailMethod === 'link' ? texts.login.mailLink : texts.login.mailCode}
  </button>`
}

function socialForm(view: LoginView, words: SubjectWords): SafeHtml {
  return html`<form method="post" action="${view.action}" class="stack">
    ${transactionInput(view)}
    ${view.social.map(
      ({ id, label }, position) =>
        html`<button
          class="button ${view.password || view.emailMethod !== undefined || position > 0 ? 'secondary' : 'primary'} deliberate"
          name="provider"
          value="${id}"
        >
          ${words.continueWith(label)}
        </button>`,
    )}
  </form>`
}
