import { installBridge } from '@drawbridge/shared/published.ts'
import { existsSync, realpathSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'

// Caches of npx, pnpm dlx, yarn dlx, bunx and fnm.
const passing = [
  /[\\/]_npx[\\/]/,
  /[\\/]dlx(?:-[^\\/]*)?[\\/]/,
  /[\\/]xfs-[^\\/]*[\\/]/,
  /[\\/]bunx-[^\\/]*[\\/]/,
  /[\\/]fnm_multishells[\\/]/,
]

/** Returns why an entry with this path would stop working: it is temporary. Undefined if no reason is known. */
export function whyPassing(path: string, temporaryFolders: readonly string[]): string | undefined {
  const isBelow = temporaryFolders.some(
    (folder) => folder !== '' && path.startsWith(folder) && /^[\\/]|^$/.test(path.slice(folder.length)),
  )
  const isCached = passing.some((pattern) => pattern.test(path))
  if (!isCached && !isBelow) return undefined
  const where = isCached ? 'in the cache of a package runner' : 'in a temporary folder'
  return `${path} is ${where}: the entry would stop working once that is cleared. Install the bridge first: ${installBridge}.`
}

/**
 * Returns the Node path that survives Homebrew updates: the folder `Cellar` contains the version and is removed with
 * it, the folder `opt` links to the installed one. Returns any other path unchanged.
 */
export function steadyNodePath(path: string): string {
  const [, prefix, formula, rest] = /^(.*)\/Cellar\/([^/]+)\/[^/]+\/(.*)$/.exec(path) ?? []
  if (prefix === undefined || formula === undefined || rest === undefined) return path
  const steady = `${prefix}/opt/${formula}/${rest}`
  return existsSync(steady) && realpathSync(steady) === realpathSync(path) ? steady : path
}

/** Returns the launcher next to the script that Node was started with, whatever link led there. */
export function launcherPath(script: string): string {
  const path = existsSync(script) ? realpathSync(script) : script
  return basename(path) === 'launcher.cjs' ? path : join(dirname(path), 'launcher.cjs')
}
