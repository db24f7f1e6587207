import type { Texts } from './built-in.ts'
import { type CountedText, fillText } from './text.ts'

const minute = 60
const hour = 60 * minute
const day = 24 * hour

/** A language with its texts, its plurals and its dates. Creates each `Intl` object when it is first used: they cost memory. */
export class Language {
  readonly tag: string
  readonly texts: Texts
  readonly #locales: readonly string[]
  #plurals: Intl.PluralRules | undefined
  #dates: Intl.DateTimeFormat | undefined
  #spans: Intl.RelativeTimeFormat | undefined

  constructor(tag: string, texts: Texts) {
    this.tag = tag
    this.texts = texts
    // Day before month: the page does not know which English its reader speaks. Never the language of this process.
    this.#locales = [tag === 'en' ? 'en-GB' : tag, 'en-GB']
  }

  /** Returns the form of a text for `count`, which is still to be filled in. */
  formOf(text: CountedText, count: number): string {
    this.#plurals ??= new Intl.PluralRules(this.#locales)
    return text[this.#plurals.select(count)] ?? text.other
  }

  /** Fills in a text about a number. */
  counted(text: CountedText, count: number): string {
    return fillText(this.formOf(text, count), { count })
  }

  /** Formats a day in UTC from epoch seconds. Without a script the page does not know the user's time zone. */
  date(at: number): string {
    this.#dates ??= new Intl.DateTimeFormat(this.#locales, { dateStyle: 'long', timeZone: 'UTC' })
    return this.#dates.format(at * 1000)
  }

  /** Formats roughly how long ago `at` was, both in epoch seconds; the date itself after four weeks. */
  ago(at: number, now: number): string {
    const seconds = Math.max(0, now - at)
    const { justNow, onDate } = this.texts.common
    if (seconds < minute) return justNow
    if (seconds >= 28 * day) return fillText(onDate, { date: this.date(at) })
    this.#spans ??= new Intl.RelativeTimeFormat(this.#locales)
    if (seconds < hour) return this.#spans.format(-Math.floor(seconds / minute), 'minute')
    if (seconds < day) return this.#spans.format(-Math.floor(seconds / hour), 'hour')
    return this.#spans.format(-Math.floor(seconds / day), 'day')
  }
}
