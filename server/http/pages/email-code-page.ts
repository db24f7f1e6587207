import { html, type SafeHtml } from '@drawbridge/shared/html.ts'
import type { EmailMethod } from '../../core/session/session-provider.ts'
import type { Texts } from '../../texts/english.ts'
import { fillHtml, fillText } from '../../texts/text.ts'
import { alertBox, layout } from './layout.ts'
import {
  cancelForm,
  type SignInView,
  subjectSummary,
  subjectWords,
  transactionInput,
} from './sign-in-subject.ts'

/** Contents of the page that waits for what was mailed. */
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
  const { language, appName } = view
  const texts = language.texts.code
  const title = words.codeTitle
  return layout({
    look: view.look,
    language,
    links: view.links,
    title: view.error === undefined ? title : fillText(texts.failedTitle, { title }),
    bridge: 'lowering',
    gate: subjectSummary(view),
    main: html`<section class="court-inner" aria-labelledby="email-code">
      <div class="heading">
        <h2 id="email-code">${texts.mailHeading}</h2>
        <p class="quiet">
          ${fillHtml(texts.mailSent, {
            email: html`<bdi>${view.email}</bdi>`,
            app: html`<bdi>${appName}</bdi>`,
          })}
          ${texts[whatToDo[view.method]]}
        </p>
      </div>
      ${view.error !== undefined && alertBox(view.error, 'code-error')}
      ${
        view.method !== 'link' &&
        html`<form method="post" action="${view.action}" class="stack">
          ${transactionInput(view)} ${codeField(view, texts)}
          <button class="button primary deliberate" type="submit">${words.confirm}</button>
        </form>`
      }
      <form method="post" action="${view.action}" class="stack">
        ${transactionInput(view)}
        ${
          view.waitSeconds !== undefined &&
          html`<p class="quiet">
              ${view.waitSeconds === 0 ? texts.noMail : language.counted(texts.waitForMail, view.waitSeconds)}
            </p>
            <button class="button secondary" name="action" value="email">${texts.sendAnother}</button>`
        }
        <button class="button plain" name="action" value="back">${texts.anotherWay}</button>
      </form>
      ${words.cancel !== undefined && cancelForm(view, words.cancel)}
    </section>`,
  })
}

const whatToDo = {
  code: 'enterMailed',
  link: 'openMailed',
  both: 'enterOrOpenMailed',
} as const satisfies Record<EmailMethod, keyof Texts['code']>

function codeField({ error }: EmailCodeView, texts: Texts['code']): SafeHtml {
  return html`<div class="field">
    <label for="code">${texts.label}</label>
    <input
      id="code"
      class="code"
      name="code"
      inputmode="numeric"
      autocomplete="one-time-code"
      pattern="\\s*([0-9]\\s*){6,10}"
      title="${texts.mailTitle}"
      maxlength="20"
      spellcheck="false"
      required
      autofocus
      ${error === undefined ? '' : html` aria-describedby="code-error"`}
    />
  </div>`
}
