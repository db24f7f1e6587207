import { isSubscription } from '@drawbridge/shared/mcp/adapter/subscription-filter.ts'
import { NetworkError } from '../http/http-client.ts'
import type { PendingCalls } from './client-calls.ts'
import type { PendingCall } from './pending-call.ts'
import type { RevisionStep } from './revision-step.ts'

export interface LivenessConfig {
  /** Silence within a call before the server is pinged; 0 never pings. */
  watchdogMs: number
  /** Silence on the whole connection before the server is pinged; 0 never pings. */
  pingMs: number
  /** Scheme, host and port of the server, for errors. */
  origin: string
}

export interface LivenessPorts {
  calls: Pick<PendingCalls, 'calls' | 'fail' | 'repeat'>
  server: Pick<RevisionStep, 'ping' | 'isOpen' | 'reopen'>
  clocks: Clocks
  dropConnections(): void
  note(text: string): void
}

interface Ping {
  /** Wall clock. */
  at: number
  /** Monotonic; undefined while it waits for a token. */
  askedMs: number | undefined
  abort: AbortController
  /** Calls that were silent when it was sent. */
  silent: readonly PendingCall[]
}

/** The timer fires within this time after the computer wakes. Much shorter than the shortest sleep. */
const latestTickMs = 10_000

/** A server that does not answer a ping within this time counts as gone. */
const pingWaitMs = 5000

/**
 * Watches for silence and for sleep, with one coarse timer. Pings a server that is silent for too long, and fails its calls if it
 * does not answer. After a sleep, sends calls again whose connection is gone, or fails them.
 */
export class Liveness {
  readonly #config: LivenessConfig
  readonly #ports: LivenessPorts
  readonly #watch: ReturnType<typeof watchSleep>
  #timer: ReturnType<typeof setInterval> | undefined
  #pinging: Ping | undefined
  #hasLeapt = false
  #wokeAt: number | undefined
  /** When the server last sent anything, by the wall clock. */
  #activeAtMs: number

  constructor(config: LivenessConfig, ports: LivenessPorts) {
    this.#config = config
    this.#ports = ports
    this.#watch = watchSleep(ports.clocks)
    this.#activeAtMs = ports.clocks.wallMs()
  }

  start(): void {
    const { watchdogMs, pingMs } = this.#config
    const shortestMs = Math.min(...[1000, watchdogMs / 4, pingMs / 4].filter((ms) => ms > 0))
    this.#timer = setInterval(() => this.tick(), shortestMs)
    this.#timer.unref()
  }

  stop(): void {
    clearInterval(this.#timer)
    const last = this.#pinging
    this.#pinging = undefined
    last?.abort.abort()
  }

  /** Looks at the clocks and the calls, each time the timer rings. */
  tick(): void {
    const { wallMs, monotonicMs } = this.#ports.clocks
    const now = wallMs()
    // The clock may have been set back.
    for (const call of this.#calls()) call.activeAtMs = Math.min(call.activeAtMs, now)
    this.#activeAtMs = Math.max(
      Math.min(this.#activeAtMs, now),
      ...this.#calls().map((call) => call.activeAtMs),
    )
    const sleep = this.#watch()
    if (sleep !== 'none') return this.#woke(sleep === 'slept', now)
    const pinging = this.#pinging
    if (pinging === undefined) {
      if (this.#isPingDue(now)) this.#ping(now)
    } else if (monotonicMs() - (pinging.askedMs ?? monotonicMs()) >= pingWaitMs) pinging.abort.abort()
  }

  #calls(): readonly PendingCall[] {
    return this.#ports.calls.calls()
  }

  /** Replaces a ping that is under way: its connection may be dead. */
  #woke(isSure: boolean, now: number): void {
    this.#ports.note(isSure ? 'the computer has slept' : 'the clock has leapt')
    this.#pinging?.abort.abort()
    this.#pinging = undefined
    if (!this.#ports.server.isOpen()) return
    this.#hasLeapt = true
    if (isSure) this.#wokeAt = now - latestTickMs
    this.#ping(now)
  }

  #isPingDue(now: number): boolean {
    const { pingMs } = this.#config
    if (!this.#ports.server.isOpen()) return false
    return (
      (pingMs > 0 && now - this.#activeAtMs >= pingMs) ||
      this.#calls().some((call) => this.#isSilent(call, now))
    )
  }

  #isSilent(call: PendingCall, now: number): boolean {
    const { watchdogMs } = this.#config
    return watchdogMs > 0 && now - call.activeAtMs >= watchdogMs && !isSubscription(call)
  }

  #ping(now: number): void {
    const silent = this.#calls().filter((call) => this.#isSilent(call, now))
    const current: Ping = { at: now, askedMs: undefined, abort: new AbortController(), silent }
    this.#pinging = current
    this.#activeAtMs = now
    const asked = (): void => void (current.askedMs = this.#ports.clocks.monotonicMs())
    this.#ports.server.ping(current.abort.signal, asked).then(
      () => this.#pinged(current, true),
      () => this.#pinged(current, false),
    )
  }

  #pinged(by: Ping, answered: boolean): void {
    if (this.#pinging !== by) return
    this.#pinging = undefined
    if (!answered) this.#ports.note('the server does not answer a ping')
    const hasSlept = this.#wokeAt !== undefined
    if (this.#hasLeapt) this.#afterLeap(answered)
    if (hasSlept) return
    // The server is alive: give the calls another period.
    if (answered) for (const call of by.silent) call.activeAtMs = this.#ports.clocks.wallMs()
    else this.#dead(by)
  }

  #dead({ silent, at }: Ping): void {
    const { origin, watchdogMs } = this.#config
    const seconds = Math.round(watchdogMs / 1000)
    const message = `${origin} has been silent for ${seconds} s, and does not answer a ping`
    for (const call of silent) if (call.activeAtMs < at) this.#giveUp(call, 'body_timeout', message)
  }

  #afterLeap(answered: boolean): void {
    const since = this.#wokeAt
    this.#hasLeapt = false
    this.#wokeAt = undefined
    if (since !== undefined) this.#endOld(since, answered)
    this.#ports.server.reopen(answered)
  }

  /** Ends calls from before the sleep that have been silent since: their connection is gone. */
  #endOld(since: number, answered: boolean): void {
    const calls = this.#calls()
    const isOld = ({ activeAtMs }: PendingCall): boolean => activeAtMs < since
    // Idle connections may be dead as well, since the ping failed.
    if (!answered && calls.every(isOld)) this.#ports.dropConnections()
    const message = `the computer slept while ${this.#config.origin} worked, and the connection is gone`
    for (const call of calls.filter(isOld))
      if (!this.#ports.calls.repeat(call)) this.#giveUp(call, 'reset', message)
  }

  #giveUp(call: PendingCall, fault: 'reset' | 'body_timeout', message: string): void {
    this.#ports.calls.fail(call, new NetworkError(fault, this.#config.origin, message, { sent: true }))
    call.abort.abort()
  }
}

/** The computer's clocks, in milliseconds. No single one shows whether it has slept. */
interface Clocks {
  /** Never set. Runs during a sleep on macOS and Windows; stops on Linux. */
  monotonicMs(): number
  /** Since the computer was started, including sleep. Never set. */
  uptimeMs(): number
  /** Wall clock: users and NTP set it. */
  wallMs(): number
}

/** Shorter sleeps do not harm a connection, and timers are late for many reasons. */
const longMs = 30_000

/**
 * Returns a function that tells whether this process was suspended for a while: the computer slept, or the process was stopped. `leapt`: only the wall
 * clock advanced. The clock was set, or the VM's host slept and only the wall clock noticed.
 */
function watchSleep({ monotonicMs, uptimeMs, wallMs }: Clocks): () => 'none' | 'leapt' | 'slept' {
  const read = (): [number, number, number] => [monotonicMs(), uptimeMs(), wallMs()]
  let last = read()
  return () => {
    const [before, now] = [last, read()]
    last = now
    const [monotonic, uptime, wall] = now.map((ms, index) => ms - (before[index] ?? 0)) as typeof now
    if (Math.max(monotonic, uptime) > longMs) return 'slept'
    return wall - monotonic > longMs ? 'leapt' : 'none'
  }
}
