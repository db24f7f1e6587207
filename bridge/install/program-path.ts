import { installBridge } from '@drawbridge/shared/published.ts'
import { InstallError } from './install-error.ts'
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

/** Returns why a path is temporary; undefined if no reason is known. */
export function whyPassing(path: string, temporaryFolders: readonly string[]): string | undefined {
  if (passing.some((pattern) => pattern.test(path))) return 'in the cache of a package runner'
  const isBelow = temporaryFolders.some(
    (folder) => folder !== '' && path.startsWith(folder) && /^[\\/]|^$/.test(path.slice(folder.length)),
  )
  return isBelow ? 'in a temporary folder' : undefined
}

/** Rejects a program that will be gone when a client starts it, with {@link InstallError}. */
export function checkLasting(paths: readonly string[], temporaryFolders: readonly string[]): void {
  for (const path of paths) {
    const why = whyPassing(path, temporaryFolders)
    if (why === undefined) continue
    throw new InstallError(
      `${path} is ${why}: the entry would stop working once that is cleared.`,
      `Install the bridge (${installBridge}), then run this command again with the installed drawbridge; or take the risk with --force.`,
    )
  }
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
