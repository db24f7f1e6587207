import { setTimeout as sleep } from 'node:timers/promises'
import { isJsonObject, type JsonObject } from '@drawbridge/shared/json-object.ts'
import { paramsOf } from '@drawbridge/shared/mcp/params.ts'
import { type CommandUpstream, holdsProviderToken } from '../../core/gateway/upstream.ts'
import { type Caller, signedIn } from '../../core/tokens/caller.ts'
import type { ServingContext } from '../endpoint-config.ts'
import { type Incoming, messagesIn } from '../incoming.ts'
import { ownerOf } from '../open-streams.ts'
import { childEnvironment } from './process/child-environment.ts'
import type { GreetedProcess } from './process/handshake.ts'
import { ProcessStarter } from './process/process-starter.ts'
import type { EndReason, CommandProcess, ServingTerms } from './process/command-process.ts'
import { refusals, StartLimits, Unavailable } from './start-limits.ts'
import { callerName, ProcessSlot } from './process-slot.ts'

export interface PoolPorts extends ServingTerms {
  /** This server's own environment. */
  environment: Readonly<Record<string, string | undefined>>
}

const everybody = 'everybody'
const roomCheckMs = 50

/**
 * The processes of this server, within the upstream's limits. A session owns a process; the calls of a person without a session share
 * one in each workspace. Where processes hold the provider's token, which belongs to a grant, each grant has its own. Sessions outlive
 * processes: their next call starts another one.
 */
export class ProcessPool {
  readonly #ports: PoolPorts
  readonly #limits: StartLimits
  readonly #live = new Map<string | symbol, ProcessSlot>()
  readonly #starter: ProcessStarter
  readonly #closings = new Set<Promise<void>>()
  #isClosed = false

  constructor(ports: PoolPorts) {
    this.#ports = ports
    this.#limits = new StartLimits(ports.runtime)
    this.#starter = new ProcessStarter(ports)
  }

  /** True once the command has turned out to know revisions before 2026-07-28 only. */
  get lacks2026(): boolean {
    return this.#starter.lacks2026
  }

  /** The number of processes, including those that start or end. */
  get size(): number {
    return this.#starter.existing.size
  }

  /** Starts and stops one process, so that npx downloads the package and errors show early. Never rejects. */
  async tryStart(): Promise<GreetedProcess | undefined> {
    const { upstream, environment, report } = this.#ports
    let started: CommandProcess | undefined
    try {
      return await this.#starter.start({
        environment: childEnvironment(upstream, environment),
        clients: undefined,
        sub: undefined,
        preferred: 'modern',
        onProcess: (process) => (started = process),
        onDeath() {},
      })
    } catch (error) {
      if (!this.#isClosed) report('upstream_not_started', notStarted(undefined, error, started))
      return undefined
    } finally {
      void started?.stop('tried')
    }
  }

  /**
   * Holds the slot for the first request of a client, with a process that serves: a slot of its own for a session that begins. Rejects
   * with {@link Unavailable}.
   */
  async hold(kind: ServingContext['kind'], { body, caller }: Incoming): Promise<ProcessSlot> {
    const { upstream } = this.#ports
    const isOwn = kind === 'session' && upstream.process === 'user'
    const key = isOwn ? Symbol(kind) : keyOf(caller, upstream)
    const slot = this.#live.get(key) ?? this.#open(key, caller, isOwn ? declaredBy(body) : undefined)
    await slot.hold(caller)
    return slot
  }

  /**
   * Asks a process that the caller's messages go to, one that serves if there is any. Rejects with {@link Unavailable}, or as the
   * process answers.
   */
  async askOne<T>(caller: Caller, ask: (slot: ProcessSlot) => Promise<T>): Promise<T> {
    const key = keyOf(caller, this.#ports.upstream)
    const serving = [...this.#live.values()].find(
      ({ terms, process }) => terms.owner === key && process?.isServing === true,
    )
    const slot = serving ?? this.#live.get(key) ?? this.#open(key, caller, undefined)
    await slot.hold(caller)
    try {
      return await ask(slot)
    } finally {
      slot.use.over()
    }
  }

  async close(): Promise<void> {
    this.#isClosed = true
    for (const [key, slot] of this.#live) this.#end(key, slot, 'closed')
    await Promise.all([this.#starter.close(), ...this.#closings])
  }

  #open(key: string | symbol, caller: Caller, declared: JsonObject | undefined): ProcessSlot {
    if (this.#isClosed) throw refusals.stopped()
    const { upstream } = this.#ports
    const isShared = upstream.process === 'shared'
    const slot: ProcessSlot = new ProcessSlot(this.#ports, {
      owner: keyOf(caller, upstream),
      userId: isShared ? everybody : signedIn(caller).user.id,
      sub: isShared ? undefined : signedIn(caller).user.sub,
      declared,
      serve: (by) => this.#serve(slot, by),
      onUnused: () => {
        if (declared || (!slot.process && slot.use.isIdle)) this.#end(key, slot, 'session_over')
      },
      onIdle: () => this.#rest(slot, 'idle'),
    })
    this.#live.set(key, slot)
    return slot
  }

  /** Resolves when the slot has a process that serves, with the caller's token of the provider where processes hold it. */
  async #serve(slot: ProcessSlot, caller: Caller): Promise<void> {
    const token = tokenOf(caller, this.#ports.upstream)
    // A process that is about to serve may hold the token of an earlier call.
    if (slot.ready) await slot.ready.catch(() => {})
    const { process } = slot
    const isReplaced =
      process?.isServing === true && token !== undefined && process.terms.environment.providerToken !== token
    // A refused start leaves everything as it is.
    const starts = !slot.ready || isReplaced
    if (starts || slot.isShared) this.#limits.admit(slot.terms.userId, callerName(caller.user), starts)
    const former = isReplaced ? slot.vacate() : undefined
    slot.ready ??= this.#start(slot, caller, token)
    if (former) endAfter(former, slot.ready)
    await slot.ready
  }

  async #start(slot: ProcessSlot, caller: Caller, token: string | undefined): Promise<void> {
    const { upstream, environment } = this.#ports
    const { sub, declared } = slot.terms
    try {
      const until = performance.now() + upstream.startTimeoutSeconds * 1000
      while (!slot.isOver && !this.#hasRoom(slot)) await this.#waitForRoom(until)
      if (slot.isOver) throw refusals.stopped()
      // Without a pause since the check: others check for room at the same time.
      const greeted = await this.#starter.start({
        environment: childEnvironment(upstream, environment, slot.isShared ? undefined : caller, token),
        clients: slot,
        sub,
        // A session is of an earlier revision, in which its process can ask it in the middle of a call.
        preferred: declared ? 'legacy' : 'modern',
        onProcess: (process) => {
          slot.process = process
          if (slot.isOver) void slot.vacate()?.stop('closed')
        },
        onDeath: (process) => this.#onDeath(slot, process),
      })
      slot.attach(greeted)
    } catch (error) {
      const process = slot.vacate()
      if (error instanceof Unavailable) throw error
      if (slot.isOver) throw refusals.stopped()
      this.#recordDeath(slot, process)
      this.#ports.report('upstream_not_started', notStarted(sub, error, process))
      throw refusals.notStarted(process?.failedBy === 'timeout' ? 504 : 502)
    }
  }

  /** Resolves after a moment, to check for room again. Rejects after `until`. */
  async #waitForRoom(until: number): Promise<void> {
    if (performance.now() <= until) return sleep(roomCheckMs)
    this.#ports.report('upstream_full', { count: this.size })
    throw refusals.allInUse()
  }

  /** Returns whether a process more is within the limits, for each person and for all, and makes room if it is not. */
  #hasRoom({ terms, isShared }: ProcessSlot): boolean {
    const { maxPerUser, maxProcesses } = this.#ports.upstream
    const running = [...this.#live.values()].filter(({ process }) => process)
    const own = running.filter((each) => each.terms.userId === terms.userId)
    if (!isShared && own.length >= maxPerUser && !this.#evictOneOf(own)) return false
    const { existing } = this.#starter
    if (existing.size < maxProcesses) return true
    // One that is ending makes room in a moment.
    const ending = [...existing].filter(({ isEnding }) => isEnding).length
    if (existing.size - ending >= maxProcesses) this.#evictOneOf(running)
    return false
  }

  /** Ends the process that has been idle for the longest, if one may be ended. */
  #evictOneOf(slots: readonly ProcessSlot[]): boolean {
    const spare = slots.filter(({ use }) => use.isSpare)
    const [longest] = spare.toSorted((a, b) => b.use.idleSeconds - a.use.idleSeconds)
    if (longest) this.#rest(longest, 'evicted')
    return longest !== undefined
  }

  #onDeath(slot: ProcessSlot, process: CommandProcess): void {
    if (slot.process === process) slot.vacate()
    if (slot.sessions.size === 0 && slot.use.isIdle) slot.terms.onUnused()
    this.#recordDeath(slot, process)
  }

  #recordDeath(
    { terms: { userId, sub }, latestCaller = userId }: ProcessSlot,
    process?: CommandProcess,
  ): void {
    if (this.#limits.recordDeath(latestCaller))
      this.#ports.report('upstream_broken', { sub, stderr: process?.errorTail })
  }

  /** Ends the process of a slot. Its sessions stay. */
  #rest(slot: ProcessSlot, reason: 'idle' | 'evicted'): void {
    void slot.vacate()?.stop(reason)
    if (slot.sessions.size === 0) slot.terms.onUnused()
  }

  #end(key: string | symbol, slot: ProcessSlot, reason: EndReason): void {
    if (slot.isOver) return
    slot.isOver = true
    slot.use.stop()
    this.#live.delete(key)
    void slot.vacate()?.stop(reason)
    const closing: Promise<void> = slot.close().finally(() => this.#closings.delete(closing))
    this.#closings.add(closing)
  }
}

function keyOf(caller: Caller, upstream: CommandUpstream): string {
  if (upstream.process === 'shared') return everybody
  const { user, workspace } = signedIn(caller)
  return holdsProviderToken(upstream) ? ownerOf(caller) : JSON.stringify([user.id, workspace?.id])
}

function tokenOf(caller: Caller, upstream: CommandUpstream): string | undefined {
  if (upstream.process === 'shared' || !holdsProviderToken(upstream)) return undefined
  try {
    const token = caller.providerToken()
    if (token !== '') return token
  } catch {
    // No key opens the session.
  }
  throw caller.credential === 'service' ? refusals.service() : refusals.noProviderToken()
}

/** Ends a process whose calls go to another one that is about to serve. It still answers those that it has. */
function endAfter(former: CommandProcess, ready: Promise<void>): void {
  void ready
    .catch(() => {})
    .then(() => former.settled())
    .then(() => former.stop('replaced'))
}

/** The capabilities that an `initialize` declares. */
function declaredBy(body: unknown): JsonObject {
  const capabilities = paramsOf(messagesIn(body)[0])?.['capabilities']
  return isJsonObject(capabilities) ? capabilities : {}
}

function notStarted(
  sub: string | undefined,
  error: unknown,
  started: CommandProcess | undefined,
): Record<string, unknown> {
  const code = error instanceof Error && 'code' in error && error.code
  const onWindows =
    process.platform === 'win32' ? ' On Windows a .cmd file such as npx starts by: cmd /c npx.' : ''
  const afterTimeout =
    'Run the command once by hand, so that it is fetched, or raise start_timeout in its file.'
  const afterExit = 'Look at its error output, upstream_stderr, or run the command by hand.'
  return {
    sub,
    reason: error instanceof Error ? error.message : 'unknown',
    // EINVAL is what Node says of a .cmd file.
    next_step:
      code === 'ENOENT' || code === 'EINVAL'
        ? `Correct the command: no program of that name is in PATH, or its cwd does not exist.${onWindows}`
        : started?.failedBy === 'timeout'
          ? afterTimeout
          : afterExit,
  }
}
