import { globSync, readFileSync } from 'node:fs'
import { join, posix } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'

const root = fileURLToPath(new URL('../', import.meta.url))

/** Configuration files and browser entry points have the one export that their tool prescribes. */
const exempt = /(?:\.test|\.d|\.config)\.ts$|(?:^|\/)(?:node_modules|dist|entrypoints|\.\w+)\//

const sources = globSync('{shared,server,bridge,extension}/**/*.ts', {
  cwd: root,
  exclude: (path) => /^(?:node_modules|dist|\..*)$/.test(path),
})
  .map((path) => path.replaceAll('\\', '/'))
  .filter((path) => !exempt.test(path))

const texts = new Map(sources.map((path) => [path, readFileSync(join(root, path), 'utf8')]))

/** What other folders import, as `file name`: the face of a folder. */
const imported = new Set(
  [...texts].flatMap(([importer, text]) =>
    [
      ...text.matchAll(
        /(?:import|export)\s(?:type )?\{([^}]*)\} from '(\.[^']*|@drawbridge\/shared\/[^']*)'/g,
      ),
    ].flatMap(([, names = '', specifier = '']) => {
      const target = specifier.startsWith('.')
        ? posix.join(posix.dirname(importer), specifier)
        : specifier.replace('@drawbridge/', '')
      if (posix.dirname(target) === posix.dirname(importer)) return []
      return names.split(',').map(
        (name) =>
          `${target} ${
            name
              .trim()
              .replace(/^type /, '')
              .split(' ')[0]
          }`,
      )
    }),
  ),
)

const behaviour = /^export (?:abstract )?(?:async )?(?:class|function\*?) (\w+)/

/** Names and line numbers of the exported functions and classes in `source` without a doc comment directly above. */
function undocumented(source: string): { name: string; line: number }[] {
  const lines = source.split('\n')
  return lines.flatMap((line, index) => {
    const name = behaviour.exec(line)?.[1]
    const above = lines[index - 1] ?? ''
    const isOverload = behaviour.exec(above)?.[1] === name
    return name === undefined || isOverload || endsDocComment(lines, index - 1)
      ? []
      : [{ name, line: index + 1 }]
  })
}

/** Returns whether a `/** ... *\/` comment, and not a plain one, ends on that line. */
function endsDocComment(lines: readonly string[], last: number): boolean {
  if (!(lines[last] ?? '').endsWith('*/')) return false
  const start = lines.findLastIndex((line, index) => index <= last && line.trimStart().startsWith('/*'))
  return (lines[start] ?? '').trimStart().startsWith('/**')
}

describe('a function or class', () => {
  it('a function or class that another folder imports is documented directly above its declaration', () => {
    expect(imported.size).toBeGreaterThan(300)
    const offenders = [...texts].flatMap(([path, text]) =>
      undocumented(text)
        .filter(({ name }) => imported.has(`${path} ${name}`))
        .map(({ line }) => `${path}:${line}`),
    )
    expect(offenders, offenders.join()).toEqual([])
  })

  it.each([
    { source: '/** One. */\nexport function one() {}', missing: [] },
    { source: '/**\n * One.\n */\nexport class One {}', missing: [] },
    { source: 'export async function one() {}', missing: [1] },
    { source: '// One.\nexport class One {}', missing: [2] },
    { source: '/* One. */\nexport class One {}', missing: [2] },
    { source: '/** One. */\n\nexport class One {}', missing: [3] },
    {
      source: '/** F. */\nexport function f(a: string): void\nexport function f(a: number): void',
      missing: [],
    },
    { source: '/** F. */\nexport function f(): void\nexport function fg(): void', missing: [3] },
  ])('the check of documentation judges $source', ({ source, missing }) => {
    expect(undocumented(source).map(({ line }) => line)).toEqual(missing)
  })
})

/** The code of `text`: its comments taken out, so that a name which only a comment knows is not known. */
function withoutComments(text: string): string {
  return text.replaceAll(/\/\*[\s\S]*?\*\/|^\s*\/\/.*$/gm, '')
}

/** The names of code in the doc comments of `text`: links, and in backticks what has an inner capital or a `#`. */
function namesInComments(text: string): string[] {
  const comments = [...text.matchAll(/\/\*\*[\s\S]*?\*\//g)].join('\n')
  return [...comments.matchAll(/\{@link ([^}|]+)|`([#\w.]+)(?:\(\))?`/g)].flatMap(
    ([, link, quoted = '']) =>
      link?.trim().split('.') ?? quoted.split('.').filter((name) => /^(?:#\w+|\w*[a-z][A-Z]\w*)$/.test(name)),
  )
}

describe('a doc comment', () => {
  const known = new Set([...texts.values()].flatMap((text) => withoutComments(text).match(/#?\w+/g) ?? []))

  it('a doc comment names existing code only', () => {
    const offenders = [...texts].flatMap(([path, text]) =>
      namesInComments(text)
        .filter((name) => !known.has(name))
        .map((name) => `${path}: ${name}`),
    )
    expect(offenders).toEqual([])
  })

  it.each([
    { comment: '/** See {@link isGone}. */', names: ['isGone'] },
    { comment: '/** See {@link Gone.member | that}. */', names: ['Gone', 'member'] },
    {
      comment: '/** Of `goneName()`, `this.#gone` and `GoneName`. */',
      names: ['goneName', '#gone', 'GoneName'],
    },
    { comment: '/** `Mcp-Session-Id`, `tools/list`, `DRAWBRIDGE_STORE`, `client_id`, `JSON`. */', names: [] },
    { comment: '// `goneName`', names: [] },
  ])('the check of doc comments reads $comment', ({ comment, names }) => {
    expect(namesInComments(comment)).toEqual(names)
  })
})

describe('a page', () => {
  const files = globSync('{shared,server,bridge,extension,tests,bench,soak,scripts}/**/*.ts', {
    cwd: root,
    exclude: (path) => /^(?:node_modules|dist|\..*)$/.test(path),
  }).map((path) => `/${path.replaceAll('\\', '/')}`)

  it('a page names existing source files only', () => {
    const pages = globSync(['*.md', 'docs/**/*.md'], { cwd: root }).filter((page) => page !== 'CHANGELOG.md')
    const offenders = pages.flatMap((page) =>
      [...readFileSync(join(root, page), 'utf8').matchAll(/`([\w.-]+\/[\w./-]+\.ts)`/g)]
        .filter(([, path]) => !files.some((file) => file.endsWith(`/${path}`)))
        .map(([, path]) => `${page}: ${path}`),
    )
    expect(offenders).toEqual([])
  })
})
