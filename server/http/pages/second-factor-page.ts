import { html, type SafeHtml } from '@drawbridge/shared/html.ts'
import type { Texts } from '../../texts/built-in.ts'
import { fillHtml, fillText } from '../../texts/text.ts'
import { codeField, formPage } from './form-page.ts'
import { headingWith } from './layout.ts'
import {
  cancelForm,
  type SignInView,
  subjectSummary,
  subjectWords,
  transactionInput,
} from './sign-in-subject.ts'

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
      ${cancelForm(view, words.cancel ?? language.texts.subject.accountCancel)}
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
