import type { Runtime } from '@drawbridge/shared/runtime.ts'
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
/** Registrations that nobody signed in with: anybody may make them, so no more are kept. */
const maxUnusedClients = 20_000
/** With those whose login page was shown lately, which nobody should lose while they sign in. */
const maxWithOpenPages = 40_000
const openPageSeconds = 600

/** Work that goes on beside the requests. */
export interface Upkeep {
  /** Starts nothing new, neither jobs nor further pieces of one that runs, and waits for the piece at hand. */
  stop(): Promise<void>
}

/** What there is to look after. */
export interface UpkeepPorts {
  store: Pick<Store, 'collectExpired' | 'trimClients'>
  signOuts: SignOutWorker
  keeper: Pick<SessionKeeper, 'saveUnsaved'>
  grantUses: Pick<GrantUses, 'flush'>
}

/**
 * Deletes what has expired and registrations beyond the bound, signs out at the provider what nobody uses any more, stores what could
 * not be stored and writes down which grants are in use, from now on. Every instance does all of it; they share the rows, not a schedule. What fails is reported and tried
 * again the next time.
 */
export function startUpkeep(
  { store, signOuts, keeper, grantUses }: UpkeepPorts,
  runtime: Pick<Runtime, 'now' | 'sleep'>,
  report: (event: 'upkeep_failed', fields: { error: unknown }) => void,
): Upkeep {
  const jobs = [
    repeat((isStopped) => collectExpired(store, runtime, isStopped), collectEveryMs, report),
    repeat((isStopped) => signOuts.run(isStopped), signOutEveryMs, report),
    repeat(() => keeper.saveUnsaved(), saveEveryMs, report),
    repeat(() => grantUses.flush(), useEveryMs, report),
    repeat((isStopped) => trimClients(store, runtime, isStopped), trimEveryMs, report),
  ]
  return {
    async stop() {
      await Promise.all(jobs.map((job) => job.stop()))
    },
  }
}

/** Runs `work` every so often, never twice at once. */
function repeat(
  work: (isStopped: () => boolean) => Promise<unknown>,
  everyMs: number,
  report: (event: 'upkeep_failed', fields: { error: unknown }) => void,
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

/** Deletes all that has expired, in batches between which requests are served. */
async function collectExpired(
  store: Pick<Store, 'collectExpired'>,
  runtime: Pick<Runtime, 'now' | 'sleep'>,
  isStopped: () => boolean,
): Promise<void> {
  while ((await store.collectExpired(runtime.now(), collectLimit)) === collectLimit) {
    if (isStopped()) return
    await runtime.sleep(10)
  }
}

/** Forgets registrations that nobody signed in with, as far as there are too many, in batches. */
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
    while ((await store.trimClients(max, trimLimit, openedBefore)) === trimLimit) {
      if (isStopped()) return
      await runtime.sleep(10)
    }
  }
}
