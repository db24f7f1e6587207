import { editDistance } from '@drawbridge/shared/nearest-name.ts'
import type { Client, ClientStore } from '../core/clients/client.ts'

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
