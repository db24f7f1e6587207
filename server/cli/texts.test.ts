import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { temporaryFolder } from '../../tests/support/temporary-folder.ts'
import { createCommandFixture } from '../../tests/support/server/command-fixture.ts'
import { readTextsDocument } from '../texts/texts-document.ts'
import { english, german } from '../texts/built-in.ts'
import { exitCode } from './command.ts'
import { printTexts } from './texts.ts'

it.each([
  [undefined, 'en', english, ''],
  ['de', 'de', german, ''],
  ['de-at', 'de-AT', german, ''],
  ['fr', 'fr', english, 'No texts in fr yet: this is the en file to translate.\n'],
])('texts prints a file of TEXTS: %s', async (given, language, texts, note) => {
  const line = createCommandFixture({})
  expect(await printTexts(line.input, given)).toBe(exitCode.ok)
  const { stdout, stderr } = line.said()
  expect(JSON.parse(stdout)).toEqual({ language, texts })
  expect(readTextsDocument(JSON.parse(stdout)).kind).toBe('read')
  expect(stdout.split('\n').length).toBeGreaterThan(300)
  expect(stderr).toBe(note)
})

it('texts --json prints one line, also for a language of TEXTS', async () => {
  const path = join(temporaryFolder(), 'fr.json')
  const texts = { ...english, common: { ...english.common, privacy: 'Confidentialité' } }
  writeFileSync(path, JSON.stringify({ language: 'fr', texts }))
  const line = createCommandFixture({ TEXTS: path }, { json: true })
  await printTexts(line.input, 'fr')
  expect(line.facts()).toEqual({ language: 'fr', texts })
})

it('texts refuses an invalid language tag, and names the languages there are', async () => {
  const line = createCommandFixture({})
  await expect(printTexts(line.input, 'french_FR')).rejects.toMatchObject({
    status: 400,
    message: 'Not a language tag: "french_FR".',
    nextStep: 'Name a language, such as fr or pt-BR. There are texts in: en, de.',
  })
})
