import type { Client } from './client.ts'
import { proveEntryEdit } from './entry-proof.ts'
import { readJsonEntries, removeJsonEntry, setJsonEntry } from './jsonc-edit.ts'
import { readTomlEntries, removeTomlEntry, setTomlEntry } from './toml-edit.ts'
import type { TomlEntry } from './toml-value.ts'

/** Where the entries of a client are in a text. */
type EntryPlace = Pick<Client, 'format' | 'keys'>

/** The entries of a client's text by name. Throws `TextFaultError`. */
export function readEntries(text: string, { format, keys }: EntryPlace): Map<string, unknown> {
  return format === 'toml' ? readTomlEntries(text, keys) : readJsonEntries(text, keys)
}

/** The text with one entry set, proved to differ in nothing else. `isKept` is of members that an update leaves. */
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

/** The text without one entry, proved to differ in nothing else. */
export function removeEntry(text: string, place: EntryPlace, name: string): string {
  const { format, keys } = place
  const after = format === 'toml' ? removeTomlEntry(text, keys, name) : removeJsonEntry(text, keys, name)
  proveEntryEdit(text, after, place, name, undefined)
  return after
}

/** Members that stay are edited as text only, whatever their type. */
function ownMembers(entry: Record<string, unknown>, isKept: (key: string) => boolean): TomlEntry {
  return Object.fromEntries(Object.entries(entry).filter(([key]) => !isKept(key))) as TomlEntry
}
