import { bridgeTexts, clientTexts } from '@drawbridge/shared/clients/client-texts.ts'
import { html } from '@drawbridge/shared/html.ts'
import { describe, expect, it, test } from 'vitest'
import { english } from './built-in.ts'
import de from './de.json' with { type: 'json' }
import en from './en.json' with { type: 'json' }
import { fillHtml, fillText } from './text.ts'
import { readTextsDocument } from './texts-document.ts'

test.each([en, de])(
  'the built-in texts in $language are a complete file of TEXTS with the names of the English ones',
  (file) => {
    expect(readTextsDocument(file)).toEqual({ kind: 'read', value: file })
  },
)

test('the connect page has the texts that the docs print for each client', () => {
  expect(english.clients).toEqual(clientTexts)
  expect(english.bridge).toEqual(bridgeTexts)
})

describe('a file of texts', () => {
  const { heading: _, ...login } = english.login
  const changed = (part: object): unknown => ({ language: 'fr', texts: { ...english, ...part } })

  it.each<[rule: string, document: unknown, faults: readonly string[]]>([
    ['a missing text', changed({ login }), ['texts.login.heading is missing.']],
    [
      'several faults at once',
      changed({
        common: { ...english.common, justNow: 7 },
        login: { ...login, or: '', titel: 'x', failedTitle: '{titel}' },
      }),
      [
        'texts.common.justNow must be a text of 1 to 2000 characters.',
        'texts.login.failedTitle has no {title}.',
        'texts.login.failedTitle has an unknown {titel}. Did you mean title?',
        'texts.login.heading is missing.',
        'texts.login.or must be a text of 1 to 2000 characters.',
        'texts.login has an unknown member "titel".',
      ],
    ],
    [
      'forms that the language lacks, without one that it needs',
      changed({ connections: { ...english.connections, count: { one: 'x', few: 'y' } } }),
      ['texts.connections.count.other is missing.', 'texts.connections.count has an unknown member "few".'],
    ],
    [
      'a form for any number that leaves out the number',
      changed({ connections: { ...english.connections, count: { one: 'x', other: 'y' } } }),
      ['texts.connections.count.other has no {count}.'],
    ],
    [
      'a text that is too long',
      changed({ common: { ...english.common, justNow: 'x'.repeat(2001) } }),
      ['texts.common.justNow must be a text of 1 to 2000 characters.'],
    ],
    [
      'an unknown member',
      { ...(changed({}) as object), name: 'x' },
      ['the document has an unknown member "name".'],
    ],
    ['no texts', { language: 'fr' }, ['texts must be an object.']],
    ['no language', { texts: english }, ['language must be a language tag, such as fr or pt-BR.']],
    [
      'a malformed language tag',
      { language: 'fr_FR', texts: english },
      ['language must be a language tag, such as fr or pt-BR.'],
    ],
    ['an array instead of an object', [], ['the document must be an object.']],
  ])('refuses a file of TEXTS with %s', (_rule, document, faults) => {
    const reading = readTextsDocument(document)
    expect(reading).toMatchObject({ kind: 'faulty' })
    expect('faults' in reading && reading.faults.toSorted()).toEqual(faults.toSorted())
  })

  it('a text for one may leave out the number, and a language may have forms that English lacks', () => {
    const count = { one: 'Jedno', few: '{count} few', many: '{count} many', other: '{count} other' }
    const texts = { ...english, connections: { ...english.connections, count } }
    expect(readTextsDocument({ language: 'PL', texts })).toMatchObject({
      kind: 'read',
      value: { language: 'pl' },
    })
  })
})

describe('filling in', () => {
  it('filling in throws if the page has no value for a name, in code too', () => {
    expect(() => fillText('{a} {b}', { a: 1 })).toThrow('without a value for {b}')
    expect(() => fillHtml('{a} `{b}`', { a: 1 })).toThrow('without a value for {b}')
  })

  it('filling in escapes the text and the values, and keeps given markup', () => {
    const filled = fillHtml('<i> {name} `run {name}` & {link}', { name: '<b>', link: html`<a>x</a>` })
    expect(String(filled)).toBe('&lt;i&gt; &lt;b&gt; <code>run &lt;b&gt;</code> &amp; <a>x</a>')
  })

  it('filling in does not replace names inside values', () => {
    expect(String(fillHtml('{a} {b}', { a: '{b} `x`', b: '$&' }))).toBe('{b} `x` $&amp;')
    expect(fillText('{a} {b}', { a: '{b}', b: '$&' })).toBe('{b} $&')
  })
})
