/** What the bridge throws, with the members that tell its errors apart. */
type Thrown = Error & { fault?: string; nextStep?: string }

/** Returns what `work` throws; undefined if it throws nothing. */
export function thrownBy(work: () => unknown): Thrown | undefined {
  try {
    work()
    return undefined
  } catch (error) {
    return error as Thrown
  }
}
