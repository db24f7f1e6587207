import { html, type SafeHtml } from '@drawbridge/shared/html.ts'
import type { Language } from '../../texts/language.ts'
import { fillHtml } from '../../texts/text.ts'

/** Maximum length of a displayed name, in characters as a reader counts them. */
const maxNameLength = 64

// Everything that looks like a double quotation mark, including several single ones in a row.
const doubleMark =
  '["\\u00ab\\u00bb\\u02ba\\u02dd\\u02ee\\u02f5\\u02f6\\u05f4\\u201c-\\u201f\\u2033\\u2034\\u2036\\u2037\\u2057\\u275d\\u275e\\u2760\\u3003\\u301d-\\u301f\\uff02\\u{1f676}-\\u{1f678}]'
const singleMark =
  "['`\\u00b4\\u02b9-\\u02bd\\u02ca\\u02cb\\u055a\\u055b\\u05f3\\u2018-\\u201b\\u2032\\u2035\\u275b\\u275c\\ua78c\\uff07\\uff40]"
const quotation = new RegExp(
  `(?:${singleMark}*${doubleMark}|${singleMark}{2})(?:${doubleMark}|${singleMark})*`,
  'gu',
)

/** Created when the first name is shown: it costs a process 3 MB. */
let graphemes: Intl.Segmenter | undefined

/**
 * Prepares a self-declared name for quoting in a sentence: one line, at most 64 characters as a reader counts them, no invisible or
 * direction-changing characters, no stacks of combining marks, and nothing that looks like a double quotation mark, which would let
 * the name end its own quotation and continue in our voice; `none` if nothing is left. Does not check whether the name is true, or resembles another one. The
 * result is still untrusted text to escape.
 */
export function claimedName(name: string, none: string): string {
  const plain = name
    .normalize('NFC')
    .replace(/[\s\p{Cc}\p{Zl}\p{Zp}]+/gu, ' ')
    .replace(/[\p{Cs}\p{Co}\u2800]|(?![\u200c\u200d])[\p{Cf}\p{Default_Ignorable_Code_Point}]/gu, '')
    // Joiners belong between the characters of a word or an emoji, not at an edge where they are invisible.
    .replace(/(?<![^\s\u200c\u200d])[\u200c\u200d]+|[\u200c\u200d]+(?![^\s\u200c\u200d])/gu, '')
    .replace(/(\p{M}{4})\p{M}+/gu, '$1')
    .replace(quotation, '\u2019')
    .trim()
  graphemes ??= new Intl.Segmenter('en', { granularity: 'grapheme' })
  const characters = Array.from(graphemes.segment(plain), ({ segment }) => segment)
  if (characters.length === 0) return none
  if (characters.length <= maxNameLength) return characters.join('')
  return `${characters.slice(0, maxNameLength).join('').trimEnd()}…`
}

/** Renders a self-declared name in the quotation marks of the page's language. */
export function quotedName(name: string, { texts: { common } }: Language): SafeHtml {
  return fillHtml(common.quoted, { name: html`<bdi>${claimedName(name, common.noName)}</bdi>` })
}

/**
 * Renders a host as a fact to rely on: never shortened, and isolated from the direction of the surrounding text. With four labels
 * or more, all but the last three are quieter, so that `claude.ai.example.co.uk` does not read as `claude.ai`. Does not check that
 * it is a host; a scheme is shown in the same way.
 */
export function hostName(host: string): SafeHtml {
  const labels = host.split('.')
  if (labels.length < 4 || /^[\d.:]+$/.test(host)) return html`<bdi class="host">${host}</bdi>`
  const owner = labels.splice(-3).join('.')
  return html`<bdi class="host"><span class="subdomain">${labels.join('.')}.</span><wbr />${owner}</bdi>`
}
