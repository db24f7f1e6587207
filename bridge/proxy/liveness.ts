import { NetworkError } from '../http/http-client.ts'
import type { PendingRequest, PendingRequests } from './pending-requests.ts'
import { isSubscription } from '@drawbridge/shared/mcp/adapter/subscription-filter.ts'
import { createSleepWatch } from './sleep-watch.ts'
import type { Clocks } from './sleep-watch.ts'

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
  pendingRequests: PendingRequests
  /** `nowMs` is set at each tick: what asks for the time of a call reads it from here, instead of from the system. */
  clock: { nowMs: number; heardMs: number }
  clocks: Clocks
  /** Asks the server for a sign of life, on a connection of its own. Rejects without one. Time counts from `asked` on. */
  ping(signal: AbortSignal, asked: () => void): Promise<void>
  /** Whether there is anything to ask: a server, and a client that was told of it. */
  isConnected(): boolean
  fail(call: PendingRequest, error: unknown): void
  /** Sees to it that a call is answered whose connection is gone; false if nothing can be done. */
  repeat(call: PendingRequest): boolean
  /** Opens the streams again that this side keeps open. `answered`: the server has just answered a ping. */
  reopen(answered: boolean): void
  /** Gives up all connections. */
  dropConnections(): void
  note(text: string): void
}

/** One coarse timer for all that has to do with silence. */
export interface Liveness {
  start(): void
  stop(): void
  /** What the timer does each time. */
  tick(): void
  /** A call begins, or the server has said something for it. */
  heard(call: PendingRequest): void
}

interface Ping {
  at: number
  /** Undefined while it waits for a token. */
  askedMs: number | undefined
  abort: AbortController
  /** Calls that were silent when it was sent. */
  silent: readonly PendingRequest[]
}

/** Calls are watched to about the length of a tick: a second at most. */
export function createLiveness(config: LivenessConfig, ports: LivenessPorts): Liveness {
  const { pendingRequests, clock, clocks } = ports
  const shortest = Math.min(...[1000, config.watchdogMs / 4, config.pingMs / 4].filter((ms) => ms > 0))
  const watch = createSleepWatch(clocks)
  let timer: ReturnType<typeof setInterval> | undefined
  let pinging: Ping | undefined
  let hasLeapt = false
  let wokeAt: number | undefined
  clock.nowMs = clocks.monotonicMs()
  clock.heardMs = clock.nowMs

  function tick(): void {
    const now = clocks.monotonicMs()
    clock.nowMs = now
    for (const call of pendingRequests.calls()) clock.heardMs = Math.max(clock.heardMs, call.heardAt)
    const sleep = watch.look()
    if (sleep !== 'none') return woke(sleep === 'slept', now)
    if (pinging === undefined) {
      if (isPingDue(now)) ping(now)
    } else if (now - (pinging.askedMs ?? now) >= config.pingWaitMs) pinging.abort.abort()
  }

  /** A ping that is under way may be so on a connection that is dead: another one tells more. */
  function woke(isSure: boolean, now: number): void {
    ports.note(isSure ? 'the computer has slept' : 'the clock has leapt')
    pinging?.abort.abort()
    pinging = undefined
    if (!ports.isConnected()) return
    hasLeapt = true
    if (isSure) wokeAt = now
    ping(now)
  }

  function isPingDue(now: number): boolean {
    if (!ports.isConnected()) return false
    if (config.pingMs > 0 && now - clock.heardMs >= config.pingMs) return true
    if (config.watchdogMs === 0) return false
    for (const call of pendingRequests.calls()) if (isSilent(call, now)) return true
    return false
  }

  function isSilent(call: PendingRequest, now: number): boolean {
    return now - call.heardAt >= config.watchdogMs && !isSubscription(call)
  }

  function ping(now: number): void {
    const silent = [...pendingRequests.calls()].filter((call) => config.watchdogMs > 0 && isSilent(call, now))
    const current: Ping = { at: now, askedMs: undefined, abort: new AbortController(), silent }
    pinging = current
    clock.heardMs = now
    const asked = (): void => void (current.askedMs = clocks.monotonicMs())
    ports.ping(current.abort.signal, asked).then(
      () => pinged(current, true),
      () => pinged(current, false),
    )
  }

  function pinged(by: Ping, answered: boolean): void {
    if (pinging !== by) return
    pinging = undefined
    if (!answered) ports.note('the server does not answer a ping')
    if (hasLeapt) afterLeap(answered)
    else if (answered) alive(by.silent)
    else dead(by)
  }

  /** The server works on: the calls have another while. */
  function alive(silent: readonly PendingRequest[]): void {
    for (const call of silent) call.heardAt = Math.max(call.heardAt, clock.nowMs)
  }

  function dead({ silent, at }: Ping): void {
    const seconds = Math.round(config.watchdogMs / 1000)
    const message = `${config.origin} has been silent for ${seconds} s, and does not answer a ping`
    for (const call of silent) if (call.heardAt < at) giveUp(call, 'body_timeout', message)
  }

  function afterLeap(answered: boolean): void {
    const since = wokeAt
    hasLeapt = false
    wokeAt = undefined
    if (since !== undefined) endOld(since, answered)
    ports.reopen(answered)
  }

  /** What was asked before the sleep and is silent still went over a connection that nobody else remembers. */
  function endOld(since: number, answered: boolean): void {
    const calls = [...pendingRequests.calls()]
    const isOld = ({ heardAt }: PendingRequest): boolean => heardAt < since
    // Those that wait for the next request may be dead as well: none was of use to the ping.
    if (!answered && calls.every(isOld)) ports.dropConnections()
    for (const call of calls.filter(isOld))
      if (!ports.repeat(call))
        giveUp(call, 'reset', `the computer slept while ${config.origin} worked, and the connection is gone`)
  }

  function giveUp(call: PendingRequest, fault: 'reset' | 'body_timeout', message: string): void {
    ports.fail(call, new NetworkError(fault, config.origin, message, { sent: true }))
    call.abort.abort()
  }

  return {
    start() {
      timer = setInterval(tick, shortest)
      timer.unref()
    },
    stop() {
      clearInterval(timer)
      const last = pinging
      pinging = undefined
      last?.abort.abort()
    },
    tick,
    heard(call) {
      if (watch.isLookDue()) tick()
      call.heardAt = clock.nowMs
    },
  }
}
