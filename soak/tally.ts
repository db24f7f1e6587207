/** Counts events by name. */
export interface Tally {
  add(name: string, count?: number): void
  get(name: string): number
  /** Records a case that must not happen, with the details for an investigation. Never a token. */
  accuse(name: string, detail: string): void
  /** Returns the first accusations of each kind, as sentences. */
  accusations(): readonly string[]
}

const maxOfAKind = 5

export function createTally(): Tally {
  const counts = new Map<string, number>()
  const accusations: string[] = []
  const tally: Tally = {
    add: (name, count = 1) => void counts.set(name, tally.get(name) + count),
    get: (name) => counts.get(name) ?? 0,
    accuse(name, detail) {
      tally.add(name)
      if (tally.get(name) <= maxOfAKind) accusations.push(`${new Date().toISOString()} ${name}: ${detail}`)
    },
    accusations: () => accusations,
  }
  return tally
}
