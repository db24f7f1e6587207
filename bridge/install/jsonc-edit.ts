import { getNodeValue, type Node } from 'jsonc-parser'
import { jsonInsertion, jsonReplacement } from './jsonc-insertion.ts'
import { jsonRemoval } from './jsonc-removal.ts'
import { jsonStyleOf, renderJson } from './jsonc-style.ts'
import { findProperty, keyOf, parseJsonc, propertiesOf, valueOf } from './jsonc-tree.ts'
import { applyTextEdits } from './text-edit.ts'
import { TextFaultError } from './text-fault.ts'

/** The members of the object at `keys`, by name, the last of equal ones. Empty if it is not there. Throws {@link TextFaultError}. */
export function readJsonEntries(text: string, keys: readonly string[]): Map<string, unknown> {
  const { node, missing } = descend(parseJsonc(text), keys)
  const entries = new Map<string, unknown>()
  if (node === undefined || missing.length > 0) return entries
  for (const property of propertiesOf(node)) {
    const value = valueOf(property)
    entries.set(keyOf(property), value && getNodeValue(value))
  }
  return entries
}

/** The text with `keys.name` set to `value`; objects on the way are made. Throws {@link TextFaultError}. */
export function setJsonEntry(text: string, keys: readonly string[], name: string, value: unknown): string {
  const root = parseJsonc(text)
  const style = jsonStyleOf(text, root)
  const { node, missing } = descend(root, keys)
  const [key = name] = missing
  const rest = missing.length > 0 ? [...missing.slice(1), name] : []
  const wrapped = rest.reduceRight<unknown>((inner, outer) => ({ [outer]: inner }), value)
  if (node === undefined) {
    const before = text.trim() === '' ? '' : text.trimEnd() + style.lineEnd
    return before + renderJson({ [key]: wrapped }, '', style) + style.lineEnd
  }
  const existing = missing.length === 0 ? findProperty(node, name, keys) : undefined
  const edits = existing
    ? jsonReplacement(text, existing, value, style)
    : jsonInsertion(text, node, key, wrapped, style)
  return applyTextEdits(text, edits)
}

/** The text without `keys.name`; comments beside it stay. The same text if it is not there. Throws {@link TextFaultError}. */
export function removeJsonEntry(text: string, keys: readonly string[], name: string): string {
  const { node, missing } = descend(parseJsonc(text), keys)
  if (node === undefined || missing.length > 0) return text
  const property = findProperty(node, name, keys)
  return property === undefined ? text : applyTextEdits(text, jsonRemoval(text, node, property))
}

/** The deepest object on the way to `keys` that is there, and the keys that are not. */
function descend(
  root: Node | undefined,
  keys: readonly string[],
): { node: Node | undefined; missing: readonly string[] } {
  if (root && root.type !== 'object') throw new TextFaultError({ kind: 'not_object', path: [] })
  let node = root
  for (const [depth, key] of keys.entries()) {
    const property = node && findProperty(node, key, keys.slice(0, depth))
    if (property === undefined) return { node, missing: keys.slice(depth) }
    const value = valueOf(property)
    if (value?.type !== 'object') {
      throw new TextFaultError({ kind: 'not_object', path: keys.slice(0, depth + 1) })
    }
    node = value
  }
  return { node, missing: [] }
}
