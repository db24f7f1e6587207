import { html, type SafeHtml } from '@drawbridge/shared/html.ts'
import { fillHtml } from '../../texts/text.ts'
import { formErrorId, formPage, type FormView, textField } from './form-page.ts'
import type { AppView } from './layout.ts'
import { alertGlyph } from './drawings.ts'

/** Contents and form target of the page for a device's code. Every text is escaped. */
export interface DeviceEntryView extends AppView, FormView {
  /** Opaque sealed value that ties the form to its browser; sent in a hidden input. */
  form: string
  /** The previous input, or the code from a link. */
  userCode?: string
  /** The code came with the link, not from the user, so it must be compared. */
  fromLink?: boolean
}

/**
 * Renders the page for entering the code that a device shows (RFC 8628 section 3.3): one large field, which phones open in capitals
 * and without autocorrection. A code from a link is only shown; the user compares it with the device and presses the button
 * (section 3.3.1).
 */
export function deviceEntryPage(view: DeviceEntryView): string {
  const { language, fromLink = false } = view
  const texts = language.texts.device
  return formPage(view, {
    id: 'device-code',
    title: texts.heading,
    failedTitle: texts.failedTitle,
    gate: html`<h1>${texts.heading}</h1>
      <p class="ask">
        ${fillHtml(fromLink ? texts.linkAsk : texts.ask, { app: html`<bdi>${view.appName}</bdi>` })}
      </p>
      <p class="warning">${alertGlyph} <span>${fromLink ? texts.linkWarning : texts.warning}</span></p>`,
    heading: html`<div class="heading">
      <h2 id="device-code">${fromLink ? texts.compare : texts.enter}</h2>
      ${fromLink && html`<p class="quiet">${texts.compareNote}</p>`}
    </div>`,
    main: html`<form method="post" action="${view.action}" class="stack">
        <input type="hidden" name="form" value="${view.form}" />
        ${fromLink ? comparedCode(view) : letterField(view)}
        <button class="button primary" type="submit">${fromLink ? texts.same : texts.continue}</button>
      </form>
      <div class="court-foot">
        <p>${texts.noAccessYet}</p>
      </div>`,
  })
}

/** Renders a code from a link, with nothing to type. */
function comparedCode({ userCode = '' }: DeviceEntryView): SafeHtml {
  return html`<p class="code user-code compared">${userCode}</p>
    <input type="hidden" name="user_code" value="${userCode}" />`
}

function letterField(view: DeviceEntryView): SafeHtml {
  const texts = view.language.texts.device
  const described = view.error === undefined ? '' : ` ${formErrorId}`
  const attributes = html`class="code user-code" type="text" inputmode="text" autocomplete="off"
  autocapitalize="characters" autocorrect="off" spellcheck="false" pattern="[^0-9]{8,60}"
  title="${texts.fieldTitle}" maxlength="60" required autofocus aria-describedby="user_code-hint${described}"
  value="${view.userCode ?? ''}"`
  const hint = fillHtml(texts.hint, { sample: html`<span class="sample">WDJB-MJHT</span>` })
  return textField('user_code', texts.label, attributes, hint)
}
