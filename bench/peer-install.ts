import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'

/**
 * Installs `packages` at exactly these versions into a separate folder, which later runs reuse, without running their
 * scripts. Returns a file in that folder, for {@link importPeer}. Throws when npm fails.
 */
export function installPeers(
  packages: Readonly<Record<string, string>>,
  { packageFolder, say }: { packageFolder: string; say(text: string): void },
): string {
  const manifest = join(packageFolder, 'package.json')
  const text = `${JSON.stringify({ private: true, dependencies: packages }, undefined, 2)}\n`
  const installed = join(packageFolder, 'node_modules', '.package-lock.json')
  if (existsSync(installed) && readFileSync(manifest, 'utf8') === text) return manifest
  say(`installing ${Object.keys(packages).join(', ')}`)
  mkdirSync(packageFolder, { recursive: true })
  writeFileSync(manifest, text)
  const npm = spawnSync('npm', ['install', '--ignore-scripts', '--no-audit', '--no-fund'], {
    cwd: packageFolder,
    encoding: 'utf8',
  })
  if (npm.status !== 0) throw new Error(`npm install in ${packageFolder} failed:\n${npm.stderr}`)
  return manifest
}

/** Imports a module of a package that {@link installPeers} installed next to the file `from`. */
export async function importPeer<Module>(specifier: string, from: string): Promise<Module> {
  return (await import(pathToFileURL(createRequire(from).resolve(specifier)).href)) as Module
}
