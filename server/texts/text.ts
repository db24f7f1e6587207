import { html, type HtmlValue, type SafeHtml } from '@drawbridge/shared/html.ts'

/** A text in the forms that its `{count}` needs, by the categories of `Intl.PluralRules`. */
export type CountedText = { readonly other: string } & {
  readonly [Category in Exclude<Intl.LDMLPluralRule, 'other'>]?: string
}

/** The type of every table with the keys of `Table`. */
export type TextsLike<Table> = {
  readonly [Key in keyof Table]: Table[Key] extends string
    ? string
    : Table[Key] extends { readonly other: string }
      ? CountedText
      : TextsLike<Table[Key]>
}

/** Fills the names of a text with plain values, for a title, an attribute or JSON. The result is text to escape. */
export function fillText(text: string, values: Readonly<Record<string, string | number>>): string {
  return text.replaceAll(/\{(\w+)\}/g, (_place, name: string) => String(valueOf(name, values)))
}

/** Fills the names of a text with values that may be markup, and escapes the rest. Between backticks it is code. */
export function fillHtml(text: string, values: Readonly<Record<string, HtmlValue>>): SafeHtml {
  const parts = text.split(/(`[^`]*`|\{\w+\})/)
  return html`${parts.map((part, index) => {
    if (index % 2 === 0) return part
    if (part.startsWith('{')) return valueOf(part.slice(1, -1), values)
    return html`<code>${fillHtml(part.slice(1, -1), values)}</code>`
  })}`
}

/** Throws if the page gives no value: files of texts were checked, so the page is wrong. */
function valueOf<Value>(name: string, values: Readonly<Record<string, Value>>): Value {
  const value = values[name]
  if (value === undefined) throw new Error(`The page fills in a text without a value for {${name}}.`)
  return value
}
