import { html, type SafeHtml } from '@drawbridge/shared/html.ts'
import type { EmailMethod } from '../../core/session/session-provider.ts'
import type { Texts } from '../../texts/built-in.ts'
import { fillHtml, fillText } from '../../texts/text.ts'
import { choiceField, formErrorId, formPage, type FormView, textField } from './form-page.ts'
import { headingWith } from './layout.ts'
import {
  cancelForm,
  type SignInView,
  subjectSummary,
  subjectWords,
  transactionInput,
} from './sign-in-subject.ts'

export interface EmailCodeView extends SignInView {
  email: string
  method: EmailMethod
  /** Seconds until another mail may be asked for; undefined where that takes a captcha, which is on the login page. */
  waitSeconds: number | undefined
}

/**
 * Renders the page after a mail was asked for: the same whether or not the address has an account. With the same facts as on the login
 * page, because confirming allows access. No script.
 */
export function emailCodePage(view: EmailCodeView): string {
  const words = subjectWords(view)
  const { language, appName, method, waitSeconds } = view
  const texts = language.texts.code
  const sent = fillHtml(texts.mailSent, {
    email: html`<bdi>${view.email}</bdi>`,
    app: html`<bdi>${appName}</bdi>`,
  })
  return formPage(view, {
    id: 'email-code',
    title: words.codeTitle,
    failedTitle: texts.failedTitle,
    gate: subjectSummary(view),
    heading: headingWith(texts.mailHeading, html`${sent} ${texts[whatToDo[method]]}`, 'email-code'),
    main: html`${
        method !== 'link' &&
        html`<form method="post" action="${view.action}" class="stack">
          ${transactionInput(view)} ${codeField(view, texts, { digits: '6,10', title: texts.mailTitle })}
          <button class="button primary deliberate" type="submit">${words.confirm}</button>
        </form>`
      }
      <form method="post" action="${view.action}" class="stack">
        ${transactionInput(view)}
        ${
          waitSeconds !== undefined &&
          html`<p class="quiet">
              ${waitSeconds === 0 ? texts.noMail : language.counted(texts.waitForMail, waitSeconds)}
            </p>
            <button class="button secondary" name="action" value="email">${texts.sendAnother}</button>`
        }
        <button class="button plain" name="action" value="back">${texts.anotherWay}</button>
      </form>
      ${view.subject.kind !== 'account' && cancelForm(view)}`,
  })
}

const whatToDo = {
  code: 'enterMailed',
  link: 'openMailed',
  both: 'enterOrOpenMailed',
} as const satisfies Record<EmailMethod, keyof Texts['code']>

export interface SecondFactorView extends SignInView {
  /** The factors of the account, at least one. `label` is the user's own name for it, and may be empty. */
  factors: readonly { id: string; label: string }[]
  /** The factor that was tried last; by default the first one is chosen. */
  chosen?: string | undefined
}

/**
 * Renders the page that asks for a code from the authenticator app: with the same facts as on the login page, because confirming
 * allows access. No script. The choice of factor is shown only if there are several.
 */
export function secondFactorPage(view: SecondFactorView): string {
  const words = subjectWords(view)
  const { language, appName } = view
  const texts = language.texts.code
  return formPage(view, {
    id: 'second-factor',
    title: words.codeTitle,
    failedTitle: texts.failedTitle,
    gate: subjectSummary(view),
    heading: headingWith(texts.factorHeading, texts.factorNote, 'second-factor'),
    main: html`<form method="post" action="${view.action}" class="stack">
        ${transactionInput(view)} ${factorChoice(view, texts)}
        ${codeField(view, texts, { digits: '6', title: texts.factorTitle, hint: texts.factorHint })}
        <button class="button primary" type="submit">${words.confirm}</button>
      </form>
      ${cancelForm(view)}
      <div class="court-foot">
        <p>
          ${fillHtml(texts.factorHelp, {
            help: html`<a class="link" href="${view.appUrl}"
              >${fillText(texts.getHelp, { app: appName })}</a
            >`,
          })}
        </p>
      </div>`,
  })
}

function factorChoice({ factors, chosen }: SecondFactorView, texts: Texts['code']): SafeHtml | false {
  if (factors.length < 2) return false
  const checked = factors.some(({ id }) => id === chosen) ? chosen : factors[0]?.id
  return choiceField(
    { type: 'radio', name: 'factor', legend: texts.whichApp },
    factors.map(({ id, label }, position) => ({
      value: id,
      text: html`<bdi>${label.trim() || fillText(texts.unnamedFactor, { number: position + 1 })}</bdi>`,
      ticked: id === checked,
    })),
  )
}

/** Renders the field for a code of `digits` digits, with spaces between them as apps and users put them. */
function codeField(
  { error }: FormView,
  texts: Texts['code'],
  { digits, title, hint }: { digits: string; title: string; hint?: string },
): SafeHtml {
  const describedBy = [hint !== undefined && 'code-hint', error !== undefined && formErrorId].filter(Boolean)
  const attributes = html`class="code" inputmode="numeric" autocomplete="one-time-code"
  pattern="\\s*([0-9]\\s*){${digits}}" title="${title}" maxlength="20" spellcheck="false" required autofocus
  ${describedBy.length > 0 && html`aria-describedby="${describedBy.join(' ')}"`}`
  return textField('code', texts.label, attributes, hint)
}
