import { isDeepStrictEqual } from 'node:util'
import { isJsonObject } from '@drawbridge/shared/json-object.ts'
import { getNodeValue, type Node } from 'jsonc-parser'
import type { Client } from './client.ts'
import { keyOf, parseJsonc, propertiesOf, valueOf } from './jsonc-tree.ts'
import { TextFaultError } from './text-fault.ts'
import { parseToml } from './toml-statement.ts'

type Tree = Map<string, unknown>

/**
 * Reads a text before and after an edit anew, and throws {@link TextFaultError} unless they differ in the entry `name` alone,
 * which is `entry` then, or gone if that is undefined. An edit is text surgery: a slip in it must not get into a file.
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

/** Maps in place of objects: keys such as `__proto__` count, and so do keys that are there twice. */
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

/** In TOML a table on the way to the last entry goes with it; for programs that is the same as an empty one. */
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
