import type { Launch } from '@drawbridge/shared/clients/config-shape.ts'
import type { Client } from './client.ts'
import { readEntries, setEntry } from './edit/entry-edit.ts'
import { isDeepStrictEqual } from 'node:util'
import { isJsonObject } from '@drawbridge/shared/json-object.ts'
import { bytesWith, type ConfigFile, readConfigFile, refuseOutside } from './config-file.ts'
import { InstallError, checkServerName } from './install-error.ts'
import { managedVariable } from './launch.ts'
import { lineDiff } from './edit/line-diff.ts'
import { readOwnEntry } from './own-entry.ts'
import { TextFaultError } from './edit/text.ts'

/** A planned change of a client's file, before anything is written. */
export interface Plan {
  file: ConfigFile
  /** Name of the entry. */
  name: string
  /**
   * `same`: nothing to do. `add`: a new entry. `update`: our entry for the same server gets another command or flags.
   * `replace`: another entry has the name, and the user has to agree. `remove`: our entry is removed.
   */
  change: 'same' | 'add' | 'update' | 'replace' | 'remove'
  /** The new content of the file. */
  bytes: Buffer
  /** For display; empty for `same`. */
  diff: string
  /** Sentences to show the user about the file. */
  warnings: readonly string[]
  /** A new file is readable only to its user. */
  isPrivate: boolean
}

/** Returns the text to paste into a client's otherwise empty file, without a final line end. */
export function snippetOf(
  client: Pick<Client, 'format' | 'keys'>,
  name: string,
  entry: Record<string, unknown>,
): string {
  return setEntry('', client, name, entry, () => false).trimEnd()
}

/** The entry that a client's file should contain. */
interface InstallRequest {
  client: Client
  /** The file from `clientFile`. */
  path: string
  /** The folder that has to contain the file; undefined: any. */
  within?: string | undefined
  name: string
  launch: Launch
}

// Keys that locate a server, in any spelling; everything else in an entry of ours belongs to the user.
const serverKeys: ReadonlySet<string> = new Set(
  (
    'type source transport command args env environment url serverUrl httpUrl headers ' +
    'http_headers env_http_headers bearer_token_env_var'
  ).split(' '),
)

/**
 * Decides what to write. Throws {@link InstallError} with the snippet to paste when the file cannot be edited safely;
 * it is never touched then. The caller has to ask the user before a `replace`.
 */
export function planInstall({ client, path, within, name, launch }: InstallRequest): Plan {
  checkServerName(name)
  const wanted = client.entry(launch)
  const snippet = snippetOf(client, name, wanted)
  return withSnippet(path, snippet, () => {
    const file = readConfigFile(path)
    if (within !== undefined) refuseOutside(file, within)
    const { text } = file
    const present = readEntries(text, client)
    const existing = present.get(name)
    const [launcher, serverUrl] = launch.args
    const own = readOwnEntry(existing, launcher)
    const isOurs = own !== undefined && own.serverUrl === serverUrl
    const isKept = (key: string): boolean => isOurs && !serverKeys.has(key)
    const entry = isOurs ? updated(existing, wanted, isKept) : wanted
    const base = { file, name, isPrivate: client.isPrivate === true, warnings: warningsOf(client, text) }
    if (isDeepStrictEqual(plain(existing), plain(entry))) {
      return { ...base, change: 'same', bytes: file.found?.bytes ?? Buffer.alloc(0), diff: '' }
    }
    const after = setEntry(text, client, name, entry, isKept)
    const change = present.has(name) ? (isOurs ? 'update' : 'replace') : 'add'
    return { ...base, change, bytes: bytesWith(file, after), diff: lineDiff(text, after) }
  })
}

/** Warns that comments, which are kept, break the file for a client that reads plain JSON only. */
function warningsOf({ format, title }: Client, text: string): string[] {
  if (format !== 'json' || text.trim() === '') return []
  try {
    JSON.parse(text)
    return []
  } catch {
    return [`The file has comments or trailing commas, with which ${title} does not read it. Take them out.`]
  }
}

/** Runs `work`, and reports a fault in the text with the path and the snippet to paste. */
export function withSnippet<T>(path: string, snippet: string | undefined, work: () => T): T {
  const options = snippet === undefined ? {} : { snippet }
  try {
    return work()
  } catch (error) {
    if (error instanceof InstallError && error.fault === 'unreadable') {
      throw new InstallError(error.fault, error.message, error.nextStep, { ...options, cause: error })
    }
    if (!(error instanceof TextFaultError)) throw error
    const isForm = error.fault.kind === 'form'
    throw new InstallError(
      isForm ? 'unsupported' : 'unreadable',
      `${path} is left as it is: ${error.message}`,
      isForm ? 'Change the entry by hand.' : 'Correct it there, then run the command again.',
      { ...options, cause: error },
    )
  }
}

/** Merges our entry with the user's additions, such as timeouts, approvals and variables. */
function updated(
  existing: unknown,
  wanted: Record<string, unknown>,
  isKept: (key: string) => boolean,
): Record<string, unknown> {
  if (!isJsonObject(existing)) return wanted
  const entry = { ...wanted }
  for (const key of ['env', 'environment']) {
    const variables = { ...ownVariables(existing[key]), ...(isJsonObject(wanted[key]) ? wanted[key] : {}) }
    if (Object.keys(variables).length > 0) entry[key] = variables
  }
  return { ...entry, ...Object.fromEntries(Object.entries(existing).filter(([key]) => isKept(key))) }
}

function ownVariables(value: unknown): Record<string, unknown> {
  if (!isJsonObject(value)) return {}
  return Object.fromEntries(Object.entries(value).filter(([name]) => name !== managedVariable))
}

/** Objects of the TOML parser have no prototype, which a strict comparison would notice. */
function plain(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(plain)
  if (!isJsonObject(value) || value instanceof Date) return value
  return Object.fromEntries(Object.entries(value).map(([key, member]) => [key, plain(member)]))
}
