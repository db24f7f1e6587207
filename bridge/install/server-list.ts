import { parseExactObject } from '@drawbridge/shared/exact-json.ts'
import { isJsonObject, type JsonObject } from '@drawbridge/shared/json-object.ts'
import type { Client } from './client.ts'
import type { ConfigFile } from './config-file.ts'
import { InstallError } from './install-error.ts'

/** The servers in a client's configuration. */
export interface ServerList {
  /** The entries by name. Undefined: the file is not read, as it is TOML. */
  entries: ReadonlyMap<string, unknown> | undefined
  /** Returns the file's new text with this entry, or without it if that is undefined. A string: why the file is left as it is. */
  write: ((name: string, entry: JsonObject | undefined) => string) | string
}

/** Reads a client's file. Throws {@link InstallError} if it is invalid, or has something else where the servers should be. */
export function readServerList({ format, keys }: Client, file: ConfigFile): ServerList {
  if (format === 'toml') return { entries: undefined, write: 'it is TOML, which is not edited here' }
  const { text } = file
  const isPlain = isJson(text)
  const content = isPlain ? text : plainJson(text)
  const root = content.trim() === '' ? {} : parseRoot(content, file)
  let list = root
  for (const key of keys) {
    const { [key]: member = {} } = list
    if (!isJsonObject(member)) throw unreadable(file, `${JSON.stringify(key)} is not an object.`)
    list = member
  }
  const entries = new Map(Object.entries(list))
  if (!isPlain && text.trim() !== '')
    return { entries, write: 'it has comments or trailing commas, which would be lost' }
  if (!isKeptByWriting(text, root))
    return { entries, write: 'it has repeated keys or numbers, which writing it would change' }
  return { entries, write: (name, entry) => layOut(withEntry(root, [...keys, name], entry), text) }
}

function parseRoot(content: string, file: ConfigFile): JsonObject {
  const root = parseExactObject(content)
  if (root) return root
  throw unreadable(file, isJson(content) ? 'its content is not an object.' : `it is not valid JSON.`)
}

function unreadable({ path }: ConfigFile, why: string): InstallError {
  const nextStep = 'Correct it there, then run the command again.'
  return new InstallError(`${path} is left as it is: ${why}`, nextStep)
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}

// An unclosed string or comment extends to the end of the text: matching stays linear.
const string = String.raw`"[^"\\]*(?:\\[^][^"\\]*)*(?:"|\\?$)`
const commentOrString = new RegExp(String.raw`(${string})|\/\/[^\r\n]*|\/\*[^]*?(?:\*\/|$)`, 'g')
const lastCommaOrString = new RegExp(String.raw`(${string})|,(?=\s*[}\]])`, 'g')
const spaceOrString = new RegExp(String.raw`(${string})|\s+`, 'g')

/** Removes comments and trailing commas. */
function plainJson(text: string): string {
  const keepString = (_: string, kept: string | undefined): string => kept ?? ' '
  return text.replaceAll(commentOrString, keepString).replaceAll(lastCommaOrString, keepString)
}

/** Returns false if writing would drop a repeated key, reorder keys or round a number. */
function isKeptByWriting(text: string, root: JsonObject): boolean {
  const tokens = text.replaceAll(spaceOrString, (_, kept?: string) =>
    kept === undefined ? '' : JSON.stringify(JSON.parse(kept)),
  )
  return tokens === '' || tokens === JSON.stringify(root)
}

/** Sets the member at `path`, in its place if it is there, or removes it. */
function withEntry(node: unknown, [key = '', ...rest]: readonly string[], entry: unknown): JsonObject {
  const members = isJsonObject(node) ? node : {}
  const value = rest.length > 0 ? withEntry(members[key], rest, entry) : entry
  if (value !== undefined) return { ...members, [key]: value }
  return Object.fromEntries(Object.entries(members).filter(([name]) => name !== key))
}

/** Writes JSON with the indentation, the line ends and the end of `before`. */
function layOut(value: JsonObject, before: string): string {
  const [, indent] = /\n([ \t]+)"/.exec(before) ?? []
  const isOneLine = !/\S\s*\n/.test(before.trimEnd()) && /"/.test(before)
  const [lineEnd = '\n'] = /\r?\n/.exec(before) ?? []
  const end = before.trim() === '' ? '\n' : before.slice(before.trimEnd().length)
  const text = JSON.stringify(value, undefined, indent ?? (isOneLine ? undefined : 2))
  return text.replaceAll('\n', lineEnd) + end
}
