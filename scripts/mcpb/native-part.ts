import { createHash } from 'node:crypto'
import { execFileSync } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

const scope = '@napi-rs'

/**
 * Native parts of the keychain that an extension for everybody carries: those of the systems that desktop clients are made
 * for. What is left out (musl, 32 bits, FreeBSD, RISC-V) runs the bridge from npm.
 */
export const desktopParts: readonly string[] = [
  'darwin-arm64',
  'darwin-x64',
  'linux-arm64-gnu',
  'linux-x64-gnu',
  'win32-arm64-msvc',
  'win32-x64-msvc',
].map((name) => `${scope}/keyring-${name}`)

/** A package as `package-lock.json` has it. */
export interface LockedPackage {
  name: string
  version: string
  /** Subresource integrity of its archive, one hash. */
  integrity: string
}

/** What the lockfile, as text, says about a package of any platform. Throws if it does not name it with a hash. */
export function lockedPackage(lockfile: string, name: string): LockedPackage {
  const { packages } = JSON.parse(lockfile) as { packages: Record<string, Partial<LockedPackage>> }
  const { version, integrity } = packages[`node_modules/${name}`] ?? {}
  if (version === undefined || integrity === undefined) {
    throw new Error(`package-lock.json does not have ${name}. Run npm install.`)
  }
  return { name, version, integrity }
}

/**
 * Fetches an archive with npm, whatever platform it is for, and unpacks it below `folder`. Answers where its content is.
 * Nothing of an archive that is another than the locked one is unpacked. `spec` is what npm is asked for: another place of
 * the same package, or by default its name and version.
 */
export function fetchPackage(
  { name, version, integrity }: LockedPackage,
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

/** Folders of the native parts that are installed for the platform this runs on; none without optional packages. */
export function installedParts(modules: string): string[] {
  const folder = join(modules, scope)
  try {
    return readdirSync(folder)
      .filter((name) => name.startsWith('keyring-'))
      .map((name) => join(folder, name))
  } catch {
    return []
  }
}
