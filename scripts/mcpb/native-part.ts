import { createHash } from 'node:crypto'
import { execFileSync } from 'node:child_process'
import { existsSync, mkdtempSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

const scope = '@napi-rs'

/**
 * Native keychain modules of the universal extension: one for each system that desktop clients support. Other
 * systems (musl, 32 bits, FreeBSD, RISC-V) use the bridge from npm.
 */
export const desktopParts: readonly string[] = [
  'darwin-arm64',
  'darwin-x64',
  'linux-arm64-gnu',
  'linux-x64-gnu',
  'win32-arm64-msvc',
  'win32-x64-msvc',
].map((name) => `${scope}/keyring-${name}`)

/** Returns the lockfile's entry for a package of any platform, with the one hash of its archive. Throws if it has none. */
export function lockedPackage(lockfile: string, name: string) {
  const { packages } = JSON.parse(lockfile) as {
    packages: Record<string, { version?: string; integrity?: string }>
  }
  const { version, integrity } = packages[`node_modules/${name}`] ?? {}
  if (version === undefined || integrity === undefined) {
    throw new Error(`package-lock.json does not have ${name}. Run npm install.`)
  }
  return { name, version, integrity }
}

/**
 * Fetches an archive with npm, regardless of its platform, and unpacks it below `folder`. Returns the folder of its
 * content. Does not unpack an archive that differs from the locked one. `spec` is passed to npm: another source of
 * the same package, or by default its name and version.
 */
export function fetchPackage(
  { name, version, integrity }: ReturnType<typeof lockedPackage>,
  folder: string,
  spec = `${name}@${version}`,
): string {
  const own = mkdtempSync(join(folder, 'part-'))
  const flags = ['--ignore-scripts', '--loglevel=error', '--pack-destination', own]
  execFileSync('npm', ['pack', spec, ...flags], { stdio: ['ignore', 'pipe', 'pipe'] })
  const archive = readdirSync(own).find((file) => file.endsWith('.tgz'))
  if (archive === undefined) throw new Error(`npm packed nothing for ${spec}.`)
  const found = `sha512-${createHash('sha512')
    .update(readFileSync(join(own, archive)))
    .digest('base64')}`
  if (found !== integrity) {
    throw new Error(`${spec} is not what package-lock.json names: its hash is ${found}, not ${integrity}.`)
  }
  execFileSync('tar', ['-xzf', archive], { cwd: own })
  return join(own, 'package')
}

/** Returns the folders of the native modules installed for the current platform; none without optional packages. */
export function installedParts(modules: string): string[] {
  const folder = join(modules, scope)
  const names = existsSync(folder) ? readdirSync(folder) : []
  return names.filter((name) => name.startsWith('keyring-')).map((name) => join(folder, name))
}
