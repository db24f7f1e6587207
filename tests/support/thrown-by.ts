/** Returns what `work` throws; undefined if it throws nothing. */
export function thrownBy<E = { fault?: string; message?: string }>(work: () => unknown): E | undefined {
  try {
    work()
    return undefined
  } catch (error) {
    return error as E
  }
}
