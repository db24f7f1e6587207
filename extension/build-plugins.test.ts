import { build } from 'vite'
import type { Rolldown } from 'vite'
import { describe, expect, it } from 'vitest'
import { arrowFunctions } from './build-plugins.ts'

/** Bundles a module with the plugin: its text before it is minified, and what it exports. */
async function bundle(source: string): Promise<{ code: string; exports: Record<string, unknown> }> {
  const id = '\0entry.js'
  const entry = {
    name: 'entry',
    resolveId: (name: string) => (name.endsWith('entry') ? id : undefined),
    load: (name: string) => (name === id ? source : undefined),
  }
  const result = await build({
    configFile: false,
    logLevel: 'silent',
    plugins: [entry, arrowFunctions()],
    build: {
      write: false,
      minify: false,
      rolldownOptions: { external: ['node:path'] },
      lib: { entry: 'entry', formats: ['es'], fileName: 'entry' },
    },
  })
  const [{ output }] = result as Rolldown.RolldownOutput[] as [Rolldown.RolldownOutput]
  const [{ code }] = output
  const exports = (await import(`data:text/javascript,${encodeURIComponent(code)}`)) as Record<
    string,
    unknown
  >
  return { code, exports }
}

describe('functions as arrows', () => {
  it('do what they did: called before their line, with defaults and a rest, and by each other', async () => {
    const { code, exports } = await bundle(`
      import { sep } from 'node:path'
      const early = twice(3)
      const text = 'ü… \u{1f309}'
      function twice(value, factor = 2) { return times(value, factor) }
      function times(...values) { return values.reduce((one, other) => one * other) }
      async function later({ value } = { value: text }) { return value }
      export const all = [early, twice(2, 5), await later(), typeof sep]
    `)
    expect(exports['all']).toEqual([6, 10, 'ü… \u{1f309}', 'string'])
    expect(code).not.toMatch(/\bfunction\b/)
  })

  it('are only those that can be', async () => {
    const { code, exports } = await bundle(`
      function* count() { yield 1; yield 2 }
      function own() { return this.value }
      function given() { return arguments.length }
      export const all = [[...count()], own.call({ value: 7 }), given(1, 2, 3)]
    `)
    expect(exports['all']).toEqual([[1, 2], 7, 3])
    expect(code.match(/\bfunction\b/g)).toHaveLength(3)
  })

  it('are exported by the names that they had', async () => {
    const { exports } = await bundle(
      'export function one() { return 1 }\nexport default function two() { return 2 }',
    )
    expect([(exports['one'] as () => number)(), (exports['default'] as () => number)()]).toEqual([1, 2])
  })
})
