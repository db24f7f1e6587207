import { isDeepStrictEqual } from 'node:util'
import { isJsonObject } from '@drawbridge/shared/json-object.ts'
import { getNodeValue, type Node } from 'jsonc-parser'
import type { Client } from '../client.ts'
import {
  keyOf,
  membersOf,
  parseJsonc,
  readJsonEntries,
  removeJsonEntry,
  setJsonEntry,
  valueOf,
} from './jsonc-edit.ts'
import { TextFaultError } from './text.ts'
import { parseToml, readTomlEntries, removeTomlEntry, setTomlEntry, type TomlEntry } from './toml-edit.ts'

/** The place of a client's entries in a text. */
type EntryPlace = Pick<Client, 'format' | 'keys'>

/** Reads a client's entries by name. Throws `TextFaultError`. */
export function readEntries(text: string, { format, keys }: EntryPlace): Map<string, unknown> {
  return format === 'toml' ? readTomlEntries(text, keys) : readJsonEntries(text, keys)
}

/** Sets one entry, and proves that nothing else has changed. `isKept` selects members that an update keeps. */
export function setEntry(
  text: string,
  place: EntryPlace,
  name: string,
  entry: Record<string, unknown>,
  isKept: (key: string) => boolean,
): string {
  const { format, keys } = place
  // Members that stay are only edited as text, whatever their type.
  const own = Object.entries(entry).filter(([key]) => !isKept(key))
  const after =
    format === 'toml'
      ? setTomlEntry(text, keys, name, Object.fromEntries(own) as TomlEntry, isKept)
      : setJsonEntry(text, keys, name, entry)
  proveEntryEdit(text, after, place, name, entry)
  return after
}

/** Removes one entry, and proves that nothing else has changed. */
export function removeEntry(text: string, place: EntryPlace, name: string): string {
  const { format, keys } = place
  const after = format === 'toml' ? removeTomlEntry(text, keys, name) : removeJsonEntry(text, keys, name)
  proveEntryEdit(text, after, place, name, undefined)
  return after
}

type Tree = Map<string, unknown>

/**
 * Parses the text before and after an edit again, and throws {@link TextFaultError} unless only the entry `name`
 * differs and now equals `entry`, or is gone if that is undefined. An edit works on text, and a mistake in it must
 * not reach a file.
 */
export function proveEntryEdit(
  before: string,
  after: string,
  place: EntryPlace,
  name: string,
  entry: unknown,
): void {
  const path = [...place.keys, name]
  const [old, found] = [treeOf(before, place), treeOf(after, place)]
  const value = path.reduce<unknown>((tree, key) => (tree instanceof Map ? tree.get(key) : undefined), found)
  if (isDeepStrictEqual(value, toTree(entry)) && isDeepStrictEqual(without(old, path), without(found, path)))
    return
  throw new TextFaultError({ kind: 'form', path })
}

/** Returns a tree without the entry at `path`, and without a list that is empty then: in TOML it disappears with its last entry. */
function without(tree: Tree, [key = '', ...rest]: readonly string[]): Tree {
  const copy = new Map(tree)
  const member = copy.get(key)
  if (rest.length > 0 && !(member instanceof Map)) return copy
  const left = rest.length > 0 ? without(member as Tree, rest) : undefined
  if (left === undefined || left.size === 0) copy.delete(key)
  else copy.set(key, left)
  return copy
}

function treeOf(text: string, { format }: EntryPlace): Tree {
  if (format === 'toml') return toTree(parseToml(text)) as Tree
  const root = parseJsonc(text)
  return root === undefined ? new Map() : (nodeTree(root) as Tree)
}

/** Maps instead of objects: keys such as `__proto__` and duplicate keys count too. */
function nodeTree(node: Node): unknown {
  if (node.type === 'array') return (node.children ?? []).map(nodeTree)
  if (node.type !== 'object') return getNodeValue(node)
  const tree: Tree = new Map()
  for (const member of membersOf(node)) {
    let key = keyOf(member)
    while (tree.has(key)) key += '\0'
    const value = valueOf(member)
    tree.set(key, value && nodeTree(value))
  }
  return tree
}

function toTree(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(toTree)
  if (value instanceof Date || !isJsonObject(value)) return value
  return new Map(Object.entries(value).map(([key, member]) => [key, toTree(member)]))
}
