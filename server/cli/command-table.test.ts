import { globSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { settings } from '../config/setting-table.ts'
import { commandTable } from './command-table.ts'

const document = readFileSync(fileURLToPath(new URL('../../docs/commands.md', import.meta.url)), 'utf8')

describe('the table of commands', () => {
  it.each(commandTable)('$usage is documented with its switches', ({ usage, switches }) => {
    expect(document).toContain(usage.replace(/ [<[].*/, ''))
    for (const name of Object.keys(switches ?? {})) expect(document).toContain(name)
  })

  it.each(commandTable)('$usage has examples that call it', ({ usage, examples }) => {
    expect(examples.length).toBeGreaterThan(0)
    for (const example of examples)
      expect(example === '' || example.startsWith(usage.replace(/ [<[].*/, ''))).toBe(true)
  })

  it.each(commandTable)('$usage lists settings in its help that exist and have a flag', ({ shown }) => {
    const withFlag = settings.filter(({ secret }) => !secret).map(({ field }) => field)
    expect(withFlag).toEqual(expect.arrayContaining([...(shown ?? [])]))
  })

  it('is documented with every name that a finding of doctor can have', () => {
    const folder = fileURLToPath(new URL('./doctor/', import.meta.url))
    const sources = globSync('*-check.ts', { cwd: folder })
      .concat('provider-note.ts')
      .map((file) => readFileSync(folder + file, 'utf8'))
      .join('\n')
    const names = [...sources.matchAll(/(?:\b(?:ok|warn|fail)\(\s*|\bname = )'([a-z_-]+)'/g)].map(
      ([, name]) => name,
    )
    expect(names.length).toBeGreaterThan(30)
    for (const name of new Set(names)) expect(document).toContain(`\`${name ?? ''}\``)
  })
})
