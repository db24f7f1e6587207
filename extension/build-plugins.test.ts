import { createHash } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { build } from 'vite'
import type { Rolldown } from 'vite'
import { describe, expect, it } from 'vitest'
import { arrowFunctions, createInlineStyles } from './build-plugins.ts'
import type { InlineStyles } from './build-plugins.ts'

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

describe('style sheets', () => {
  const policy = "script-src 'self'; style-src 'self'; img-src 'self'"

  /** Builds a page that links a style sheet: the page, and all files. */
  async function buildPage(css: string, styles: InlineStyles): Promise<{ page: string; files: string[] }> {
    const root = mkdtempSync(join(tmpdir(), 'drawbridge-styles-'))
    try {
      writeFileSync(join(root, 'style.css'), css)
      writeFileSync(join(root, 'index.html'), '<head><link rel="stylesheet" href="./style.css"></head>')
      const plugins = [styles.plugin()]
      const result = await build({
        root,
        configFile: false,
        logLevel: 'silent',
        plugins,
        build: { write: false },
      })
      const { output } = result as Rolldown.RolldownOutput
      const page = output.find(({ fileName }) => fileName === 'index.html') as Rolldown.OutputAsset
      return { page: String(page.source), files: output.map(({ fileName }) => fileName) }
    } finally {
      rmSync(root, { recursive: true })
    }
  }

  it('stand in their page, where the policy knows them by their hash', async () => {
    const styles = createInlineStyles()
    const built = await buildPage(".tick::after { content: '✓ $& '; }", styles)
    expect(built.files).toEqual(['index.html'])
    const [, style = ''] = /<style>([^]*)<\/style>/.exec(built.page) ?? []
    expect(style).toContain('✓ $& ')
    const hash = createHash('sha256').update(style).digest('base64')
    expect(styles.allow(policy)).toBe(`script-src 'self'; style-src 'sha256-${hash}'; img-src 'self'`)
  })

  it('of several pages are allowed in the same order, whichever was built first', async () => {
    const orders = [
      ['a { color: red }', 'b { color: red }'],
      ['b { color: red }', 'a { color: red }'],
    ]
    const policies = orders.map(async (order) => {
      const styles = createInlineStyles()
      for (const css of order) await buildPage(css, styles)
      return styles.allow(policy)
    })
    const [one, other] = await Promise.all(policies)
    expect(one).toBe(other)
    expect(one?.match(/sha256-/g)).toHaveLength(2)
  })

  it('that nobody wrote into a page stay files: the policy is as it was', () => {
    expect(createInlineStyles().allow(policy)).toBe(policy)
  })
})
