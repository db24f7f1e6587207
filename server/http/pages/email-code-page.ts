import { html, type SafeHtml } from '@drawbridge/shared/html.ts'
import type { EmailMethod } from '../../core/session/session-provider.ts'
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
  const words = subjectWords(view.subject)
  return layout({
    look: view.look,
    links: view.links,
    title: `${view.error === undefined ? '' : 'Not confirmed: '}${words.codeTitle}`,
    bridge: 'lowering',
    gate: subjectSummary(view.subject, view),
    main: html`<section class="court-inner" aria-labelledby="email-code">
      <div class="heading">
        <h2 id="email-code">Check your email</h2>
        <p class="quiet">
          If <bdi>${view.email}</bdi> has an account at <bdi>${view.appName}</bdi>, a mail is on its way.
          ${whatToDo[view.method]}
        </p>
      </div>
      ${view.error !== undefined && alertBox(view.error, 'code-error')}
      ${
        view.method !== 'link' &&
        html`<form method="post" action="${view.action}" class="stack">
          ${transactionInput(view)} ${codeField(view)}
          <button class="button primary deliberate" type="submit">${words.confirm}</button>
        </form>`
      }
      <form method="post" action="${view.action}" class="stack">
        ${transactionInput(view)}
        ${
          view.waitSeconds !== undefined &&
          html`<p class="quiet">${waitText(view.waitSeconds)}</p>
            <button class="button secondary" name="action" value="email">Send another mail</button>`
        }
        <button class="button plain" name="action" value="back">Use another address or way to sign in</button>
      </form>
      ${words.cancel !== undefined && cancelForm(view, words.cancel)}
    </section>`,
  })
}

const whatToDo: Readonly<Record<EmailMethod, string>> = {
  code: 'Enter the code from it.',
  link: 'Open the link in it, in this browser.',
  both: 'Enter the code from it, or open the link in it in this browser.',
}

function waitText(seconds: number): string {
  if (seconds === 0) return 'No mail after a minute? Look into the spam folder, then ask again.'
  return `You can ask for another mail in ${seconds === 1 ? 'a second' : `${seconds}\u00a0seconds`}.`
}

function codeField({ error }: EmailCodeView): SafeHtml {
  return html`<div class="field">
    <label for="code">Code</label>
    <input
      id="code"
      class="code"
      name="code"
      inputmode="numeric"
      autocomplete="one-time-code"
      pattern="\\s*([0-9]\\s*){6,10}"
      title="The digits in the mail"
      maxlength="20"
      spellcheck="false"
      required
      autofocus
      ${error === undefined ? '' : html` aria-describedby="code-error"`}
    />
  </div>`
}
