import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { join, relative, sep } from 'node:path'
import { zipSync, type Zippable } from 'fflate'
import template from './manifest.json' with { type: 'json' }

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

/** In the order of the manifest. */
const allPlatforms = ['darwin', 'win32', 'linux'] as const
/** Script in the archive that the client starts. */
const entryPoint: string = template.server.entry_point
const unix = 3
// The mode of a regular file is in the upper half of the attributes.
const [readable, executable] = [0o100_644 * 0x1_00_00, 0o100_755 * 0x1_00_00]
/** The first day that the format supports, in local time as it requires: the same files make the same bytes. */
const firstDay = new Date(1980, 0, 1)
/** What only developers of a package need; licences are kept. */
const forDevelopers = /\.d\.ts$|\/README[^/]*$/i

/**
 * Packs the extension as a ZIP archive. Returns it with the operating systems of its native modules, by their names in the format, and with
 * the systems themselves, such as `linux-x64-gnu`. Throws if the bridge is not built, or there is no native module.
 */
export function packMcpb({ bridge, keychain, parts, licenseFile }: McpbSource) {
  if (!existsSync(join(bridge, 'dist', 'main.mjs')))
    throw new Error('The bridge is not built. Run npm run build.')
  if (parts.length === 0)
    throw new Error(
      'No native part of the keychain is there, so the extension would be for no system. Run npm ci.',
    )
  const { name, version, license, ...own } = readPackage(bridge)
  const natives = parts.map((folder) => ({ ...readPackage(folder), folder }))
  const platforms = allPlatforms.filter((platform) => natives.some(({ os }) => os.includes(platform)))
  const systems = natives.map((native) => native.name.replace(/^.*\/keyring-/, '')).sort()
  const manifest = {
    ...template,
    version,
    description: own.description,
    long_description: `Connects to any remote MCP server and signs in to it by OAuth. The login is kept sealed on this computer, and shared with the command drawbridge. The tools are those of the server. Made for ${systems.join(', ')}.`,
    license,
    compatibility: {
      claude_desktop: '>=0.10.0',
      platforms,
      runtimes: { node: own.engines.node },
    },
  }
  const files: [name: string, content: Zippable[string]][] = [
    ['package.json', json({ name, version, license, type: 'module' })],
    ['LICENSE', readFileSync(licenseFile)],
    [entryPoint, [readFileSync(join(bridge, entryPoint)), { attrs: executable }]],
    ...filesBelow(join(bridge, 'dist'), 'dist').filter(([file]) => /\.(?:mjs|txt)$/.test(file)),
    // Under the name used by imports.
    ...[{ folder: keychain, name: 'keytar' }, ...natives]
      .flatMap((part) => filesBelow(part.folder, `node_modules/${part.name}`))
      .filter(([file]) => !forDevelopers.test(file)),
  ]
  // Clients look for the manifest first; the rest is sorted by name, so that the same files make the same archive.
  files.sort(([one], [other]) => (one < other ? -1 : 1)).unshift(['manifest.json', json(manifest)])
  const options = { level: 9, mtime: firstDay, os: unix, attrs: readable } as const
  return { archive: Buffer.from(zipSync(Object.fromEntries(files), options)), platforms, systems }
}

/** The members that are read; `os` of a native module, the description and `engines` of the bridge. */
interface PackageManifest {
  name: string
  version: string
  license: string
  description: string
  engines: { node: string }
  os: readonly string[]
}

function readPackage(folder: string): PackageManifest {
  return JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as PackageManifest
}

function json(value: unknown): Buffer {
  return Buffer.from(`${JSON.stringify(value, undefined, 2)}\n`)
}

function filesBelow(folder: string, prefix: string): [name: string, content: Buffer][] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .map((name) => join(folder, name))
    .filter((path) => statSync(path).isFile())
    .map((path) => [`${prefix}/${relative(folder, path).split(sep).join('/')}`, readFileSync(path)])
}
