import { existsSync, globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { sectionOfTitle } from './requirement.ts'
import { requirementDocuments } from './requirements/documents.ts'

const root = fileURLToPath(new URL('../../', import.meta.url))
const textOf = (path: string): string => readFileSync(join(root, path), 'utf8')

const rows = requirementDocuments.flatMap(({ name, rows: own }) => own.map((row) => ({ name, ...row })))

/** Titles of the tables of negative cases, in which every title names its rule. */
const negativeTitles = globSync('tests/conformance/negative-*.test.ts', { cwd: root }).flatMap((path) =>
  [...textOf(path).matchAll(/['"`]([^'"`\n]+)['"`]/g)].flatMap(([, title = '']) =>
    sectionOfTitle(title) ? [{ path, title }] : [],
  ),
)

describe('the table of requirements', () => {
  it.each(rows)('$name $section: $rule', ({ code, test: [file, title] }) => {
    expect(existsSync(join(root, code)), `${code} is there`).toBe(true)
    expect(file).toMatch(/\.test\.ts$/)
    expect(textOf(file)).toContain(title)
  })

  it('names no rule twice', () => {
    const keys = rows.map(({ name, section, rule }) => `${name} ${section} ${rule}`)
    expect(keys.filter((key, index) => keys.indexOf(key) !== index)).toEqual([])
  })

  it('has at least 150 negative cases to stand on', () => {
    expect(negativeTitles.length).toBeGreaterThanOrEqual(150)
  })

  it('has a row for the section of every negative case', () => {
    const known = new Set(rows.map(({ name, section }) => `${name} ${section}`))
    const orphans = negativeTitles.filter(({ title }) => {
      const of = sectionOfTitle(title)
      return of === undefined || !known.has(`${of.document} ${of.section}`)
    })
    expect(orphans).toEqual([])
  })
})
