/** A value in an `html` template. `false`, `null` and `undefined` print nothing. */
export type HtmlValue = SafeHtml | string | number | false | null | undefined | readonly HtmlValue[]

/** Markup that is safe to send: made only by `html` and `rawHtml`. `toString()` gives the text. */
export class SafeHtml {
  readonly #markup: string

  /** @internal Use the `html` tag; calling this with untrusted text is a cross-site scripting hole. */
  constructor(markup: string) {
    this.#markup = markup
  }

  toString(): string {
    return this.#markup
  }
}

/**
 * Template tag that escapes every string it is given, so forgetting to escape is impossible. Arrays are
 * joined without a separator. Safe in element content and in **quoted** attribute values; it does not make a
 * `javascript:` link, a `<script>` or a `<style>` body safe.
 */
export function html(strings: TemplateStringsArray, ...values: readonly HtmlValue[]): SafeHtml {
  let markup = strings[0] ?? ''
  for (const [index, value] of values.entries()) markup += render(value) + (strings[index + 1] ?? '')
  return new SafeHtml(markup)
}

/** Declares text as markup without escaping it. For constants of the program only, such as a style sheet. */
export function rawHtml(text: string): SafeHtml {
  return new SafeHtml(text)
}

const entities = new Map([
  ['&', '&amp;'],
  ['<', '&lt;'],
  ['>', '&gt;'],
  ['"', '&quot;'],
  ["'", '&#39;'],
])

function render(value: HtmlValue): string {
  if (value === undefined || value === null || value === false) return ''
  if (value instanceof SafeHtml) return value.toString()
  if (typeof value === 'string') return value.replaceAll(/[&<>"']/g, (mark) => entities.get(mark) ?? '')
  if (typeof value === 'number') return String(value)
  return value.map(render).join('')
}
