import { isDeepStrictEqual } from 'node:util'
import { isJsonObject } from '@drawbridge/shared/json-object.ts'
import { type Node, getNodeValue } from 'jsonc-parser'
import type { Client } from '../client.ts'
import { keyOf, parseJsonc, propertiesOf, valueOf } from './jsonc-tree.ts'
import { TextFaultError } from './text.ts'
import { type TomlEntry, parseToml } from './toml-tree.ts'
import { readJsonEntries, removeJsonEntry, setJsonEntry } from './jsonc-edit.ts'
import { readTomlEntries, removeTomlEntry, setTomlEntry } from './toml-edit.ts'

type Tree = Map<string, unknown>

/**
 * Parses the text before and after an edit again, and throws {@link TextFaultError} unless only the entry `name`
 * differs and now equals `entry`, or is gone if that is undefined. An edit works on text, and a mistake in it must
 * not reach a file.
 */
export function proveEntryEdit(
  before: string,
  after: string,
  place: Pick<Client, 'format' | 'keys'>,
  name: string,
  entry: unknown,
): void {
  const path = [...place.keys, name]
  const expected = withValue(treeOf(before, place), path, entry === undefined ? undefined : toTree(entry))
  const found = withoutEmpty(treeOf(after, place), place.keys)
  if (!isDeepStrictEqual(found, withoutEmpty(expected, place.keys))) {
    throw new TextFaultError({ kind: 'form', path })
  }
}

function treeOf(text: string, { format }: Pick<Client, 'format'>): Tree {
  if (format === 'toml') return toTree(parseToml(text)) as Tree
  const root = parseJsonc(text)
  return root === undefined ? new Map() : (nodeTree(root) as Tree)
}

/** Maps instead of objects: keys such as `__proto__` and duplicate keys count too. */
function nodeTree(node: Node): unknown {
  if (node.type === 'array') return (node.children ?? []).map(nodeTree)
  if (node.type !== 'object') return getNodeValue(node)
  const tree: Tree = new Map()
  for (const property of propertiesOf(node)) {
    let key = keyOf(property)
    while (tree.has(key)) key += '\0'
    const value = valueOf(property)
    tree.set(key, value && nodeTree(value))
  }
  return tree
}

function toTree(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(toTree)
  if (value instanceof Date || !isJsonObject(value)) return value
  return new Map(Object.entries(value).map(([key, member]) => [key, toTree(member)]))
}

function withValue(tree: Tree, path: readonly string[], value: unknown): Tree {
  const [key = '', ...rest] = path
  const copy = new Map(tree)
  const member = copy.get(key)
  if (rest.length > 0) copy.set(key, withValue(member instanceof Map ? member : new Map(), rest, value))
  else if (value === undefined) copy.delete(key)
  else copy.set(key, value)
  return copy
}

/** In TOML a table on the path disappears with its last entry; programs treat that like an empty one. */
function withoutEmpty(tree: Tree, path: readonly string[]): Tree {
  const [key = '', ...rest] = path
  const member = tree.get(key)
  if (!(member instanceof Map)) return tree
  const copy = new Map(tree)
  const pruned = rest.length > 0 ? withoutEmpty(member, rest) : member
  if (pruned.size === 0) copy.delete(key)
  else copy.set(key, pruned)
  return copy
}

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
  const after =
    place.format === 'toml'
      ? setTomlEntry(text, place.keys, name, ownMembers(entry, isKept), isKept)
      : setJsonEntry(text, place.keys, name, entry)
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

/** Drops members that stay, which are only edited as text, whatever their type. */
function ownMembers(entry: Record<string, unknown>, isKept: (key: string) => boolean): TomlEntry {
  return Object.fromEntries(Object.entries(entry).filter(([key]) => !isKept(key))) as TomlEntry
}
