import type { Client, ClientStore } from '../core/client.ts'

const pageSize = 500

/** At most `most` of the stored clients, by id, read page by page beside running servers. */
export async function listStoredClients(
  store: Pick<ClientStore, 'listClients'>,
  most: number,
): Promise<Client[]> {
  const clients: Client[] = []
  for (let after = ''; clients.length < most;) {
    const page = await store.listClients({ after, limit: pageSize })
    clients.push(...page)
    after = page.at(-1)?.id ?? after
    if (page.length < pageSize) break
  }
  return clients.slice(0, most)
}

/**
 * The one of `candidates` that somebody who typed `text` may have meant: it begins with it, or a few letters differ.
 * Undefined when none is near, or several are just as near.
 */
export function nearest(text: string, candidates: readonly string[]): string | undefined {
  const beginning = candidates.filter((candidate) => text.length > 5 && candidate.startsWith(text))
  if (beginning.length === 1) return beginning[0]
  const measured = candidates
    .map((candidate) => ({ candidate, distance: editDistance(text, candidate) }))
    .filter(({ distance }) => distance <= 3)
    .toSorted((one, other) => one.distance - other.distance)
  const [first, second] = measured
  return first && first.distance !== second?.distance ? first.candidate : undefined
}

/** How many letters must be put in, taken out or changed to get from one text to the other. */
function editDistance(one: string, other: string): number {
  let row = Array.from({ length: other.length + 1 }, (_, index) => index)
  for (let line = 0; line < one.length; line += 1) {
    const next = [line + 1]
    for (let column = 1; column <= other.length; column += 1) {
      const change = one[line] === other[column - 1] ? 0 : 1
      const above = row[column] ?? 0
      const left = next[column - 1] ?? 0
      next.push(Math.min(above + 1, left + 1, (row[column - 1] ?? 0) + change))
    }
    row = next
  }
  return row[other.length] ?? 0
}
