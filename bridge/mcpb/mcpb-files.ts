import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { join, relative, sep } from 'node:path'
import { mcpbEntryPoint, mcpbManifest } from './mcpb-manifest.ts'
import type { ZipEntry } from './zip-archive.ts'

/** Where the parts of the extension are. */
export interface McpbSource {
  /** Folder of the built bridge: `launcher.cjs`, `package.json`, `dist`. */
  bridge: string
  /** Undefined: without the keychain. */
  modules: string | undefined
  licenseFile: string
}

/** What goes into the extension. */
export interface McpbContent {
  entries: readonly ZipEntry[]
  /** Platforms that the keychain is there for, such as `linux-x64-gnu`; on others the key is in a file. */
  keychains: readonly string[]
}

/** Collects the files in the order of their names. Throws if the bridge is not built. */
export function mcpbContent({ bridge, modules, licenseFile }: McpbSource): McpbContent {
  if (!existsSync(join(bridge, 'dist', 'main.mjs')))
    throw new Error('The bridge is not built. Run npm run build.')
  const manifest = JSON.parse(readFileSync(join(bridge, 'package.json'), 'utf8')) as PackageManifest
  const { version, description, license, engines } = manifest
  const keychains = modules === undefined ? [] : keychainFolders(modules)
  const entries: ZipEntry[] = [
    {
      name: 'manifest.json',
      content: json(mcpbManifest({ version, description, license, node: engines.node })),
    },
    { name: 'package.json', content: json({ name: manifest.name, version, license, type: 'module' }) },
    { name: 'LICENSE', content: readFileSync(licenseFile) },
    { name: mcpbEntryPoint, content: readFileSync(join(bridge, mcpbEntryPoint)), isExecutable: true },
    ...filesBelow(join(bridge, 'dist'), 'dist').filter(({ name }) => !name.endsWith('.mcpb')),
    ...keychains.flatMap(({ folder, name }) => filesBelow(folder, `node_modules/${name}`).filter(isNeeded)),
  ]
  return {
    // Clients look for the manifest first; all else by name, so that the same files make the same archive.
    entries: entries.sort((a, b) => rank(a) - rank(b) || (a.name < b.name ? -1 : 1)),
    keychains: keychains.flatMap(({ name }) => /keyring-(.*)$/.exec(name)?.[1] ?? []),
  }
}

/** What is for whoever develops with a package stays behind; its licences come along. */
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

function rank({ name }: ZipEntry): number {
  return name === 'manifest.json' ? 0 : 1
}

function json(value: unknown): Buffer {
  return Buffer.from(`${JSON.stringify(value, undefined, 2)}\n`)
}

/** The keychain package under the name it is imported by, and a native part for each platform that is installed. */
function keychainFolders(modules: string): { folder: string; name: string }[] {
  const scope = join(modules, '@napi-rs')
  const natives = existsSync(scope) ? readdirSync(scope).filter((name) => name.startsWith('keyring-')) : []
  const names = ['keytar', ...natives.map((name) => `@napi-rs/${name}`)]
  return natives.length === 0
    ? []
    : names.map((name) => ({ folder: join(modules, ...name.split('/')), name }))
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
