import { html, type HtmlValue, type SafeHtml } from '@drawbridge/shared/html.ts'

/** A text with named places, such as `Go to {place}`. Between backticks it is code. Their names are known by its type alone. */
export type Text<Name extends string = string> = string & { readonly names?: Name }

/** A text in the forms that its `{count}` needs, by the categories of `Intl.PluralRules`. */
export type CountedText<Name extends string = string> = { readonly other: Text<Name> } & {
  readonly [Category in Exclude<Intl.LDMLPluralRule, 'other'>]?: Text<Name>
}

type NamesIn<Value extends string> = Value extends `${string}{${infer Name}}${infer Rest}`
  ? Name | NamesIn<Rest>
  : never

/** The type of every table with the keys and the names of `Table`. */
export type TextsLike<Table> = {
  readonly [Key in keyof Table]: Table[Key] extends string
    ? Text<NamesIn<Table[Key]>>
    : Table[Key] extends { readonly other: infer Other extends string }
      ? CountedText<NamesIn<Other>>
      : TextsLike<Table[Key]>
}

/** Fills the names of a text with plain values, for a title, an attribute or JSON. The result is text to escape. */
export function fillText<Name extends string>(
  text: Text<Name>,
  values: Readonly<Record<Name, string | number>>,
): string {
  return text.replaceAll(/\{(\w+)\}/g, (_place, name: Name) => String(values[name]))
}

/** Fills the names of a text with values that may be markup, and escapes the rest. */
export function fillHtml<Name extends string>(
  text: Text<Name>,
  values: Readonly<Record<Name, HtmlValue>>,
): SafeHtml {
  const parts = text.split(/(`[^`]*`|\{\w+\})/)
  return html`${parts.map((part, index) => {
    if (index % 2 === 0) return part
    if (part.startsWith('{')) return values[part.slice(1, -1) as Name]
    return html`<code>${fillHtml<Name>(part.slice(1, -1), values)}</code>`
  })}`
}
