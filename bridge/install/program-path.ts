import { existsSync, realpathSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'

/**
 * The path of a Node that stays when Homebrew installs the next version: its folder `Cellar` has the version in it and goes
 * with it, its folder `opt` leads to the one that is installed. Any other path is answered as it is.
 */
export function steadyNodePath(path: string): string {
  const [, prefix, formula, rest] = /^(.*)\/Cellar\/([^/]+)\/[^/]+\/(.*)$/.exec(path) ?? []
  if (prefix === undefined || formula === undefined || rest === undefined) return path
  const steady = `${prefix}/opt/${formula}/${rest}`
  return existsSync(steady) && realpathSync(steady) === realpathSync(path) ? steady : path
}

/** The launcher beside the script that Node was started with, whatever link led there. */
export function launcherPath(script: string): string {
  const path = existsSync(script) ? realpathSync(script) : script
  return basename(path) === 'launcher.cjs' ? path : join(dirname(path), 'launcher.cjs')
}
