/** Those of `entries` whose user has the most of them: whom it hurts least to give one up. Empty for none. */
export function largestGroup<Entry extends { userId: string }>(entries: Iterable<Entry>): Entry[] {
  const groups = new Map<string, Entry[]>()
  for (const entry of entries) {
    const group = groups.get(entry.userId)
    if (group) group.push(entry)
    else groups.set(entry.userId, [entry])
  }
  return [...groups.values()].reduce((most, group) => (group.length > most.length ? group : most), [])
}
