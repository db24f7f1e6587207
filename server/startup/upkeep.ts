import type { Runtime } from '@drawbridge/shared/runtime.ts'
import type { AttemptBook } from '../core/attempts/attempt-book.ts'
import type { GrantUses } from '../core/session/grant-use.ts'
import type { SessionKeeper } from '../core/session/session-keeper.ts'
import type { SignOutWorker } from '../core/session/sign-out-worker.ts'
import type { Store } from '../core/store.ts'

const collectEveryMs = 60_000
const collectLimit = 100
const signOutEveryMs = 5000
const saveEveryMs = 1000
const useEveryMs = 30_000
const trimEveryMs = 60_000
const trimLimit = 2000
/** Limits unused registrations, because anyone can create them. */
const maxUnusedClients = 20_000
/** Includes those whose login page was shown recently, which must not be deleted during the sign-in. */
const maxWithOpenPages = 40_000
const openPageSeconds = 600

export interface Upkeep {
  /** Starts no further jobs or batches, and waits for the running batch. */
  stop(): Promise<void>
}

export interface UpkeepPorts {
  store: Pick<Store, 'collectExpired' | 'trimClients'>
  signOuts: Pick<SignOutWorker, 'run'>
  keeper: Pick<SessionKeeper, 'saveUnsaved'>
  grantUses: Pick<GrantUses, 'flush'>
  attempts: Pick<AttemptBook, 'flush'>
}

type ReportUpkeep = (event: 'upkeep_failed', fields: { error: unknown }) => void

/**
 * Starts the background work: deletes expired rows and surplus registrations, signs unused sessions out at the provider, retries
 * unsaved sessions, and records the use of grants and what clients did to connect. Every instance does all of it: they share rows, not a schedule. Reports failures
 * and retries them at the next run.
 */
export function startUpkeep(
  { store, signOuts, keeper, grantUses, attempts }: UpkeepPorts,
  runtime: Pick<Runtime, 'now' | 'sleep'>,
  report: ReportUpkeep,
): Upkeep {
  const collect = (): Promise<number> => store.collectExpired(runtime.now(), collectLimit)
  const jobs = [
    repeat((isStopped) => inBatches(collect, collectLimit, runtime, isStopped), collectEveryMs, report),
    repeat((isStopped) => signOuts.run(isStopped), signOutEveryMs, report),
    repeat(() => keeper.saveUnsaved(), saveEveryMs, report),
    repeat(() => grantUses.flush(), useEveryMs, report),
    repeat(() => attempts.flush(), saveEveryMs, report),
    repeat((isStopped) => trimClients(store, runtime, isStopped), trimEveryMs, report),
  ]
  return {
    async stop() {
      await Promise.all(jobs.map((job) => job.stop()))
    },
  }
}

/** Runs `work` at an interval, never twice at once. */
function repeat(
  work: (isStopped: () => boolean) => Promise<unknown>,
  everyMs: number,
  report: ReportUpkeep,
): Upkeep {
  let running: Promise<unknown> | undefined
  let stopped = false
  // Up to a tenth longer, so that instances started together drift apart.
  const timer = setInterval(
    () => {
      running ??= work(() => stopped)
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
      stopped = true
      clearInterval(timer)
      await running
    },
  }
}

/** Deletes surplus unused registrations. */
async function trimClients(
  store: Pick<Store, 'trimClients'>,
  runtime: Pick<Runtime, 'now' | 'sleep'>,
  isStopped: () => boolean,
): Promise<void> {
  const now = runtime.now()
  const bounds = [
    { max: maxUnusedClients, openedBefore: now - openPageSeconds },
    { max: maxWithOpenPages, openedBefore: now + 1 },
  ]
  for (const { max, openedBefore } of bounds) {
    const trim = (): Promise<number> => store.trimClients(max, trimLimit, openedBefore)
    await inBatches(trim, trimLimit, runtime, isStopped)
  }
}

/** Repeats `work` while it changes `limit` rows, with a pause for requests in between. */
async function inBatches(
  work: () => Promise<number>,
  limit: number,
  runtime: Pick<Runtime, 'sleep'>,
  isStopped: () => boolean,
): Promise<void> {
  while ((await work()) === limit && !isStopped()) await runtime.sleep(10)
}
