import type { Runtime } from '@drawbridge/shared/runtime.ts'
import type { SignOutWorker } from './core/sign-out-worker.ts'
import type { Store } from './core/store.ts'

const collectEveryMs = 60_000
const collectLimit = 100
const signOutEveryMs = 5000

/** Work that goes on beside the requests. */
export interface Upkeep {
  /** Starts nothing new and waits for what runs. */
  stop(): Promise<void>
}

/**
 * Deletes what has expired and signs out at the provider what nobody uses any more, from now on. Every instance does
 * both; they share the rows, not a schedule. What fails is reported and tried again the next time.
 */
export function startUpkeep(
  store: Pick<Store, 'collectExpired'>,
  signOuts: Pick<SignOutWorker, 'run'>,
  runtime: Pick<Runtime, 'now' | 'sleep'>,
  report: (event: 'upkeep_failed', fields: { error: unknown }) => void,
): Upkeep {
  const jobs = [
    repeat(() => collectExpired(store, runtime), collectEveryMs, report),
    repeat(() => signOuts.run(), signOutEveryMs, report),
  ]
  return {
    async stop() {
      await Promise.all(jobs.map((job) => job.stop()))
    },
  }
}

/** Runs `work` every so often, never twice at once. */
function repeat(
  work: () => Promise<unknown>,
  everyMs: number,
  report: (event: 'upkeep_failed', fields: { error: unknown }) => void,
): Upkeep {
  let running: Promise<unknown> | undefined
  // Up to a tenth longer, so that instances started together drift apart.
  const timer = setInterval(
    () => {
      running ??= work()
        .catch((error: unknown) => report('upkeep_failed', { error }))
        .finally(() => {
          running = undefined
        })
    },
    everyMs * (1 + Math.random() / 10),
  )
  timer.unref()
  return {
    async stop() {
      clearInterval(timer)
      await running
    },
  }
}

/** Deletes all that has expired, in batches between which requests are served. */
async function collectExpired(
  store: Pick<Store, 'collectExpired'>,
  runtime: Pick<Runtime, 'now' | 'sleep'>,
): Promise<void> {
  while ((await store.collectExpired(runtime.now(), collectLimit)) === collectLimit) await runtime.sleep(10)
}
