import { z } from 'zod'
import { suggestion } from '@drawbridge/shared/nearest-name.ts'
import { type DocumentReading, members, readDocument } from '../core/document.ts'
import { english, type Texts } from './built-in.ts'
import { type LanguageTexts, languageTag } from './languages.ts'

const maxTextLength = 2000
const textFault = `must be a text of 1 to ${maxTextLength} characters.`

/** A table of texts, or one of its groups; `other` among the names makes it a text in several forms. */
interface Table {
  readonly [name: string]: string | Table
}

const tagFault = 'must be a language tag, such as fr or pt-BR.'

const language = z.string(tagFault).transform((text, context) => {
  const tag = languageTag(text)
  if (tag === undefined) context.addIssue(tagFault)
  return tag ?? z.NEVER
})

/** Reads a translation: every text of the English table, with the same names in each, and nothing else. */
export function readTextsDocument(document: unknown): DocumentReading<LanguageTexts> {
  const tag = readDocument(z.object({ language }, 'must be an object.'), document)
  if (tag.kind === 'faulty') return tag
  const { language: found } = tag.value
  const rules = new Intl.PluralRules([found, 'en']).resolvedOptions().pluralCategories
  // The schema follows the English table, which the type of a table comes from.
  const texts = groupOf(english, rules) as unknown as z.ZodType<Texts>
  return readDocument(members({ language, texts }), document)
}

function groupOf(table: Table, forms: readonly string[]): z.ZodType {
  const shape = Object.entries(table).map(([key, value]): [string, z.ZodType] => {
    if (typeof value === 'string') return [key, textLike(namesOf(value), [])]
    return [
      key,
      typeof value['other'] === 'string' ? countedLike(value['other'], forms) : groupOf(value, forms),
    ]
  })
  return members(Object.fromEntries(shape))
}

/** A text in the forms of the language. Only `other` is needed; "one attempt" needs no `{count}`. */
function countedLike(other: string, forms: readonly string[]): z.ZodType {
  const names = namesOf(other)
  const optional = forms
    .filter((form) => form !== 'other')
    .map((form) => [form, textLike(names, ['count']).optional()])
  return members({ other: textLike(names, []), ...Object.fromEntries(optional) })
}

function textLike(names: readonly string[], optional: readonly string[]): z.ZodType {
  const fault = ({ input }: { input?: unknown }): string => (input === undefined ? 'is missing.' : textFault)
  return z
    .string({ error: fault })
    .min(1, textFault)
    .max(maxTextLength, textFault)
    .superRefine((text, context) => {
      const used = namesOf(text)
      for (const name of names.filter((name) => !used.includes(name) && !optional.includes(name))) {
        context.addIssue(`has no {${name}}.`)
      }
      for (const name of used.filter((name) => !names.includes(name))) {
        context.addIssue(`has an unknown {${name}}.${suggestion(name, names)}`)
      }
    })
}

function namesOf(text: string): string[] {
  return [...new Set(Array.from(text.matchAll(/\{(\w+)\}/g), ([, name = '']) => name))]
}
