import { setTimeout as sleep } from 'node:timers/promises'
import { canonicalJson, type JsonObject } from '@drawbridge/shared/json-object.ts'
import { holdsProviderToken } from '../../core/gateway/upstream.ts'
import { type Caller, signedIn } from '../../core/tokens/caller.ts'
import { ownerOf } from '../open-streams.ts'
import { childEnvironment } from './process/child-environment.ts'
import type { GreetedProcess } from './process/handshake.ts'
import { callerName, ProcessSlot, type SlotTerms } from './process-slot.ts'
import { ProcessStarter } from './process/process-starter.ts'
import type { EndReason, ServedProcess, ServingTerms } from './process/served-process.ts'
import { ProcessRoom, refusals, StartLimits, Unavailable } from './process-room.ts'

export interface PoolPorts extends ServingTerms {
  /** This server's own environment. */
  environment: Readonly<Record<string, string | undefined>>
}

const everybody = 'everybody'

type Own = Pick<SlotTerms, 'isOwn' | 'declared'>

/**
 * The processes of this server, within the upstream's limits. A person's clients share a process, except for sessions whose client
 * can be asked: those have one of their own. Where processes hold the provider's token, which belongs to a grant, clients of
 * different grants share none. Sessions outlive processes: their next call starts another one.
 */
export class ProcessPool {
  readonly #ports: PoolPorts
  readonly #limits: StartLimits
  readonly #live = new Map<string, ProcessSlot>()
  readonly #starter: ProcessStarter
  readonly #room: ProcessRoom
  readonly #closings = new Set<Promise<void>>()
  #isClosed = false
  #lastOwn = 0

  constructor(ports: PoolPorts) {
    this.#ports = ports
    this.#limits = new StartLimits(ports.runtime)
    this.#starter = new ProcessStarter(ports)
    this.#room = new ProcessRoom(ports, this.#starter, this.#live, (slot) => this.#rest(slot, 'evicted'))
  }

  get size(): number {
    return this.#starter.counts.existing
  }

  /**
   * Starts a process that serves nobody, and ends it: what has to be fetched is there then, and what cannot start is told at once.
   * Never rejects.
   */
  async tryStart(): Promise<GreetedProcess | undefined> {
    const { upstream, environment, report } = this.#ports
    let started: ServedProcess | undefined
    try {
      return await this.#starter.start({
        environment: childEnvironment(upstream, environment),
        link: undefined,
        sub: undefined,
        onProcess: (process) => (started = process),
        onDeath: (process) => void this.#starter.stop(process, 'exited'),
      })
    } catch (error) {
      if (!this.#isClosed) report('upstream_not_started', notStarted(undefined, error, started))
      return undefined
    } finally {
      void this.#starter.stop(started, 'tried')
    }
  }

  /** The process for messages of a caller that belong to no session, held for one of them. Rejects with {@link Unavailable}. */
  common(caller: Caller): Promise<ProcessSlot> {
    return this.#slot(this.#keyOf(caller), caller, { isOwn: false, declared: undefined })
  }

  /** A process for one session, whose client has declared that it can be asked. Held, and rejects, as {@link common}. */
  ownOf(caller: Caller, declared: JsonObject): Promise<ProcessSlot> {
    this.#lastOwn += 1
    return this.#slot(`${this.#keyOf(caller)} ${this.#lastOwn}`, caller, { isOwn: true, declared })
  }

  /**
   * The process for clients of 2026-07-28 that can be asked what `declared` says: like {@link common} where the command speaks that
   * revision, else one of the caller's own for these capabilities, which it has to know from its start.
   */
  async askable(caller: Caller, declared: JsonObject): Promise<ProcessSlot> {
    if (this.#starter.era !== 'legacy') {
      const slot = await this.common(caller)
      if (this.#starter.era === 'modern') return slot
      slot.over()
    }
    return this.#slot(`${this.#keyOf(caller)} ${canonicalJson(declared)}`, caller, { isOwn: false, declared })
  }

  /** Keeps a slot from ending while its process starts, and for the message that it is held for. */
  async hold(slot: ProcessSlot, caller: Caller): Promise<ProcessSlot> {
    slot.begin()
    try {
      await this.#serve(slot, caller)
      return slot
    } catch (error) {
      slot.over()
      if (slot.isIdle && !slot.process && !slot.hasSessions) this.#end(slot, 'not_started')
      throw error
    }
  }

  /** Resolves when the slot has a process that serves, with the caller's token of the provider where processes hold it. */
  async #serve(slot: ProcessSlot, caller: Caller): Promise<void> {
    const token = this.#tokenOf(caller)
    // A process that is about to serve may hold the token of an earlier call.
    if (slot.ready) await slot.ready.catch(() => {})
    const isReplaced = slot.isServing && token !== undefined && slot.process?.providerToken !== token
    // A refused start leaves everything as it is.
    this.#refuse(slot, caller, !slot.ready || isReplaced)
    const former = isReplaced ? slot.vacate() : undefined
    slot.ready ??= this.#start(slot, caller, token)
    if (former) this.#endAfter(former, slot.ready)
    await slot.ready
  }

  /** Throws while the caller's calls keep ending processes, or when that person has had too many started. */
  #refuse(slot: ProcessSlot, caller: Caller, starts: boolean): void {
    const isShared = this.#ports.upstream.process === 'shared'
    if (starts || isShared) this.#limits.refuse(callerName(caller.user))
    if (starts && !isShared) this.#limits.countStart(slot.userId)
  }

  /** Ends all processes, and starts no more. */
  async close(): Promise<void> {
    this.#isClosed = true
    for (const slot of this.#live.values()) this.#end(slot, 'closed')
    await Promise.all([this.#starter.close(), ...this.#closings])
  }

  #slot(key: string, caller: Caller, own: Own): Promise<ProcessSlot> {
    return this.hold(this.#live.get(key) ?? this.#open(key, caller, own), caller)
  }

  #open(key: string, caller: Caller, own: { isOwn: boolean; declared: JsonObject | undefined }): ProcessSlot {
    if (this.#isClosed) throw refusals.stopped()
    const isShared = this.#ports.upstream.process === 'shared'
    const slot = new ProcessSlot(this.#ports, {
      ...own,
      key,
      userId: isShared ? everybody : signedIn(caller).user.id,
      sub: isShared ? undefined : signedIn(caller).user.sub,
      onEmpty: (of) => {
        if (own.isOwn || (!of.process && of.isIdle)) this.#end(of, 'session_over')
      },
      onIdle: (of) => this.#rest(of, 'idle'),
    })
    this.#live.set(key, slot)
    return slot
  }

  /** Ends a process with its clients. */
  #end(slot: ProcessSlot, reason: EndReason): void {
    if (slot.isOver) return
    slot.isOver = true
    slot.stopTimer()
    if (this.#live.get(slot.key) === slot) this.#live.delete(slot.key)
    void this.#starter.stop(slot.vacate(), reason)
    const closing: Promise<void> = slot.close().finally(() => this.#closings.delete(closing))
    this.#closings.add(closing)
  }

  /** Ends the process of a slot. Its sessions stay. */
  #rest(slot: ProcessSlot, reason: 'idle' | 'evicted'): void {
    if (slot.hasSessions) void this.#starter.stop(slot.vacate(), reason)
    else this.#end(slot, reason)
  }

  async #start(slot: ProcessSlot, caller: Caller, token: string | undefined): Promise<void> {
    const { upstream, environment } = this.#ports
    const isShared = upstream.process === 'shared'
    try {
      await sleep(this.#limits.pauseBefore(slot.userId) * 1000)
      await this.#room.wait(slot)
      await this.#starter.start({
        environment: childEnvironment(upstream, environment, isShared ? undefined : caller.user, token),
        link: slot.link,
        sub: slot.sub,
        onProcess: (process) => {
          slot.process = process
          if (slot.isOver) void this.#starter.stop(slot.vacate(), 'closed')
        },
        onDeath: (process) => this.#died(slot, process),
      })
      slot.isServing = true
    } catch (error) {
      const process = slot.vacate()
      if (error instanceof Unavailable) throw error
      if (slot.isOver) throw refusals.stopped()
      this.#recordDeath(slot, process)
      this.#ports.report('upstream_not_started', notStarted(slot.sub, error, process))
      throw refusals.notStarted(process?.failedBy === 'timeout' ? 504 : 502)
    }
  }

  #died(slot: ProcessSlot, process: ServedProcess): void {
    if (slot.process === process) slot.vacate()
    void this.#starter.stop(process, 'exited')
    if (!slot.hasSessions && slot.isIdle) this.#end(slot, 'exited')
    this.#recordDeath(slot, process)
  }

  #recordDeath({ userId, latestCaller = userId, sub }: ProcessSlot, process?: ServedProcess): void {
    if (this.#limits.recordDeath(userId, latestCaller))
      this.#ports.report('upstream_broken', { sub, stderr: process?.errorTail })
  }

  /** Ends a process whose calls go to another one that is about to serve. It still answers those that it has. */
  #endAfter(former: ServedProcess, ready: Promise<void>): void {
    void ready
      .catch(() => {})
      .then(() => former.settled())
      .then(() => this.#starter.stop(former, 'replaced'))
  }

  #keyOf(caller: Caller): string {
    if (this.#ports.upstream.process === 'shared') return everybody
    return holdsProviderToken(this.#ports.upstream) ? ownerOf(caller) : signedIn(caller).user.id
  }

  /** The provider's token that the caller's process holds, if any. */
  #tokenOf(caller: Caller): string | undefined {
    const { upstream } = this.#ports
    if (upstream.process === 'shared' || !holdsProviderToken(upstream)) return undefined
    try {
      return caller.providerToken()
    } catch {
      throw refusals.noProviderToken()
    }
  }
}

function notStarted(
  sub: string | undefined,
  error: unknown,
  process: ServedProcess | undefined,
): Record<string, unknown> {
  const isMissing = error instanceof Error && 'code' in error && error.code === 'ENOENT'
  const afterTimeout =
    'Run the command once by hand, so that it is fetched, or raise start_timeout in its file.'
  const afterExit = 'Look at its error output, upstream_stderr, or run the command by hand.'
  return {
    sub,
    reason: error instanceof Error ? error.message : 'unknown',
    next_step: isMissing
      ? 'Correct the command: no program of that name is in PATH, or its cwd does not exist.'
      : process?.failedBy === 'timeout'
        ? afterTimeout
        : afterExit,
  }
}
