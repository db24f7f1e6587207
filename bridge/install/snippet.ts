import type { Client } from './client.ts'
import { setEntry } from './entry-edit.ts'

/** What to paste into the file of a client: the whole of an otherwise empty one. Without a last line end. */
export function snippetOf(
  client: Pick<Client, 'format' | 'keys'>,
  name: string,
  entry: Record<string, unknown>,
): string {
  return setEntry('', client, name, entry, () => false).trimEnd()
}
