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

/** Line numbers of the exports in `source` without a doc comment directly above. */
function undocumentedExports(source: string): number[] {
  const lines = source.split('\n')
  return lines.flatMap((line, index) => {
    if (!isExportOfItsOwn(lines, index)) return []
    const isOverload = /^export (?:async )?function (\w+)/.exec(line)?.[1]
    const documented = isDocComment(lines, index - 1)
    const belongsToOverload =
      isOverload !== undefined &&
      new RegExp(`^export (?:async )?function ${isOverload}\\b`).test(lines[index - 1] ?? '')
    return documented || belongsToOverload ? [] : [index + 1]
  })
}

/** The name that a line declares: `export async function f(` gives `f`. */
function exportedName(line: string): string | undefined {
  return /^export (?:declare )?(?:abstract )?(?:async )?(?:class|const|enum|function\*?|interface|let|type) (\w+)/.exec(
    line,
  )?.[1]
}

/** An export that declares something here: not `export { a } from`, `export * from` or `export type { A } from`. */
function isExportOfItsOwn(lines: readonly string[], index: number): boolean {
  const line = lines[index] ?? ''
  if (!line.startsWith('export ')) return false
  if (!/^export (?:type )?[{*]/.test(line)) return true
  const statement = lines.slice(index).join('\n')
  return !/^export (?:type )?(?:\{[^}]*\}|\*(?: as \w+)?)\s*from\b/.test(statement)
}

/** Whether a `/** ... *\/` comment, and not a plain one, ends on that line. */
function isDocComment(lines: readonly string[], last: number): boolean {
  if (!(lines[last] ?? '').endsWith('*/')) return false
  for (let index = last; index >= 0; index -= 1) {
    const text = (lines[index] ?? '').trimStart()
    if (text.startsWith('/**')) return true
    if (text.startsWith('/*') || !(text.startsWith('*') || index === last)) return false
  }
  return false
}

describe('an export', () => {
  it('that another folder imports is documented directly above its declaration', () => {
    expect(imported.size).toBeGreaterThan(300)
    const offenders = [...texts].flatMap(([path, text]) => {
      const lines = text.split('\n')
      return undocumentedExports(text)
        .filter((line) => imported.has(`${path} ${exportedName(lines[line - 1] ?? '')}`))
        .map((line) => `${path}:${line}`)
    })
    expect(offenders).toEqual([])
  })

  it.each([
    { source: '/** One. */\nexport const one = 1', missing: [] },
    { source: '/**\n * One.\n */\nexport const one = 1', missing: [] },
    { source: 'export const one = 1', missing: [1] },
    { source: '// One.\nexport const one = 1', missing: [2] },
    { source: '/* One. */\nexport const one = 1', missing: [2] },
    { source: '/** One. */\n\nexport const one = 1', missing: [3] },
    { source: '/** One. */\nconst other = 0\nexport const one = 1', missing: [3] },
    { source: "export { one } from './one.ts'\nexport type { Two } from './two.ts'", missing: [] },
    { source: "export {\n  one,\n} from './one.ts'\nexport * from './two.ts'", missing: [] },
    { source: 'const one = 1\nexport { one }', missing: [2] },
    {
      source: '/** F. */\nexport function f(a: string): void\nexport function f(a: number): void',
      missing: [],
    },
    { source: '/** F. */\nexport function f(): void\nexport function fg(): void', missing: [3] },
    { source: 'export default 1', missing: [1] },
  ])('is judged right in $source', ({ source, missing }) => {
    expect(undocumentedExports(source)).toEqual(missing)
  })
})
