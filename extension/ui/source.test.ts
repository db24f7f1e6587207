// Rules for the whole extension that only a check of its source text can enforce.
import { globSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'

const extension = fileURLToPath(new URL('..', import.meta.url))

function read(pattern: string): { path: string; text: string }[] {
  return globSync(pattern, {
    cwd: extension,
    exclude: (path) => /node_modules|\.wxt|\.output/.test(path),
  }).map((path) => ({ path, text: readFileSync(`${extension}/${path}`, 'utf8') }))
}

const scripts = read('**/*.ts').filter(({ path }) => !path.endsWith('.test.ts'))
const pages = read('entrypoints/**/*.html')
const styles = [...read('entrypoints/**/*.css'), ...read('ui/**/*.css')]

function offenders(files: { path: string; text: string }[], pattern: RegExp): string[] {
  return files.flatMap(({ path, text }) =>
    [...text.matchAll(pattern)].map(([found]) => `${path}: ${found.trim()}`),
  )
}

describe('the source of the extension', () => {
  it('the test reads the source of the extension', () => {
    expect(scripts.length).toBeGreaterThan(25)
    expect(pages.length).toBe(2)
    expect(styles.length).toBe(3)
  })

  it('the extension imports the polyfill in one file', () => {
    const imports = scripts.filter(({ text }) => /^import (?!type).*'webextension-polyfill'/m.test(text))
    expect(imports.map(({ path }) => path)).toEqual(['platform/web-extension.ts'])
  })

  it('the extension writes nothing to the console', () => {
    expect(offenders(scripts, /\bconsole\./g)).toEqual([])
  })

  it('the styles of the extension use logical properties only', () => {
    const physical =
      /(?:^|[\s{;])(?:(?:margin|padding|border|inset)-(?:left|right|top|bottom)[\w-]*|left|right|top|bottom|(?:min-|max-)?(?:width|height)|float|clear)\s*:|text-align:\s*(?:left|right)/gm
    expect(offenders(styles, physical)).toEqual([])
    const sides = offenders(styles, /(?:margin|padding|border-width):\s*(?:[^\s;()]+\s+){3}[^\s;()]+;/g)
    // A rotated corner: the same in both directions.
    expect(sides).toEqual(['entrypoints/popup/style.css: border-width: 0 2px 2px 0;'])
  })
})
