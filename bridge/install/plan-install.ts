import type { Launch } from '@drawbridge/shared/clients/config-shape.ts'
import type { Client } from './client.ts'
import { readEntries, setEntry } from './edit/entry-edit.ts'
import { isDeepStrictEqual } from 'node:util'
import { isJsonObject } from '@drawbridge/shared/json-object.ts'
import {
  type ConfigFile,
  decodeConfigText,
  encodeConfigText,
  readConfigFile,
  refuseOutside,
} from './config-file.ts'
import { InstallError, checkServerName } from './install-error.ts'
import { managedVariables } from './launch.ts'
import { lineDiff } from './edit/line-diff.ts'
import { readOwnEntry } from './own-entry.ts'
import type { Plan } from './plan.ts'
import { TextFaultError, describeTextFault } from './edit/text.ts'

/** What to paste into the file of a client: the whole of an otherwise empty one. Without a last line end. */
export function snippetOf(
  client: Pick<Client, 'format' | 'keys'>,
  name: string,
  entry: Record<string, unknown>,
): string {
  return setEntry('', client, name, entry, () => false).trimEnd()
}

/** What is to be in the file of a client. */
interface InstallRequest {
  client: Client
  /** The file, as `clientFile` finds it. */
  path: string
  /** The folder that the file must be in; undefined: anywhere. */
  within?: string | undefined
  name: string
  launch: Launch
}

// What says where a server is, in any of its spellings; everything else in an entry of ours is the user's.
const serverKeys: ReadonlySet<string> = new Set(
  (
    'type source transport command args env environment url serverUrl httpUrl headers ' +
    'http_headers env_http_headers bearer_token_env_var'
  ).split(' '),
)

/**
 * Decides what to write. Throws {@link InstallError} with the snippet to paste when the file cannot be edited safely; it is
 * never touched then. Whether somebody agrees to a `replace` is for the caller to find out.
 */
export function planInstall({ client, path, within, name, launch }: InstallRequest): Plan {
  checkServerName(name)
  const wanted = client.entry(launch)
  const snippet = snippetOf(client, name, wanted)
  return withSnippet(path, snippet, () => {
    const file = readConfigFile(path)
    if (within !== undefined) refuseOutside(file, within)
    const { text, mark } = textOf(file)
    const present = readEntries(text, client)
    const existing = present.get(name)
    const [launcher, serverUrl] = launch.args
    const own = readOwnEntry(existing, launcher)
    const isOurs = own !== undefined && own.serverUrl === serverUrl
    const isKept = (key: string): boolean => isOurs && !serverKeys.has(key)
    const entry = isOurs ? updated(existing, wanted, isKept) : wanted
    const base = { file, name, isPrivate: client.isPrivate, warning: warningOf(client, text) }
    if (isDeepStrictEqual(plain(existing), plain(entry))) {
      return { ...base, change: 'same', bytes: file.found?.bytes ?? Buffer.alloc(0), diff: '' }
    }
    const after = setEntry(text, client, name, entry, isKept)
    const change = present.has(name) ? (isOurs ? 'update' : 'replace') : 'add'
    return { ...base, change, bytes: encodeConfigText({ text: after, mark }), diff: lineDiff(text, after) }
  })
}

/** Comments are kept, and break the file for a client that knows JSON alone. */
function warningOf({ format, title }: Client, text: string): string | undefined {
  if (format !== 'json' || text.trim() === '') return undefined
  try {
    JSON.parse(text)
    return undefined
  } catch {
    return `The file has comments or trailing commas, with which ${title} does not read it. Take them out.`
  }
}

/** The text of a file; empty if there is none. Throws {@link InstallError}. */
export function textOf(file: ConfigFile): { text: string; mark: '' | '\uFEFF' } {
  const text = file.found ? decodeConfigText(file.found.bytes) : { text: '', mark: '' as const }
  if (text) return text
  throw new InstallError(
    'unreadable',
    `${file.path} is not UTF-8.`,
    'Save it as UTF-8, then run the command again.',
  )
}

/** What goes wrong with a text in `work`, told with the file and what to paste into it. */
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
      `${path} is left as it is: ${describeTextFault(error.fault)}`,
      isForm ? 'Change the entry by hand.' : 'Correct it there, then run the command again.',
      { ...options, cause: error },
    )
  }
}

/** Ours with what the user added to it, such as time-outs, approvals and variables. */
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
  return Object.fromEntries(Object.entries(value).filter(([name]) => !managedVariables.includes(name)))
}

/** Objects of the TOML parser have no prototype, which strict comparison would count. */
function plain(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(plain)
  if (!isJsonObject(value) || value instanceof Date) return value
  return Object.fromEntries(Object.entries(value).map(([key, member]) => [key, plain(member)]))
}
