import type { Plugin } from 'rolldown'
import { type ParseResult, parseSync } from 'rolldown/utils'

type StaticImport = ParseResult['module']['staticImports'][number]
type ImportEntry = StaticImport['entries'][number]

/**
 * Has a bundle take the modules of Node by `process.getBuiltinModule` instead of `import`. An import reads every export, also
 * those that load something large when they are read, whether they are used or not.
 */
export function builtinModules(): Plugin {
  return {
    name: 'builtin-modules',
    renderChunk(code, { fileName }) {
      let rest = 0
      let result = ''
      for (const found of parseSync(fileName, code).module.staticImports) {
        if (!found.moduleRequest.value.startsWith('node:')) continue
        result += code.slice(rest, found.start) + declarationsOf(found)
        rest = found.end
      }
      return rest === 0 ? null : result + code.slice(rest)
    },
  }
}

/** One import as declarations: of some exports together, or of the whole module. One of them may be called `process`. */
function declarationsOf({ moduleRequest, entries }: StaticImport): string {
  const isWhole = ({ importName }: ImportEntry): boolean => importName.kind !== 'Name'
  const names = entries.filter(isWhole).map(({ localName }) => localName.value)
  const parts = entries.filter((entry) => !isWhole(entry))
  const bindings = parts.map(({ importName, localName }) => `${importName.name}: ${localName.value}`)
  if (bindings.length > 0) names.push(`{${bindings.join()}}`)
  return names
    .map((name) => `const ${name} = globalThis.process.getBuiltinModule('${moduleRequest.value}');`)
    .join('')
}
