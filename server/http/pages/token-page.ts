import { html, type SafeHtml } from '@drawbridge/shared/html.ts'
import { fillHtml } from '../../texts/text.ts'
import { type ConnectionForm, dayTime, formInput } from './connection-list.ts'
import { type Choice, choiceField, textField } from './form-page.ts'
import { aloneLink, headingWith, layout, type PageView } from './layout.ts'
import { quotedName } from './names.ts'
import { scopeBoxes } from './sign-in-choices.ts'

/** What a personal token can be made with. */
export interface TokenFormView {
  scopes: readonly Choice[]
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
      ${scopeBoxes(scopes, language, texts.scopesHint)}
      ${choiceField(
        { type: 'radio', name: 'days', legend: texts.lasts },
        days.map((value, index) => ({
          value,
          text: language.counted(texts.days, value),
          ticked: index === 0,
        })),
      )}
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
