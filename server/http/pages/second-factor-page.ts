import { html, type SafeHtml } from '@drawbridge/shared/html.ts'
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

/** Contents of the second-factor page. */
export interface SecondFactorView extends SignInView {
  /** The factors of the account, at least one. `label` is the user's own name for it, and may be empty. */
  factors: readonly { id: string; label: string }[]
  /** The factor that was tried last; by default the first one is chosen. */
  chosen?: string
}

/**
 * Renders the page that asks for a code from the authenticator app: with the same facts as on the login page, because confirming
 * allows access. No script. The choice of factor is shown only if there are several.
 */
export function secondFactorPage(view: SecondFactorView): string {
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
    main: html`<section class="court-inner" aria-labelledby="second-factor">
      <div class="heading">
        <h2 id="second-factor">${texts.factorHeading}</h2>
        <p class="quiet">${texts.factorNote}</p>
      </div>
      ${view.error !== undefined && alertBox(view.error, 'code-error')}
      <form method="post" action="${view.action}" class="stack">
        ${transactionInput(view)} ${factorChoice(view, texts)} ${codeField(view, texts)}
        <button class="button primary" type="submit">${words.confirm}</button>
      </form>
      ${cancelForm(view, words.cancel ?? language.texts.subject.accountCancel)}
      <div class="court-foot">
        <p>
          ${fillHtml(texts.factorHelp, {
            help: html`<a class="link" href="${view.appUrl}"
              >${fillText(texts.getHelp, { app: appName })}</a
            >`,
          })}
        </p>
      </div>
    </section>`,
  })
}

function factorChoice({ factors, chosen }: SecondFactorView, texts: Texts['code']): SafeHtml | false {
  if (factors.length < 2) return false
  const checked = factors.some(({ id }) => id === chosen) ? chosen : factors[0]?.id
  return html`<fieldset class="choices">
    <legend>${texts.whichApp}</legend>
    ${factors.map(
      ({ id, label }, position) =>
        html`<label class="choice"
          ><input type="radio" name="factor" value="${id}" ${id === checked ? html`checked` : ''} /><bdi
            >${label.trim() || fillText(texts.unnamedFactor, { number: position + 1 })}</bdi
          ></label
        >`,
    )}
  </fieldset>`
}

function codeField({ error }: SecondFactorView, texts: Texts['code']): SafeHtml {
  // Apps and users put spaces between the digits.
  return html`<div class="field">
    <label for="code">${texts.label}</label>
    <input
      id="code"
      class="code"
      name="code"
      inputmode="numeric"
      autocomplete="one-time-code"
      pattern="\\s*([0-9]\\s*){6}"
      title="${texts.factorTitle}"
      maxlength="20"
      spellcheck="false"
      required
      autofocus
      aria-describedby="code-hint${error === undefined ? '' : ' code-error'}"
    />
    <p class="quiet" id="code-hint">${texts.factorHint}</p>
  </div>`
}
