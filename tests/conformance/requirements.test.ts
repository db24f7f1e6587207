import { existsSync, globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { type Proof, sectionOfTitle } from './requirement.ts'
import { conformancePage } from './requirement-page.ts'
import { deviations } from './requirements/deviations.ts'
import { isListed, requirementDocuments } from './requirements/documents.ts'

const root = fileURLToPath(new URL('../../', import.meta.url))
const textOf = (path: string): string => readFileSync(join(root, path), 'utf8')

const rows = requirementDocuments.flatMap(({ name, rows: own }) => own.map((row) => ({ name, ...row })))

/** Whether a title is there: a short one as a whole, a long one by a piece of it. */
function holds([file, title]: Proof): boolean {
  const text = textOf(file)
  return title.length < 24
    ? ["'", '"', '`'].some((quote) => text.includes(`${quote}${title}${quote}`))
    : text.includes(title)
}

/** Titles that stand in the files of this folder and begin with a document and a section. */
const titlesIn = (pattern: string): string[] =>
  globSync(pattern, { cwd: root }).flatMap((path) =>
    [...textOf(path).matchAll(/['"`]([^'"`\n]+)['"`]/g)].flatMap(([, title = '']) =>
      sectionOfTitle(title) ? [title] : [],
    ),
  )

describe('the table of requirements', () => {
  it.each(rows)('$name $section: $rule', ({ code, test }) => {
    expect(existsSync(join(root, code)), `${code} is there`).toBe(true)
    expect(test[0]).toMatch(/\.test\.ts$/)
    expect(holds(test), test.join(': ')).toBe(true)
  })

  it('names no rule twice', () => {
    const keys = rows.map(({ name, section, rule }) => `${name} ${section} ${rule}`)
    expect(keys.filter((key, index) => keys.indexOf(key) !== index)).toEqual([])
  })

  it('has at least 300 negative cases to stand on', () => {
    expect(titlesIn('tests/conformance/negative-*.test.ts').length).toBeGreaterThanOrEqual(300)
  })

  it('has a row for the section of every case; what is made of templates is looked at where it runs', () => {
    expect(titlesIn('tests/conformance/*.test.ts').filter((title) => !isListed(title))).toEqual([])
  })
})

describe('deviations', () => {
  it.each(deviations)('$what', ({ test }) => {
    expect(holds(test), test.join(': ')).toBe(true)
  })
})

describe('docs/conformance.md', () => {
  it('is what npm run docs writes', () => {
    expect(textOf('docs/conformance.md')).toBe(conformancePage())
  })
})
