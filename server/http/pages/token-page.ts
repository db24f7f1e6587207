import { html, type SafeHtml } from '@drawbridge/shared/html.ts'
import { fillHtml } from '../../texts/text.ts'
import { type ConnectionForm, dayTime, formInput } from './connection-list.ts'
import { textField } from './form-page.ts'
import { aloneLink, headingWith, layout, type PageView } from './layout.ts'
import { quotedName } from './names.ts'
import { scopeBoxes, type ScopeBoxView } from './sign-in-choices.ts'

/** What a personal token can be made with. */
export interface TokenFormView {
  scopes: readonly ScopeBoxView[]
  days: readonly number[]
}

/** Renders the form that makes a personal token, after a sign-in. */
export function tokenForm({ scopes, days }: TokenFormView, view: ConnectionForm): SafeHtml {
  const { language } = view
  const texts = language.texts.token
  return html`<details class="end-all">
    <summary class="button secondary">${texts.ask}</summary>
    <form method="post" action="${view.action}" class="stack">
      ${formInput(view)}
      <p class="quiet">${texts.note}</p>
      ${textField('name', texts.name, html`type="text" autocomplete="off" maxlength="40" required`)}
      ${scopes.length > 0 && scopeBoxes(scopes, language, texts.scopesHint)}
      <fieldset class="choices">
        <legend>${texts.lasts}</legend>
        ${days.map(
          (count, index) =>
            html`<label class="choice"
              ><input
                type="radio"
                name="days"
                value="${count}"
                required
                ${index === 0 && html`checked`}
              /><span>${language.counted(texts.days, count)}</span></label
            >`,
        )}
      </fieldset>
      <button class="button primary" name="action" value="make_token">${texts.make}</button>
    </form>
  </details>`
}

export interface TokenView extends PageView {
  name: string
  token: string
  expiresAt: number
  /** Path of the connections page. */
  back: string
}

/** Renders a new personal token, which no page shows again. No script. */
export function tokenPage({ name, token, expiresAt, back, ...view }: TokenView): string {
  const { language } = view
  const texts = language.texts.token
  const ends = { name: quotedName(name, language), when: dayTime(expiresAt, language) }
  return layout(view, {
    title: texts.madeTitle,
    bridge: 'lowered',
    gate: html`<h1>${texts.madeTitle}</h1>
      <p class="ask">${fillHtml(texts.made, ends)}</p>`,
    main: html`<div class="court-inner">
      ${headingWith(texts.copyHeading, texts.copyNote)}
      <pre class="snippet"><code>${token}</code></pre>
      <p class="quiet">${fillHtml(texts.use, {})}</p>
      ${aloneLink(back, texts.back)}
    </div>`,
  })
}
