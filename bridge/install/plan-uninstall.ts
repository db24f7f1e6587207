import { ConfigError } from '@drawbridge/shared/settings/setting.ts'
import { InstallError } from './install-error.ts'
import { type OwnEntry, readOwnEntry } from './own-entry.ts'
import { findServers, type Plan, type Target } from './plan-install.ts'

/** Selects the entry to remove; without name and URL the only entry of ours. `launcher` is the one of this process. */
type EntryChoice = { name: string | undefined; serverUrl: string | undefined; launcher: string }

/** Decides how to remove the one entry that starts the bridge; `own` is that entry. Throws {@link InstallError}, or {@link ConfigError} for a choice between several. */
export function planUninstall(target: Target, choice: EntryChoice): Plan & { own: OwnEntry } {
  const { client } = target
  const { file, program, entries, write } = findServers(target)
  if (entries === undefined && file.found) {
    const table = [...client.keys, choice.name ?? 'NAME'].join('.')
    throw new InstallError(
      `${file.path} is TOML, which is not edited here, and ${client.title} did not list its servers.`,
      `Remove the table [${table}] from it by hand.`,
    )
  }
  const { name, own } = choose(choice, entries ?? new Map(), file.path, client.title)
  const remove = client.program?.remove
  return {
    file,
    name,
    own,
    change: 'remove',
    entry: undefined,
    command: program !== undefined && remove ? [program, ...remove(name)] : undefined,
    write,
  }
}

function choose(
  { name, serverUrl, launcher }: EntryChoice,
  entries: ReadonlyMap<string, unknown>,
  path: string,
  title: string,
): { name: string; own: OwnEntry } {
  if (name !== undefined && entries.has(name) && !readOwnEntry(entries.get(name), launcher)) {
    throw new InstallError(
      `${JSON.stringify(name)} in ${path} does not start the bridge, so it is not removed.`,
      'Remove it in the client itself.',
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
      `No ${what}${server} in ${path}.`,
      `Check that file: ${title} may have the entry elsewhere.`,
    )
  }
  if (found.length === 1) return first
  throw new ConfigError(
    [`${path} has ${found.length} entries of ours: ${found.map((entry) => entry.name).join(', ')}.`],
    'Select one with --name.',
  )
}
