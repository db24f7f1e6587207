import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'
import { shownByTests, shownByTestsText } from './shown-by-tests.ts'

const named = shownByTests.flatMap(({ tests }) => tests)

it.each(named)('$file has the tests that are named', ({ file, titles }) => {
  const text = readFileSync(fileURLToPath(new URL(`../../${file}`, import.meta.url)), 'utf8')
  for (const title of titles) expect(text).toContain(title)
})

it('the report names each of them', () => {
  for (const { file } of named) expect(shownByTestsText()).toContain(`\n    ${file}`)
})
