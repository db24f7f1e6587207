import { english, german, type Texts } from './built-in.ts'
import { Language } from './language.ts'

/** Longer preferences are ignored: no browser sends them. */
const maxPreferenceLength = 1000
const maxRanges = 20

/** Texts of a language, or others for one that is built in. */
export interface LanguageTexts {
  language: string
  texts: Texts
}

/** Returns a BCP 47 tag in its usual form, such as `pt-BR`; undefined if it is none. */
export function languageTag(text: string): string | undefined {
  if (!/^[a-z]{2,3}(?:-[a-z\d]{2,8})*$/i.test(text)) return undefined
  try {
    return new Intl.Locale(text).toString()
  } catch {
    return undefined
  }
}

/** The languages that the pages can have. */
export class Languages {
  readonly #byTag = new Map<string, Language>()
  readonly #default: Language

  constructor(more: readonly LanguageTexts[] = []) {
    const all = [{ language: 'en', texts: english }, { language: 'de', texts: german }, ...more]
    for (const { language, texts } of all) {
      this.#byTag.set(language.toLowerCase(), new Language(language, texts))
    }
    this.#default = this.find('en') ?? new Language('en', english)
  }

  /** BCP 47 tags, English first. */
  get tags(): string[] {
    return Array.from(this.#byTag.values(), ({ tag }) => tag)
  }

  /** Finds the language of a range by lookup (RFC 4647 section 3.4): `de-AT` finds `de`. `*` and nonsense find none. */
  find(range: string): Language | undefined {
    for (let tag = range.toLowerCase(); tag !== ''; tag = tag.replace(/(?:^|-)[^-]*$/, '')) {
      const found = this.#byTag.get(tag)
      if (found) return found
    }
    return undefined
  }

  /**
   * Chooses the language of a page: the first of `uiLocales` that is there (OpenID Connect Core 1.0 section 3.1.2.1, separated by
   * spaces), else the best of `acceptLanguage` (RFC 9110 section 12.5.4), else English. Ignores malformed and overlong preferences.
   */
  choose(uiLocales: string | null, acceptLanguage: string | null): Language {
    return (
      this.#first(bounded(uiLocales).split(' ')) ??
      this.#first(rangesOf(bounded(acceptLanguage))) ??
      this.#default
    )
  }

  #first(ranges: readonly string[]): Language | undefined {
    return ranges
      .slice(0, maxRanges)
      .map((range) => this.find(range))
      .find((language) => language !== undefined)
  }
}

function bounded(preference: string | null): string {
  return preference === null || preference.length > maxPreferenceLength ? '' : preference
}

/** Returns the ranges of an `Accept-Language` header, best first, without ranges of weight 0. */
function rangesOf(header: string): string[] {
  return header
    .split(',')
    .map((part) => /^\s*([a-z0-9-]+)\s*(?:;\s*q=([01](?:\.\d{0,3})?)\s*)?$/i.exec(part))
    .map((match) => ({ range: match?.[1] ?? '', weight: match ? Number(match[2] ?? 1) : 0 }))
    .filter(({ weight }) => weight > 0)
    .toSorted((one, other) => other.weight - one.weight)
    .map(({ range }) => range)
}
