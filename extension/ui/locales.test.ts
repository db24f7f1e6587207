import { globSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { viewSamples } from '../../tests/support/extension/ui/view-samples.ts'
import { readMessages } from '../../tests/support/extension/ui/staged-page.ts'

const extension = fileURLToPath(new URL('..', import.meta.url))
const locales = globSync('public/_locales/*', { cwd: extension }).map(
  (path) => path.split(/[\\/]/).at(-1) ?? '',
)
const english = readMessages('en')
const names = Object.keys(english)

/** Code, pages and manifest that may refer to texts. */
const sources = globSync('{*.ts,{background,core,entrypoints,platform,ui}/**/*.{ts,html}}', {
  cwd: extension,
})
  .filter((path) => !/\.test\.ts$|testing/.test(path))
  .map((path) => readFileSync(`${extension}/${path}`, 'utf8'))

/** Returns the placeholders of a text, sorted by name. */
function placeholders(message: string): string[] {
  return [...new Set([...message.matchAll(/\$(\w+)\$/g)].map(([, name = '']) => name.toLowerCase()))].sort()
}

describe('the texts of the extension', () => {
  it('the extension has texts in English and German', () => {
    expect(locales.toSorted()).toEqual(['de', 'en'])
  })

  it.each(locales)(
    'the texts in %s are complete, well formed, without markup, and have the same placeholders',
    (locale) => {
      const messages = readMessages(locale)
      expect(Object.keys(messages)).toEqual(names)
      for (const [name, { message, placeholders: declared = {} }] of Object.entries(messages)) {
        expect(name).toMatch(/^[A-Za-z]\w*$/)
        expect(message.trim(), name).toBe(message)
        expect(message, name).not.toMatch(/^$|[<>]|\$\d|!/)
        expect(
          placeholders(message).filter((placeholder) => !(placeholder in declared)),
          name,
        ).toEqual([])
        expect(declared, `${locale} ${name}`).toEqual(english[name]?.placeholders ?? {})
        // A language may write the number one as a word.
        if (name.endsWith('_one')) continue
        expect(placeholders(message), name).toEqual(placeholders(english[name]?.message ?? ''))
      }
    },
  )

  it.each(locales)('the texts in %s name their language and have each of its plural forms', (locale) => {
    const messages = readMessages(locale)
    expect(messages['locale']?.message).toBe(locale)
    expect(messages['direction']?.message).toMatch(/^(?:ltr|rtl)$/)
    const { pluralCategories } = new Intl.PluralRules(locale).resolvedOptions()
    const stems = names.filter((name) => name.endsWith('_other')).map((name) => name.replace(/_other$/, ''))
    expect(stems).toContain('test_passed')
    for (const stem of stems) {
      for (const category of pluralCategories) expect(messages).toHaveProperty(`${stem}_${category}`)
    }
  })

  it('the texts that the pages and the manifest name exist', () => {
    const named = sources.flatMap((source) =>
      [...source.matchAll(/data-(?:text|label)="(\w+)"|__MSG_(\w+)__/g)].map(([, a, b]) => a ?? b ?? ''),
    )
    expect(named.length).toBeGreaterThan(40)
    expect(named.filter((name) => !names.includes(name))).toEqual([])
  })

  it('all texts of the extension are used', () => {
    // In a composed name, `${...}` stands for any part. Types check that each resulting name exists.
    const patterns = sources.flatMap((source) =>
      [...source.matchAll(/`(\w*\$\{[^`]*)`|['"](\w+)['"]|__MSG_(\w+)__/g)].map(
        ([, template, plain, manifest]) =>
          plain ?? manifest ?? `${template?.replaceAll(/\$\{(?:[^{}]|\{[^}]*\})*\}/g, '\\w+')}`,
      ),
    )
    const isUsed = new RegExp(
      `^(?:${[...new Set(patterns)].filter((one) => /^[\w\\+]+$/.test(one)).join('|')})$`,
    )
    expect(names.filter((name) => !isUsed.test(name))).toEqual([])
  })

  it('every kind of view has a sample', () => {
    const kinds = new Set(Object.values(viewSamples(0)).map(({ kind }) => kind))
    expect([...kinds].toSorted()).toEqual([
      'corrupt',
      'expired',
      'incomplete',
      'loading',
      'no-permission',
      'no-web-page',
      'ready',
      'several',
      'signed-out',
    ])
  })
})
