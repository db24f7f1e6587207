import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'
import { conformancePage, findProofs } from './conformance-page.ts'
import { deviations } from './deviations.ts'

const root = fileURLToPath(new URL('../../', import.meta.url))
const textOf = (path: string): string => readFileSync(join(root, path), 'utf8')

it('docs/conformance.md is up to date with npm run docs', () => {
  expect(textOf('docs/conformance.md')).toBe(conformancePage())
})

it('docs/conformance.md has at least 300 negative cases', () => {
  const negative = findProofs().filter(({ file }) => file.startsWith('tests/conformance/negative-'))
  expect(negative.length).toBeGreaterThanOrEqual(300)
})

it.each(deviations)('docs/conformance.md proves: $what', ({ test: [file, title] }) => {
  const text = textOf(file)
  expect(
    ["'", '"', '`'].some((quote) => text.includes(`${title}${quote}`)),
    `${file}: ${title}`,
  ).toBe(true)
})
