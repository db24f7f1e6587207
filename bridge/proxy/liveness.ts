import { NetworkError } from '../network/http-client.ts'
import type { CallInFlight, InFlight } from './in-flight.ts'

/** Times in milliseconds. */
export interface LivenessConfig {
  /** Silence within a call after which the server is asked whether it lives; 0 never. */
  watchdogMs: number
  /** Silence on the whole connection after which it is asked too; 0 never. */
  pingMs: number
  /** How long a ping may take. */
  pingWaitMs: number
  /** Scheme, host and port of the server, for errors. */
  origin: string
}

/** What liveness looks at, and what it does. */
export interface LivenessPorts {
  inFlight: InFlight
  /** `nowMs` is set at each tick: what asks for the time of a call reads it from here, instead of from the system. */
  clock: { nowMs: number; heardMs: number }
  monotonicMs(): number
  wallMs(): number
  /** Asks the server for a sign of life, on a connection of its own. Rejects without one. Time counts from `asked` on. */
  ping(signal: AbortSignal, asked: () => void): Promise<void>
  /** Whether there is anything to ask: a server, and a client that was told of it. */
  isConnected(): boolean
  fail(call: CallInFlight, error: unknown): void
  /** Gives up all connections; streams are opened again by those who need them. */
  dropConnections(): void
  note(text: string): void
}

/** One coarse timer for all that has to do with silence. */
export interface Liveness {
  start(): void
  stop(): void
  /** What the timer does each time. */
  tick(): void
}

/** So much more on the wall clock than on the other one is no correction of the time: the computer slept. */
const sleptMs = 30_000

/** A subscription is silent for as long as nothing happens. */
const silentMethods: ReadonlySet<string> = new Set(['subscriptions/listen'])

/** Calls are watched to about the length of a tick: a second at most. */
export function createLiveness(config: LivenessConfig, ports: LivenessPorts): Liveness {
  const { inFlight, clock } = ports
  const shortest = Math.min(...[1000, config.watchdogMs / 4, config.pingMs / 4].filter((ms) => ms > 0))
  let timer: ReturnType<typeof setInterval> | undefined
  let pinging: { askedMs: number | undefined; abort: AbortController } | undefined
  let wall = ports.wallMs()
  let wokeAt: number | undefined
  clock.nowMs = ports.monotonicMs()
  clock.heardMs = clock.nowMs

  function tick(): void {
    const now = ports.monotonicMs()
    const slept = ports.wallMs() - wall - (now - clock.nowMs)
    wall = ports.wallMs()
    clock.nowMs = now
    for (const call of inFlight.calls()) clock.heardMs = Math.max(clock.heardMs, call.heardAt)
    if (slept > sleptMs) woke(now)
    if (pinging !== undefined) {
      if (now - (pinging.askedMs ?? now) >= config.pingWaitMs) pinging.abort.abort()
    } else if (isPingDue(now)) ping(now)
  }

  function woke(now: number): void {
    ports.note('the computer has slept')
    wokeAt = now
    if (pinging === undefined && ports.isConnected()) ping(now)
  }

  function isPingDue(now: number): boolean {
    if (!ports.isConnected()) return false
    if (config.pingMs > 0 && now - clock.heardMs >= config.pingMs) return true
    if (config.watchdogMs === 0) return false
    for (const call of inFlight.calls()) if (isSilent(call, now)) return true
    return false
  }

  function isSilent(call: CallInFlight, now: number): boolean {
    return now - call.heardAt >= config.watchdogMs && !silentMethods.has(call.method)
  }

  function ping(now: number): void {
    const abort = new AbortController()
    const current: typeof pinging = { askedMs: undefined, abort }
    pinging = current
    clock.heardMs = now
    const silent = [...inFlight.calls()].filter((call) => config.watchdogMs > 0 && isSilent(call, now))
    ports
      .ping(abort.signal, () => void (current.askedMs = ports.monotonicMs()))
      .then(
        () => alive(silent),
        () => dead(silent, now),
      )
      .finally(() => {
        pinging = undefined
        afterSleep()
      })
  }

  /** The server works on: the calls have another while. */
  function alive(silent: readonly CallInFlight[]): void {
    if (wokeAt !== undefined) return
    for (const call of silent) call.heardAt = Math.max(call.heardAt, clock.nowMs)
  }

  function dead(silent: readonly CallInFlight[], since: number): void {
    ports.note('the server does not answer a ping')
    const seconds = Math.round(config.watchdogMs / 1000)
    for (const call of silent)
      if (call.heardAt < since)
        giveUp(call, `${config.origin} has been silent for ${seconds} s, and does not answer a ping`)
  }

  /** What was asked before the sleep and is silent still went over a connection that nobody else remembers. */
  function afterSleep(): void {
    if (wokeAt === undefined) return
    const calls = [...inFlight.calls()].filter(({ method }) => !silentMethods.has(method))
    const isOld = ({ heardAt }: CallInFlight): boolean => heardAt < (wokeAt ?? 0)
    for (const call of calls.filter(isOld))
      giveUp(call, `the computer slept while ${config.origin} worked, and the connection is gone`)
    // Subscriptions are among them: they end, and whoever wants them asks anew.
    if (calls.every(isOld)) ports.dropConnections()
    wokeAt = undefined
  }

  function giveUp(call: CallInFlight, message: string): void {
    ports.fail(call, new NetworkError('body_timeout', config.origin, message, { sent: true }))
    call.abort.abort()
  }

  return {
    start() {
      timer = setInterval(tick, shortest)
      timer.unref()
    },
    stop() {
      clearInterval(timer)
      pinging?.abort.abort()
    },
    tick,
  }
}
