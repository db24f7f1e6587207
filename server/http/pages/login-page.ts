import { html, type SafeHtml } from '@drawbridge/shared/html.ts'
import {
  type Captcha,
  type EmailMethod,
  type SignInMethod,
  signInMethods,
} from '../../core/session/session-provider.ts'
import { fillHtml, fillText } from '../../texts/text.ts'
import { alertBox } from './layout.ts'
import { type Choice, formErrorId, formPage, textField } from './form-page.ts'
import { scopeBoxes } from './sign-in-choices.ts'
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
  password: boolean
  emailMethod?: EmailMethod | undefined
  /** Offers single sign-on by the domain of a company. */
  sso: boolean
  /** The captcha that the form with the email field requires. */
  captcha?: Captcha | undefined
  social: readonly { id: string; label: string }[]
  /** Where the web app signs users in itself, instead of the ways above. */
  continueUrl?: string
  scopes: readonly Choice[]
  /** The previous input, or the request's login_hint. */
  email?: string | undefined
}

/**
 * Renders the page shown before a user allows a client or manages their connections: proven facts (verified host, return address)
 * stand out, the client's own claims are small and quoted, and every button that allows access says so. No sign-up form, and no
 * script except the captcha's. Does not check the facts; the authorization request decided them.
 */
export function loginPage(view: LoginView): string {
  const words = subjectWords(view)
  const withEmail = offered(view).filter((way) => way !== 'social')
  const { language, appName, appUrl, signUpUrl = appUrl } = view
  const texts = language.texts.login
  return formPage(view, {
    id: 'sign-in',
    title: words.title,
    failedTitle: texts.failedTitle,
    head: withEmail.length > 0 && view.captcha ? captchaScript(view.captcha) : undefined,
    gate: subjectSummary(view),
    heading: html`<h2 id="sign-in">${fillHtml(texts.heading, { app: html`<bdi>${appName}</bdi>` })}</h2>`,
    main: html`${methods(view, words, withEmail)} ${view.subject.kind !== 'account' && cancelForm(view)}
      <div class="court-foot">
        <p>
          ${fillHtml(texts.noAccount, {
            create: html`<a class="link" href="${signUpUrl}"
              >${fillText(texts.createAccount, { app: appName })}</a
            >`,
          })}
        </p>
        ${aboutSubject(view)}
      </div>`,
  })
}

function offered({ password, emailMethod, social, sso }: LoginView): SignInMethod[] {
  const isOffered = { password, email: emailMethod !== undefined, social: social.length > 0, sso }
  return signInMethods.filter((way) => isOffered[way])
}

const emailFormId = 'with-email'

/**
 * One form has the email field and the buttons of all ways that need it; the other has the buttons of social sign-in. The boxes of
 * scopes are in the first one, which the buttons of the other then send.
 */
function methods(view: LoginView, words: SubjectWords, withEmail: readonly SignInMethod[]): SafeHtml {
  const texts = view.language.texts.login
  const hasBoxes = view.scopes.length > 0
  const isSocialFirst = offered(view)[0] === 'social' && (!hasBoxes || withEmail.length === 0)
  const forms = [
    withEmail.length > 0 && emailForm(view, words, withEmail, !isSocialFirst),
    view.social.length > 0 && socialForm(view, words, isSocialFirst, hasBoxes && withEmail.length > 0),
  ].filter((form) => form !== false)
  if (view.continueUrl !== undefined) {
    const label = fillText(words.continueWith, { method: view.appName })
    return html`<a class="button primary deliberate" href="${view.continueUrl}">${label}</a>`
  }
  if (forms.length === 0) {
    return alertBox(fillText(texts.noMethod, { app: view.appName }))
  }
  const [first, second] = isSocialFirst ? forms.toReversed() : forms
  return html`${first} ${second && html`<p class="or"><span>${texts.or}</span></p>`} ${second}`
}

function emailForm(
  view: LoginView,
  words: SubjectWords,
  ways: readonly SignInMethod[],
  isFirst: boolean,
): SafeHtml {
  const { texts } = view.language
  // After a failed attempt the focus is on the field to correct, and the error describes both fields.
  const failed = view.error !== undefined
  const describedBy = failed ? html` aria-describedby="${formErrorId}"` : ''
  const focused = html`${describedBy}${failed && html` autofocus`}`
  const isPasswordNext = view.password && Boolean(view.email)
  const boxes = scopeBoxes(view.scopes, view.language)
  const id = boxes && html`id="${emailFormId}" `
  return html`<form ${id}method="post" action="${view.action}" class="stack">
    ${transactionInput(view)} ${boxes}${emailField(view, isPasswordNext ? describedBy : focused)}
    ${view.password && passwordField(texts.login.password, isPasswordNext ? focused : describedBy)}
    ${view.captcha && captchaWidget(view.captcha, { elsewhere: view.social.length > 0, texts })}
    ${ways.map((way, position) => wayButton(way, isFirst && position === 0, view, words))}
  </form>`
}

function emailField(
  { password, emailMethod, email = '', language }: LoginView,
  more: SafeHtml | string,
): SafeHtml {
  const texts = language.texts.login
  const takesAddress = password || emailMethod !== undefined
  const attributes = html`type="${takesAddress ? 'email' : 'text'}" inputmode="email" autocomplete="username"
  autocapitalize="none" spellcheck="false" required value="${email}" ${more}`
  return textField('email', takesAddress ? texts.email : texts.emailOrDomain, attributes)
}

function passwordField(label: string, more: SafeHtml | string): SafeHtml {
  return textField('password', label, html`type="password" autocomplete="current-password" required${more}`)
}

/** The first button of a form is the one that Enter presses. */
function wayButton(way: SignInMethod, isPrimary: boolean, view: LoginView, words: SubjectWords): SafeHtml {
  const texts = view.language.texts.login
  const rank = isPrimary ? 'primary' : 'secondary'
  if (way === 'password') {
    return html`<button class="button ${rank} deliberate" type="submit">${words.signIn}</button>`
  }
  if (way === 'sso') {
    // A field for an address alone would refuse a domain.
    return html`<button class="button ${rank} deliberate" name="action" value="sso" formnovalidate>
      ${words.sso}
    </button>`
  }
  return html`<button class="button ${rank}" name="action" value="email" formnovalidate>
    ${{ code: texts.mailCode, link: texts.mailLink, both: texts.mailCodeOrLink }[view.emailMethod ?? 'code']}
  </button>`
}

/** With `sendsEmailForm` the buttons belong to that form, without its fields being required. */
function socialForm(
  view: LoginView,
  words: SubjectWords,
  isFirst: boolean,
  sendsEmailForm: boolean,
): SafeHtml {
  const form = sendsEmailForm && html`form="${emailFormId}" formnovalidate `
  return html`<form method="post" action="${view.action}" class="stack">
    ${transactionInput(view)}${!sendsEmailForm && scopeBoxes(view.scopes, view.language)}
    ${view.social.map(
      ({ id, label }, position) =>
        html`<button
          class="button ${isFirst && position === 0 ? 'primary' : 'secondary'} deliberate"
          ${form}name="provider"
          value="${id}"
        >
          ${fillText(words.continueWith, { method: label })}
        </button>`,
    )}
  </form>`
}
