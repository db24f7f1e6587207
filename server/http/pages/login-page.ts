import { html, type SafeHtml } from '@drawbridge/shared/html.ts'
import type { Captcha } from '../../core/session/session-provider.ts'
import { alertBox, layout } from './layout.ts'
import { captchaScript, captchaWidget } from './captcha.ts'
import {
  aboutSubject,
  subjectSummary,
  type SignInView,
  type SubjectWords,
  subjectWords,
  transactionInput,
} from './sign-in-subject.ts'

/** Contents of the login page. No text is trusted to be short. */
export interface LoginView extends SignInView {
  /** Offers the email and password form. */
  password: boolean
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
  const words = subjectWords(view.subject)
  return layout({
    links: view.links,
    title: `${view.error === undefined ? '' : 'Not signed in: '}${words.signInTitle}`,
    bridge: 'lowering',
    ...(view.password && view.captcha && { head: captchaScript(view.captcha) }),
    gate: subjectSummary(view.subject, view),
    main: html`<section class="court-inner" aria-labelledby="sign-in">
      <h2 id="sign-in">Sign in with your account at <bdi>${view.appName}</bdi></h2>
      ${view.error !== undefined && alertBox(view.error, 'sign-in-error')}
      ${view.password ? passwordForm(view, words) : ''}
      ${view.password && view.social.length > 0 ? html`<p class="or"><span>or</span></p>` : ''}
      ${view.social.length > 0 ? socialForm(view, words) : ''}
      ${
        view.password || view.social.length > 0
          ? ''
          : alertBox(
              html`The ways to sign in that ${view.appName} uses are not offered here. Ask the server’s
              operator: doctor says what to set.`,
            )
      }
      ${
        words.cancel === undefined
          ? ''
          : html`<form method="post" action="${view.action}" class="cancel">
              ${transactionInput(view)}
              <button class="button plain" name="action" value="deny" formnovalidate>${words.cancel}</button>
            </form>`
      }
      <div class="court-foot">
        <p>
          No account yet? <a class="link" href="${view.appUrl}">Create one at ${view.appName}</a>, then come
          back here.
        </p>
        ${aboutSubject(view.subject)}
      </div>
    </section>`,
  })
}

function passwordForm(view: LoginView, words: SubjectWords): SafeHtml {
  // After a failed attempt the focus is on the field to correct, and the error describes both fields.
  const failed = view.error !== undefined
  const describedBy = failed ? html` aria-describedby="sign-in-error"` : ''
  const focus = html` autofocus`
  return html`<form method="post" action="${view.action}" class="stack">
    ${transactionInput(view)}
    <div class="field">
      <label for="email">Email</label>
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
    <div class="field">
      <label for="password">Password</label>
      <input
        id="password"
        name="password"
        type="password"
        autocomplete="current-password"
        required${describedBy}${failed && view.email ? focus : ''}
      />
    </div>
    ${view.captcha && captchaWidget(view.captcha, view.social.length > 0)}
    <button class="button primary deliberate" type="submit">${words.signIn}</button>
  </form>`
}

function socialForm(view: LoginView, words: SubjectWords): SafeHtml {
  return html`<form method="post" action="${view.action}" class="stack">
    ${transactionInput(view)}
    ${view.social.map(
      ({ id, label }, position) =>
        html`<button
          class="button ${view.password || position > 0 ? 'secondary' : 'primary'} deliberate"
          name="provider"
          value="${id}"
        >
          ${words.continueWith(label)}
        </button>`,
    )}
  </form>`
}
