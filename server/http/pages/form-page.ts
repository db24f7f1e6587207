import { html, type SafeHtml } from '@drawbridge/shared/html.ts'
import { fillText } from '../../texts/text.ts'
import { alertBox, layout, type PageView } from './layout.ts'

/** A page whose form asks for what a sign-in needs. */
export interface FormView extends PageView {
  /** Absolute path that the forms post to. */
  action: string
  /** Why the last form failed, as a sentence. */
  error?: string | undefined
}

/** The id of the alert about {@link FormView.error}, for the fields that it describes. */
export const formErrorId = 'form-error'

/**
 * Renders a page with a form. `id` is the id of the heading in `heading`. A failure of the last form comes between the heading and the
 * form, and its kind before the title.
 */
export function formPage(
  view: FormView,
  parts: {
    id: string
    title: string
    failedTitle: string
    head?: SafeHtml | undefined
    gate: SafeHtml
    heading: SafeHtml
    main: SafeHtml
  },
): string {
  const { id, title, failedTitle, head, gate, heading, main } = parts
  return layout(view, {
    title: view.error === undefined ? title : fillText(failedTitle, { title }),
    bridge: 'lowering',
    head,
    gate,
    main: html`<section class="court-inner" aria-labelledby="${id}">
      ${heading} ${view.error !== undefined && alertBox(view.error, formErrorId)} ${main}
    </section>`,
  })
}

/** Renders a field with its label. `attributes` are the input's; `hint` is the text below it, with the id `ID-hint`. */
export function textField(
  id: string,
  label: string,
  attributes: SafeHtml,
  hint?: SafeHtml | string,
): SafeHtml {
  return html`<div class="field">
    <label for="${id}">${label}</label>
    <input id="${id}" name="${id}" ${attributes} />
    ${hint !== undefined && html`<p class="quiet" id="${id}-hint">${hint}</p>`}
  </div>`
}

/** One thing of several to choose. */
export interface Choice {
  value: string | number
  text: SafeHtml | string
  ticked: boolean
}

/** Renders boxes, or radio buttons of which one is required; nothing without choices. `hint` is the text above them. */
export function choiceField(
  { type, name, legend, hint }: { type: 'checkbox' | 'radio'; name: string; legend: string; hint?: string },
  choices: readonly Choice[],
): SafeHtml | false {
  if (choices.length === 0) return false
  return html`<fieldset class="choices" ${hint !== undefined && html`aria-describedby="${name}-hint"`}>
    <legend>${legend}</legend>
    ${hint !== undefined && html`<p class="quiet" id="${name}-hint">${hint}</p>`}
    ${choices.map(
      ({ value, text, ticked }) =>
        html`<label class="choice"
          ><input
            type="${type}"
            name="${name}"
            value="${value}"
            ${ticked && html`checked`}
            ${type === 'radio' && html`required`}
          /><span>${text}</span></label
        >`,
    )}
  </fieldset>`
}
