import { isDeepStrictEqual } from 'node:util'
import { configText, type Launch } from '@drawbridge/shared/clients/config-shape.ts'
import { isJsonObject, type JsonObject } from '@drawbridge/shared/json-object.ts'
import type { Client, InstallSystem, Scope } from './client.ts'
import { findProgram, readListed } from './client-program.ts'
import { clientFile } from './client-table.ts'
import { type ConfigFile, readConfigFile, refuseOutside } from './config-file.ts'
import { managedVariable } from './launch.ts'
import { readOwnEntry } from './own-entry.ts'
import { readServerList, type ServerList } from './server-list.ts'

/** A planned change of a client's configuration, before anything is written. */
export interface Plan {
  file: ConfigFile
  /** Name of the entry. */
  name: string
  /**
   * `same`: nothing to do. `add`: a new entry. `update`: our entry for the same server gets another command or flags.
   * `replace`: another entry has the name, and the user has to agree. `remove`: our entry is removed.
   */
  change: 'same' | 'add' | 'update' | 'replace' | 'remove'
  /** The entry afterwards; undefined for `remove`. */
  entry: JsonObject | undefined
  /** The client's own program, which makes the change, with its arguments. */
  command: readonly string[] | undefined
  /** Changes the file where no program of the client does. If neither can, the user has to. */
  write: ServerList['write']
}

/** Formats the text to paste into a client's otherwise empty file, without a final line end. */
export function snippetOf(
  { format, keys }: Pick<Client, 'format' | 'keys'>,
  name: string,
  entry: JsonObject,
): string {
  if (format !== 'toml') return configText({ keys }, name, entry)
  const lines = Object.entries(entry).map(([key, value]) => `${key} = ${tomlValue(value)}`)
  return [`[${[...keys, name].join('.')}]`, ...lines].join('\n')
}

/** Formats texts, lists of them, and tables of texts. TOML takes strings as JSON writes them, except DEL. */
function tomlValue(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(tomlValue).join(', ')}]`
  if (!isJsonObject(value)) return JSON.stringify(value).replaceAll('\u007F', String.raw`\u007F`)
  return `{ ${Object.entries(value)
    .map(([key, text]) => `${key} = ${tomlValue(text)}`)
    .join(', ')} }`
}

/** The configuration to change. */
export interface Target {
  client: Client
  scope: Scope
  system: InstallSystem
}

/** Reads a client's configuration, through its own program where the file is not read. `program`: that program, for the user's configuration. Throws `InstallError`. */
export function findServers({ client, scope, system }: Target) {
  const file = readConfigFile(clientFile(client, scope, system))
  if (scope === 'project') refuseOutside(file, system.projectFolder)
  const program = scope === 'user' ? findProgram(client, system) : undefined
  const list = readServerList(client, file)
  const listArguments = client.program?.list
  if (list.entries || program === undefined || !listArguments) return { ...list, file, program }
  const entries = readListed(system.run(program, listArguments) ?? '')
  // A program that cannot list its entries cannot be trusted to keep them.
  return { ...list, entries, file, program: entries && program }
}

// Keys that locate a server, in any spelling; everything else in an entry of ours belongs to the user.
const serverKeys: ReadonlySet<string> = new Set(
  (
    'type source transport command args env environment url serverUrl httpUrl headers ' +
    'http_headers env_http_headers bearer_token_env_var'
  ).split(' '),
)

/** Decides how to install an entry. Throws `InstallError` for an invalid file. The caller has to ask the user before a `replace`. */
export function planInstall(target: Target, name: string, launch: Launch): Plan {
  const { client } = target
  const wanted = client.entry(launch)
  const { file, program, entries, write } = findServers(target)
  const existing = entries?.get(name)
  const [launcher, serverUrl] = launch.args
  const isOurs = readOwnEntry(existing, launcher)?.serverUrl === serverUrl
  const entry = isOurs ? updated(existing, wanted) : wanted
  const base = { file, name, write }
  if (isStartedAlike(existing, entry)) return { ...base, change: 'same', entry, command: undefined }
  const isNew = existing === undefined
  // `add` refuses a name that is there, or loses what else is in its entry.
  if (program && client.program && (isNew || client.program.list)) {
    const command = [program, ...client.program.add(name, launch)]
    return { ...base, change: isNew ? 'add' : 'replace', entry: wanted, command }
  }
  const change = isNew ? 'add' : isOurs ? 'update' : 'replace'
  return { ...base, change, entry, command: undefined }
}

/** Compares the command line and the variables of two entries, in any client's format. */
export function isStartedAlike(one: unknown, other: unknown): boolean {
  return isDeepStrictEqual(startOf(one), startOf(other))
}

function startOf(entry: unknown): unknown {
  if (!isJsonObject(entry)) return undefined
  const variables = entry['env'] ?? entry['environment'] ?? {}
  return { words: [entry['command'], entry['args'] ?? []].flat(), variables }
}

/** Merges our entry with the user's additions, such as timeouts, approvals and variables. */
function updated(existing: unknown, wanted: JsonObject): JsonObject {
  if (!isJsonObject(existing)) return wanted
  const entry = { ...wanted }
  for (const key of ['env', 'environment']) {
    const variables = { ...ownVariables(existing[key]), ...(isJsonObject(wanted[key]) ? wanted[key] : {}) }
    if (Object.keys(variables).length > 0) entry[key] = variables
  }
  return { ...entry, ...Object.fromEntries(Object.entries(existing).filter(([key]) => !serverKeys.has(key))) }
}

function ownVariables(value: unknown): JsonObject {
  if (!isJsonObject(value)) return {}
  return Object.fromEntries(Object.entries(value).filter(([name]) => name !== managedVariable))
}
