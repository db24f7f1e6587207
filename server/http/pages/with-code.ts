import { html, type SafeHtml } from '@drawbridge/shared/html.ts'

/** Renders one of our sentences, with text between backticks as code. */
export function withCode(text: string): SafeHtml {
  return html`${text.split('`').map((part, index) => (index % 2 === 0 ? part : html`<code>${part}</code>`))}`
}
