/** Polls a condition every few milliseconds; fails after 20 seconds. */
export async function until(holds: () => boolean, what = 'the condition'): Promise<void> {
  const started = performance.now()
  while (!holds()) {
    if (performance.now() - started > 20_000) throw new Error(`${what} did not come true`)
    await new Promise((resolve) => setTimeout(resolve, 5))
  }
}
