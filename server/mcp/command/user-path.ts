import { delimiter } from 'node:path'

/**
 * PATH without what npm puts in front of it for its scripts. The command is somebody's own: it runs with the programs that they have
 * installed, not with those of this package.
 */
export function userPath(path: string): string {
  const folders = path.split(delimiter)
  const first = folders.findIndex((folder) => !/[/\\](?:node_modules[/\\]\.bin|node-gyp-bin)$/.test(folder))
  return first === -1 ? path : folders.slice(first).join(delimiter)
}
