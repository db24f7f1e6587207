import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { globSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { unzipSync } from 'fflate'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { root, runWxt } from './wxt-process.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

const run = promisify(execFile)
const archives = ['chrome', 'firefox', 'sources'].map((kind) => `drawbridge-0.1.0-${kind}.zip`)
const browsers = ['chrome', 'firefox'] as const

const first = temporaryFolder(afterAll)
const reviewer = temporaryFolder(afterAll)
const unpacked = (browser: string, ...path: string[]): string => join(first, `${browser}-mv3`, ...path)
const textOf = (browser: string, path: string): string => readFileSync(unpacked(browser, path), 'utf8')
const filesOf = (browser: string, pattern: string): string[] =>
  globSync(pattern, { cwd: unpacked(browser) }).map((path) => path.replaceAll('\\', '/'))

/** Returns the files of an archive in a folder, by name. */
const filesIn = (folder: string, name: string): [name: string, content: Buffer][] =>
  Object.entries(unzipSync(readFileSync(join(folder, name)))).map(([path, bytes]) => [
    path,
    Buffer.from(bytes),
  ])

beforeAll(async () => {
  await runWxt(first, ['zip'])
  await runWxt(first, ['zip', '-b', 'firefox'])
}, 120_000)

/** Variables set by the test runner and npm, which a reviewer does not have. */
const ofRunner = /^(?:VITEST|NODE_ENV|MODE|DEV|PROD|SSR|TEST|BASE_URL|npm_(?!config_))/

async function npm(...parameters: string[]): Promise<void> {
  const others = Object.entries(process.env).filter(([name]) => !ofRunner.test(name))
  const path = process.env['PATH']?.split(':').filter((folder) => !folder.includes('node_modules'))
  const env = { ...Object.fromEntries(others), PATH: path?.join(':') }
  await run('npm', parameters, { cwd: reviewer, env })
}

/** Makes the packages in another folder, with nothing but the sources' archive and the packages of the lock file. */
async function buildAsReviewer(): Promise<void> {
  for (const [name, content] of filesIn(first, archives[2] ?? '')) {
    mkdirSync(dirname(join(reviewer, name)), { recursive: true })
    writeFileSync(join(reviewer, name), content)
  }
  // Fails when the lock file does not fit the manifests. What it would install is here already.
  await npm('ci', '--dry-run', '--offline', '--no-audit', '--no-fund')
  const modules = join(reviewer, 'node_modules')
  mkdirSync(join(modules, '@drawbridge'), { recursive: true })
  for (const name of readdirSync(join(root, 'node_modules'))) {
    if (name !== '@drawbridge') symlinkSync(join(root, 'node_modules', name), join(modules, name))
  }
  for (const name of ['extension', 'shared'])
    symlinkSync(join(reviewer, name), join(modules, '@drawbridge', name))
  await npm('run', 'zip', '-w', 'extension')
}

it('the packages are the same, byte for byte, when a reviewer follows the documented steps', async () => {
  await buildAsReviewer()
  for (const name of archives) {
    const [own, rebuilt] = [first, join(reviewer, 'dist/extension')].map((folder) =>
      readFileSync(join(folder, name)),
    )
    expect(own?.length).toBeGreaterThan(1000)
    expect(own?.equals(rebuilt ?? Buffer.alloc(0)), name).toBe(true)
  }
}, 120_000)

it.each(browsers)('the packages of %s hold only files of the build', (browser) => {
  const archive = filesIn(first, `drawbridge-0.1.0-${browser}.zip`)
  const built = filesOf(browser, '**/*.*')
  expect(archive.map(([name]) => name).sort()).toEqual(built.sort())
  for (const [name, content] of archive) expect(content.toString(), name).toBe(textOf(browser, name))
  expect(built.filter((name) => !/\.(?:html|js|json|png)$/.test(name))).toEqual([])
})

it('the packages of the sources hold everything needed to build them, and nothing else', () => {
  const archive = filesIn(first, archives[2] ?? '')
  const isSource = (path: string): boolean => !/\.test\.ts$|node_modules/.test(path)
  const sources = globSync(['extension/**/*.*', 'shared/**/*.ts'], {
    cwd: root,
    exclude: ['**/node_modules'],
  })
  const expected = [
    ...sources.map((path) => path.replaceAll('\\', '/')).filter(isSource),
    'LICENSE',
    'bridge/package.json',
    'docs/extension.md',
    'package-lock.json',
    'package.json',
    'server/package.json',
    'shared/package.json',
    'shared/tsconfig.json',
    'tsconfig.base.json',
  ]
  expect(archive.map(([name]) => name).sort()).toEqual(expected.sort())
})

it('the packages pass the linter of the add-on store without a message', async () => {
  const linter = join(root, 'node_modules/addons-linter/bin/addons-linter')
  const archive = join(first, archives[1] ?? '')
  const { stdout } = await run(process.execPath, [linter, '--output', 'json', archive])
  expect(JSON.parse(stdout)).toMatchObject({ errors: [], warnings: [], notices: [] })
})

describe.each(browsers)('the manifest of %s', (browser) => {
  it('the manifest is unchanged: a new permission would be requested from every user', () => {
    // The style sheets themselves are tested below.
    const text = textOf(browser, 'manifest.json').replaceAll(/sha256-[\w+/]{43}=/g, 'sha256-HASH')
    expect(JSON.parse(text)).toMatchSnapshot()
  })

  it('the manifest allows the inline styles of the pages, each by its hash, and no others', () => {
    const styles = filesOf(browser, '*.html').flatMap((path) => {
      const found = [...textOf(browser, path).matchAll(/<style>([^]*?)<\/style>/g)]
      expect(found, path).toHaveLength(1)
      return found.map(([, style = '']) => style)
    })
    const hashes = styles.map((style) => `'sha256-${createHash('sha256').update(style).digest('base64')}'`)
    const { content_security_policy: policy } = JSON.parse(textOf(browser, 'manifest.json')) as {
      content_security_policy: { extension_pages: string }
    }
    expect(policy.extension_pages.split('; ')).toContain(`style-src ${hashes.toSorted().join(' ')}`)
    expect(hashes).toHaveLength(2)
  })
})

describe.each(browsers)('the code for %s', (browser) => {
  it('the code of the popup is at most 32 kB, whenever it is loaded', () => {
    const parts = loadedBy(browser, 'popup.html')
    const sizes = Object.fromEntries(parts.map((path) => [path, Buffer.byteLength(textOf(browser, path))]))
    const total = Object.values(sizes).reduce((sum, size) => sum + size, 0)
    expect(total, JSON.stringify(sizes, null, 2)).toBeLessThanOrEqual(32_000)
    expect(total).toBeGreaterThan(5000)
  })

  it('the code turns no text into code or markup', () => {
    const forbidden =
      /\beval\(|new Function|\.(?:inner|outer)HTML|insertAdjacentHTML|document\.write|srcdoc|setHTML|createContextualFragment|DOMParser|\bjavascript:/
    for (const path of filesOf(browser, '**/*.js')) {
      expect(forbidden.exec(textOf(browser, path))?.[0], path).toBeUndefined()
    }
  })

  it('the code comes from the package alone', () => {
    for (const path of filesOf(browser, '**/*.html')) {
      for (const [, value = ''] of textOf(browser, path).matchAll(/\b(?:src|href|action)="([^"]*)"/g)) {
        expect(value, path).not.toMatch(/^(?:\w+:|\/\/)/)
      }
      expect(textOf(browser, path), path).not.toMatch(
        /<script(?![^>]*\ssrc=)|\son\w+=|\sstyle=|rel="stylesheet"/,
      )
      expect(textOf(browser, path), path).not.toMatch(/@import|url\(\s*['"]?(?:\w+:)?\/\//)
    }
    for (const path of filesOf(browser, '**/*.js')) {
      expect(textOf(browser, path), path).not.toMatch(/import\(\s*['"`](?:\w+:|\/\/)|importScripts/)
    }
  })
})

/** Returns the scripts that a page loads, immediately or later. */
function loadedBy(browser: string, page: string): string[] {
  const found = new Set<string>()
  const visit = (path: string): void => {
    if (found.has(path)) return
    found.add(path)
    for (const [, name = ''] of textOf(browser, path).matchAll(/["'`]\.{1,2}\/([\w./-]+\.js)["'`]/g)) {
      visit(filesOf(browser, '**/*.js').find((other) => other.endsWith(name)) ?? name)
    }
  }
  for (const [, source = ''] of textOf(browser, page).matchAll(/<script[^>]*\ssrc="\/?([^"]+)"/g))
    visit(source)
  return [...found]
}
