import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { join, relative, sep } from 'node:path'
import { mcpbEntryPoint, mcpbManifest, type McpbPlatform, mcpbPlatforms } from './mcpb-manifest.ts'
import type { ZipEntry } from './zip-archive.ts'

/** The parts of the extension. */
export interface McpbSource {
  /** Folder of the built bridge: `launcher.cjs`, `package.json`, `dist`. */
  bridge: string
  /** Folder of the keychain package, in JavaScript. */
  keychain: string
  /** Folders of its native modules, one for each supported system. */
  parts: readonly string[]
  licenseFile: string
}

/** Content of the extension. */
export interface McpbContent {
  entries: readonly ZipEntry[]
  /** Operating systems of the native modules, for the manifest. */
  platforms: readonly McpbPlatform[]
  /** The systems themselves, such as `linux-x64-gnu`. */
  systems: readonly string[]
}

/** Collects the files, sorted by name. Throws if the bridge is not built, or there is no native module. */
export function mcpbContent({ bridge, keychain, parts, licenseFile }: McpbSource): McpbContent {
  if (!existsSync(join(bridge, 'dist', 'main.mjs')))
    throw new Error('The bridge is not built. Run npm run build.')
  if (parts.length === 0) {
    throw new Error(
      'No native part of the keychain is there, so the extension would be for no system. Run npm ci.',
    )
  }
  const own = readManifest(bridge) as PackageManifest
  const natives = parts.map((folder) => ({ folder, ...(readManifest(folder) as NativeManifest) }))
  const platforms = mcpbPlatforms.filter((platform) => natives.some(({ os }) => os.includes(platform)))
  const systems = natives.map(({ name }) => name.replace(/^.*\/keyring-/, '')).sort()
  const { name, version, description, license, engines } = own
  const manifest = mcpbManifest({ version, description, license, node: engines.node, platforms, systems })
  const entries: ZipEntry[] = [
    { name: 'manifest.json', content: json(manifest) },
    { name: 'package.json', content: json({ name, version, license, type: 'module' }) },
    { name: 'LICENSE', content: readFileSync(licenseFile) },
    { name: mcpbEntryPoint, content: readFileSync(join(bridge, mcpbEntryPoint)), isExecutable: true },
    ...filesBelow(join(bridge, 'dist'), 'dist').filter(
      ({ name: file }) => file.endsWith('.mjs') || file.endsWith('.txt'),
    ),
    // Under the name used by imports.
    ...filesBelow(keychain, 'node_modules/keytar').filter(isNeeded),
    ...natives.flatMap((part) => filesBelow(part.folder, `node_modules/${part.name}`).filter(isNeeded)),
  ]
  return {
    // Clients look for the manifest first; the rest is sorted by name, so that the same files make the same archive.
    entries: entries.sort((a, b) => rank(a) - rank(b) || (a.name < b.name ? -1 : 1)),
    platforms,
    systems,
  }
}

/** Skips files that only developers of a package need, but keeps licences. */
function isNeeded({ name }: ZipEntry): boolean {
  return !name.endsWith('.d.ts') && !/\/README[^/]*$/i.test(name)
}

interface PackageManifest {
  name: string
  version: string
  description: string
  license: string
  engines: { node: string }
}

interface NativeManifest {
  name: string
  os: readonly string[]
}

function readManifest(folder: string): unknown {
  return JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'))
}

function rank({ name }: ZipEntry): number {
  return name === 'manifest.json' ? 0 : 1
}

function json(value: unknown): Buffer {
  return Buffer.from(`${JSON.stringify(value, undefined, 2)}\n`)
}

function filesBelow(folder: string, prefix: string): ZipEntry[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .map((name) => join(folder, name))
    .filter((path) => statSync(path).isFile())
    .map((path) => ({
      name: `${prefix}/${relative(folder, path).split(sep).join('/')}`,
      content: readFileSync(path),
    }))
}
