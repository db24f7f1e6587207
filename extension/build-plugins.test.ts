import { createHash } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { build, type Rolldown } from 'vite'
import { expect, it } from 'vitest'
import { temporaryFolder } from '../tests/support/temporary-folder.ts'
import { createInlineStyles } from './build-plugins.ts'

const policy = "script-src 'self'; style-src 'self'; img-src 'self'"

/** Builds a page that links a style sheet; returns the page and the names of all files. */
async function buildPage(
  css: string,
  styles: ReturnType<typeof createInlineStyles>,
): Promise<{ page: string; files: string[] }> {
  const root = temporaryFolder()
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
}

it('the build inlines style sheets, and the policy allows them by hash', async () => {
  const styles = createInlineStyles()
  const built = await buildPage(".tick::after { content: '✓ $& '; }", styles)
  expect(built.files).toEqual(['index.html'])
  const [, style = ''] = /<style>([^]*)<\/style>/.exec(built.page) ?? []
  expect(style).toContain('✓ $& ')
  const hash = createHash('sha256').update(style).digest('base64')
  expect(styles.allow(policy)).toBe(`script-src 'self'; style-src 'sha256-${hash}'; img-src 'self'`)
})

it('the build keeps style sheets that no page inlines as files, and the policy unchanged', () => {
  expect(createInlineStyles().allow(policy)).toBe(policy)
})
