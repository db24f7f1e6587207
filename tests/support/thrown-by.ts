/** Returns what `work` throws; undefined if it throws nothing. */
export function thrownBy(work: () => unknown): { fault?: string; message?: string } | undefined {
  try {
    work()
    return undefined
  } catch (error) {
    return error as Error
  }
}
