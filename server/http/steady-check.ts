/** For how long the outcome of a check stands. */
const freshMs = 2000
/** Less than `/readyz` waits for a check, so that a slow one is answered with its last outcome. */
const patienceMs = 1000
/** A check that fails this fast is tried once more: a single broken connection is not an outage. */
const quickFailureMs = 2000
const retryPauseMs = 200

/**
 * Makes a readiness check of something remote steady: one outage is noticed by the first call after it, and a slow answer
 * changes nothing. Resolves when the last outcome was good. Rejects with the failure of `check` when it failed twice in a
 * row, or once after more than two seconds. While `check` takes longer than a second its last outcome stands; before
 * the first outcome the caller waits for as long as it takes. `check` must end by itself.
 */
export function createSteadyCheck(check: () => Promise<unknown>): () => Promise<void> {
  let last: { endedAt: number; failure: { error: unknown } | undefined } | undefined
  let looking: Promise<void> | undefined

  async function look(): Promise<void> {
    const startedAt = performance.now()
    let failure = await failureOf(check)
    if (failure && performance.now() - startedAt < quickFailureMs) {
      await new Promise((resolve) => setTimeout(resolve, retryPauseMs))
      failure = await failureOf(check)
    }
    last = { endedAt: performance.now(), failure }
    looking = undefined
  }

  return async () => {
    if (!last || last.failure || performance.now() - last.endedAt >= freshMs) {
      looking ??= look()
      await (last ? waitFor(looking) : looking)
    }
    if (last?.failure) throw last.failure.error
  }
}

async function failureOf(check: () => Promise<unknown>): Promise<{ error: unknown } | undefined> {
  try {
    await check()
    return undefined
  } catch (error) {
    return { error }
  }
}

/** Resolves with `work`, or when the patience is over. `work` must not reject. */
async function waitFor(work: Promise<void>): Promise<void> {
  let patience: NodeJS.Timeout | undefined
  await Promise.race([work, new Promise((resolve) => (patience = setTimeout(resolve, patienceMs)))])
  clearTimeout(patience)
}
