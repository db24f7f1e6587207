/**
 * Writes the declarations of `server/library.ts`, and of the modules that they name, to `server/dist/types`:
 * node scripts/library-types.ts
 */
import { spawnSync } from 'node:child_process'
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'

process.chdir(fileURLToPath(new URL('..', import.meta.url)))
const compiled = 'node_modules/.cache/tsc'
const target = 'server/dist/types'

const { status, stdout } = spawnSync(process.execPath, ['node_modules/typescript/bin/tsc', '-b', 'server'], {
  encoding: 'utf8',
})
if (status !== 0) throw new Error(stdout)

rmSync(target, { recursive: true, force: true })
const entry = 'server/library.ts'
/** Grows while it is read. */
const modules = new Set([entry])
for (const module of modules) write(module)

function write(module: string): void {
  if (!module.endsWith('.ts'))
    throw new Error(`${entry} names a type that needs ${module}. Name a smaller one.`)
  const declarations = readFileSync(join(compiled, asDeclaration(module)), 'utf8')
  const text = declarations.replaceAll(
    /(?<=\bfrom |\bimport\()(['"])(.+?)\1/g,
    (whole, _quote, name: string) => {
      const imported = ownModule(name, module)
      if (imported === undefined) return whole
      modules.add(imported)
      return `'${relative(dirname(`/${module}`), `/${imported}`)
        .replace(/^(?!\.)/, './')
        .replace(/\.ts$/, '.js')}'`
    },
  )
  const path = join(target, asDeclaration(module))
  mkdirSync(dirname(path), { recursive: true })
  // Whoever has not installed the MCP SDK has `any` for its types, and no error.
  writeFileSync(
    path,
    text.replaceAll(/^import .* from '@modelcontextprotocol\/server'/gm, '// @ts-ignore\n$&'),
  )
}

/** Returns the path of a module of this repository; undefined for a package. */
function ownModule(name: string, importer: string): string | undefined {
  if (name.startsWith('@drawbridge/')) return name.slice('@drawbridge/'.length)
  return name.startsWith('.') ? join(dirname(importer), name) : undefined
}

function asDeclaration(module: string): string {
  return module.replace(/\.ts$/, '.d.ts')
}
