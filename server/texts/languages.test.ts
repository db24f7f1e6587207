import { describe, expect, it, test } from 'vitest'
import { english } from './built-in.ts'
import { Languages } from './languages.ts'

const languages = new Languages([
  { language: 'fr', texts: english },
  { language: 'pt-BR', texts: english },
])

describe('the language of a page', () => {
  it.each<[rule: string, uiLocales: string | null, acceptLanguage: string | null, tag: string]>([
    ['a page without any preference is in English', null, null, 'en'],
    ['OpenID Connect Core 3.1.2.1: ui_locales, first come', 'fr de', null, 'fr'],
    ['takes the first of ui_locales that has texts', 'it nl de fr', null, 'de'],
    ['ui_locales comes before Accept-Language', 'fr', 'de', 'fr'],
    ['takes Accept-Language if no language of ui_locales has texts', 'it', 'de', 'de'],
    ['RFC 4647 3.4: a longer range finds the shorter tag', 'de-AT', null, 'de'],
    ['shortens a range by several steps', 'de-Latn-AT-1996', null, 'de'],
    ['ignores the case of a language tag', 'PT-br', null, 'pt-BR'],
    ['RFC 4647 3.4: a shorter range finds no longer tag', 'pt', null, 'en'],
    ['takes German for a browser in Switzerland', null, 'de-CH,de;q=0.9,en;q=0.8', 'de'],
    ['RFC 9110 12.5.4: the heaviest first', null, 'en;q=0.5, fr;q=0.8, de;q=0.7', 'fr'],
    ['takes the first of two ranges of equal weight', null, 'fr;q=0.8,de;q=0.8', 'fr'],
    ['RFC 9110 12.4.2: weight 0 is not acceptable', null, 'de;q=0,fr;q=0.1', 'fr'],
    ['RFC 9110 12.4.2: weight 0 is not acceptable, with nothing else named', null, 'de;q=0', 'en'],
    ['RFC 9110 12.4.2: weight 0.000 is not acceptable either', null, 'fr;q=0.000, de;q=0.0', 'en'],
    ['ignores the wildcard', null, '*, de;q=0.1', 'de'],
    ['ignores nonsense in Accept-Language', '', ';;q=x,,=,de;q=9,fr;q=0.3', 'fr'],
    ['ignores text that is not a language tag', '../../etc de_DE <b>', null, 'en'],
    ['ignores names of object members', '__proto__ constructor', 'toString', 'en'],
    ['ignores overlong preferences', `de ${'x'.repeat(1000)}`, `de,${'y'.repeat(1000)}`, 'en'],
    ['ignores preferences of hyphens only', '-'.repeat(999), '-'.repeat(999), 'en'],
    ['ignores ranges beyond the first twenty', `${'it '.repeat(30)}de`, null, 'en'],
  ])('%s', (_rule, uiLocales, acceptLanguage, tag) => {
    expect(languages.choose(uiLocales, acceptLanguage).tag).toBe(tag)
  })

  test('the list of languages has English first', () => {
    expect(languages.tags).toEqual(['en', 'de', 'fr', 'pt-BR'])
  })

  test('a file of TEXTS replaces the texts of a built-in language', () => {
    const texts = { ...english, login: { ...english.login, or: 'or else' } }
    const changed = new Languages([{ language: 'en', texts }])
    expect(changed.tags).toEqual(['en', 'de'])
    expect(changed.choose(null, null).texts.login.or).toBe('or else')
  })
})

const now = 1_791_000_000
const at = (tag: string) => languages.choose(tag, null)

test.each([
  [-5, 'just now', 'gerade eben'],
  [59, 'just now', 'gerade eben'],
  [60, '1 minute ago', 'vor 1 Minute'],
  [3599, '59 minutes ago', 'vor 59 Minuten'],
  [3600, '1 hour ago', 'vor 1 Stunde'],
  [86_399, '23 hours ago', 'vor 23 Stunden'],
  [86_400, '1 day ago', 'vor 1 Tag'],
  [28 * 86_400 - 1, '27 days ago', 'vor 27 Tagen'],
  [28 * 86_400, 'on 5 September 2026', 'am 5. September 2026'],
])('a time %i seconds ago reads as %s, %s', (seconds, inEnglish, inGerman) => {
  expect(at('en').ago(now - seconds, now)).toBe(inEnglish)
  expect(at('de').ago(now - seconds, now)).toBe(inGerman)
})

test('dates are formatted in UTC, whatever the server’s time zone', () => {
  expect(at('en').date(1_790_985_599)).toBe('2 October 2026')
  expect(at('de').date(1_790_985_600)).toBe('3. Oktober 2026')
})

test('counts follow the rules of the language, and use `other` for a missing form', () => {
  const text = { one: 'one of {count}', other: '{count} of them' }
  const counts = [0, 1, 2].map((count) => [at('fr').counted(text, count), at('de').counted(text, count)])
  expect(counts).toEqual([
    ['one of 0', '0 of them'],
    ['one of 1', 'one of 1'],
    ['2 of them', '2 of them'],
  ])
})
