import type { Client } from './client.ts'
import { bytesWith, readConfigFile, refuseOutside } from './config-file.ts'
import { readEntries, removeEntry } from './edit/entry-edit.ts'
import { InstallError } from './install-error.ts'
import { lineDiff } from './edit/line-diff.ts'
import { type OwnEntry, readOwnEntry } from './own-entry.ts'
import { type Plan, withSnippet } from './plan-install.ts'

/** Selects the entry to remove from a client's file. Without name and URL: the only entry of ours. */
export interface UninstallRequest {
  client: Client
  path: string
  /** The folder that has to contain the file; undefined: any. */
  within?: string | undefined
  name: string | undefined
  serverUrl: string | undefined
  /** The launcher of this process. */
  launcher: string
}

/** A plan, and the server of the removed entry. */
export interface UninstallPlan extends Plan {
  own: OwnEntry
}

/** Decides what to remove: the one entry that starts the bridge. Keeps objects that become empty. */
export function planUninstall(request: UninstallRequest): UninstallPlan {
  const { client, path, within } = request
  return withSnippet(path, undefined, () => {
    const file = readConfigFile(path)
    if (within !== undefined) refuseOutside(file, within)
    const { text } = file
    const { name, own } = choose(request, readEntries(text, client))
    const after = removeEntry(text, client, name)
    return {
      file,
      name,
      own,
      change: 'remove',
      bytes: bytesWith(file, after),
      diff: lineDiff(text, after),
      warnings: [],
      isPrivate: client.isPrivate === true,
    }
  })
}

function choose(
  request: UninstallRequest,
  entries: ReadonlyMap<string, unknown>,
): { name: string; own: OwnEntry } {
  const { client, path, name, serverUrl, launcher } = request
  if (name !== undefined && entries.has(name) && !readOwnEntry(entries.get(name), launcher)) {
    throw new InstallError(
      'taken',
      `${JSON.stringify(name)} in ${path} does not start the bridge, so it is not removed.`,
      'Remove it in the client that it is for.',
    )
  }
  const found = [...entries].flatMap(([key, entry]) => {
    const own = readOwnEntry(entry, launcher)
    const isMeant =
      name === undefined ? serverUrl === undefined || own?.serverUrl === serverUrl : key === name
    return own && isMeant ? [{ name: key, own }] : []
  })
  const [first] = found
  if (first === undefined) {
    const what = name === undefined ? 'entry of ours' : `entry ${JSON.stringify(name)}`
    const server = serverUrl === undefined || name !== undefined ? '' : ` for ${serverUrl}`
    throw new InstallError(
      'missing',
      `There is no ${what}${server} in ${path}.`,
      `Look into that file: ${client.title} may have the entry elsewhere.`,
    )
  }
  if (found.length === 1) return first
  throw new InstallError(
    'usage',
    `${path} has ${found.length} entries of ours: ${found.map((entry) => entry.name).join(', ')}.`,
    'Say which one with --name.',
  )
}
