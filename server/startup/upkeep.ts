import type { Runtime } from '@drawbridge/shared/runtime.ts'
import type { AttemptBook } from '../core/attempts/attempt-book.ts'
import type { GrantUses } from '../core/session/grant-use.ts'
import type { SessionKeeper } from '../core/session/session-keeper.ts'
import type { SignOutWorker } from '../core/session/sign-out-worker.ts'
import type { Store } from '../core/store.ts'

const collectLimit = 100
const trimLimit = 2000
/** Limits unused registrations, because anyone can create them. */
const maxUnusedClients = 20_000
/** Includes those whose login page was shown recently, which must not be deleted during the sign-in. */
const maxWithOpenPages = 40_000
const openPageSeconds = 600
const roundEverySeconds = 5
/** How often rounds run the jobs that only tidy up, which are those of a minute. */
const minuteMs = 60_000

export interface Upkeep {
  /** Begins to run each job at an interval. */
  start(): void
  /** Runs each job once. Never rejects. */
  run(): Promise<void>
  /**
   * Runs what must not wait for another request, for a process without intervals: now, or five seconds after it last began. Requests
   * that end in between share the coming round. Never rejects.
   */
  afterRequest(): Promise<void>
  /** Starts no further jobs or batches, waits for the running batch, and records for the last time. */
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
 * The background work: deletes expired rows and surplus registrations, signs unused sessions out at the provider, retries
 * unsaved sessions, and records the use of grants and what clients did to connect. Every instance does all of it: they share rows, not a schedule. Reports failures
 * and retries them at the next run.
 */
export function createUpkeep(
  { store, signOuts, keeper, grantUses, attempts }: UpkeepPorts,
  runtime: Pick<Runtime, 'now' | 'sleep'>,
  report: ReportUpkeep,
): Upkeep {
  const collect = (): Promise<number> => store.collectExpired(runtime.now(), collectLimit)
  const jobs: readonly Job[] = [
    { everyMs: 5000, work: () => signOuts.run(() => isStopped) },
    { everyMs: 1000, work: () => keeper.saveUnsaved() },
    { everyMs: 30_000, work: () => grantUses.flush() },
    { everyMs: 1000, work: () => attempts.flush() },
    { everyMs: minuteMs, work: () => inBatches(collect, collectLimit, runtime, () => isStopped) },
    { everyMs: minuteMs, work: () => trimClients(store, runtime, () => isStopped) },
  ]
  const saving = jobs.filter(({ everyMs }) => everyMs < minuteMs)
  const running = new Map<Job, Promise<unknown>>()
  let timers: NodeJS.Timeout[] = []
  let isStopped = false
  let coming: Promise<void> | undefined
  let last: Promise<unknown> = Promise.resolve()
  let lastAt = 0
  let tidiedAt = 0

  const failed = (error: unknown): void => report('upkeep_failed', { error })

  /** Runs a job, never twice at once. */
  async function run(job: Job): Promise<void> {
    if (isStopped) return
    const start = (): Promise<unknown> =>
      job
        .work()
        .catch(failed)
        .finally(() => running.delete(job))
    const current = running.get(job) ?? start()
    running.set(job, current)
    await current
  }

  /** Begins a round when its time has come and the last one is over. */
  async function nextRound(): Promise<void> {
    const wait = roundEverySeconds - Math.max(0, runtime.now() - lastAt)
    await Promise.all([last, wait > 0 && runtime.sleep(wait * 1000)])
    // What a request does from now on may have been missed by this round.
    coming = undefined
    lastAt = runtime.now()
    const isTidy = (lastAt - tidiedAt) * 1000 < minuteMs
    if (!isTidy) tidiedAt = lastAt
    await (last = Promise.all((isTidy ? saving : jobs).map(run)))
  }

  return {
    start() {
      // Up to a tenth longer, so that instances started together drift apart.
      timers = jobs.map((job) =>
        setInterval(() => void run(job), job.everyMs * (1 + Math.random() / 10)).unref(),
      )
    },
    async run() {
      await Promise.all(jobs.map(run))
    },
    afterRequest: () => (coming ??= nextRound()),
    async stop() {
      isStopped = true
      timers.forEach(clearInterval)
      await Promise.all(running.values())
      await Promise.all([grantUses, attempts].map((book) => book.flush().catch(failed)))
    },
  }
}

interface Job {
  everyMs: number
  work(): Promise<unknown>
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
