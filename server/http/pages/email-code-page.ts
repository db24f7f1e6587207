import { html } from '@drawbridge/shared/html.ts'
import type { EmailMethod } from '../../core/session/session-provider.ts'
import type { Texts } from '../../texts/built-in.ts'
import { fillHtml } from '../../texts/text.ts'
import { codeField, formPage } from './form-page.ts'
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
      ${words.cancel !== undefined && cancelForm(view, words.cancel)}`,
  })
}

const whatToDo = {
  code: 'enterMailed',
  link: 'openMailed',
  both: 'enterOrOpenMailed',
} as const satisfies Record<EmailMethod, keyof Texts['code']>
