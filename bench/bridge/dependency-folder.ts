import { existsSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'

interface Manifest {
  dependencies?: Record<string, string>
  optionalDependencies?: Record<string, string>
  peerDependencies?: Record<string, string>
  peerDependenciesMeta?: Record<string, { optional?: boolean }>
}

/**
 * Returns the folders of the package `name` in `moduleFolder` and of everything that npm installs with it, each once.
 * Some may contain others. Throws when a required package is missing.
 */
export function dependencyFolders(moduleFolder: string, name: string): string[] {
  const found = new Set<string>()
  const add = (folder: string): void => {
    if (found.has(folder)) return
    found.add(folder)
    const manifest = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as Manifest
    const { optionalDependencies = {}, peerDependenciesMeta = {} } = manifest
    const isOptional = (wanted: string): boolean =>
      wanted in optionalDependencies || peerDependenciesMeta[wanted]?.optional === true
    const all = { ...manifest.dependencies, ...optionalDependencies, ...manifest.peerDependencies }
    for (const wanted of Object.keys(all)) {
      const inner = findUpwards(folder, moduleFolder, wanted)
      if (inner !== undefined) {
        // Optional peer dependencies are there for another package.
        if (peerDependenciesMeta[wanted]?.optional !== true) add(inner)
      } else if (!isOptional(wanted)) throw new Error(`${wanted}, which ${folder} needs, is not installed.`)
    }
  }
  add(join(moduleFolder, name))
  return [...found]
}

/** Searches like Node, up to `moduleFolder`. */
function findUpwards(from: string, moduleFolder: string, name: string): string | undefined {
  for (let folder = from; folder.length >= moduleFolder.length; folder = dirname(folder)) {
    const candidate = join(folder === moduleFolder ? folder : join(folder, 'node_modules'), name)
    if (existsSync(join(candidate, 'package.json'))) return candidate
  }
  return undefined
}
