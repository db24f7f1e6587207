import { setTimeout as sleep } from 'node:timers/promises'
import { isJsonObject, type JsonObject } from '@drawbridge/shared/json-object.ts'
import type { McpEra } from '@drawbridge/shared/mcp/mcp-protocol.ts'
import { paramsOf } from '@drawbridge/shared/mcp/params.ts'
import { type CommandUpstream, holdsProviderToken } from '../../core/gateway/upstream.ts'
import { type Caller, signedIn } from '../../core/tokens/caller.ts'
import type { ServingContext } from '../endpoint-config.ts'
import { hasRequest, type Incoming, messagesIn } from '../incoming.ts'
import { ownerOf } from '../open-streams.ts'
import { childEnvironment } from './process/child-environment.ts'
import type { GreetedProcess } from './process/handshake.ts'
import { ProcessStarter } from './process/process-starter.ts'
import type { EndReason, ServedProcess, ServingTerms } from './process/served-process.ts'
import { refusals, StartLimits, Unavailable, waitForRoom } from './process-room.ts'
import { ProcessSlot, type SlotTerms } from './process-slot.ts'

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
  readonly #closings = new Set<Promise<void>>()
  #isClosed = false
  #lastOwn = 0

  constructor(ports: PoolPorts) {
    this.#ports = ports
    this.#limits = new StartLimits(ports.runtime)
    this.#starter = new ProcessStarter(ports)
  }

  /** What the command answers to clients of 2026-07-28: `legacy` if it knows earlier revisions only. Undefined before its first start. */
  get era(): McpEra | undefined {
    return this.#starter.era
  }

  /** The number of processes, including those that start or end. */
  get size(): number {
    return this.#starter.existing.size
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
        clients: undefined,
        sub: undefined,
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
   * Holds the place of a client's process for a message, and finds it with its first request; a request has a process that serves
   * then. Rejects with {@link Unavailable}.
   */
  async hold(
    slot: ProcessSlot | undefined,
    kind: ServingContext['kind'],
    { body, caller }: Incoming,
  ): Promise<ProcessSlot | undefined> {
    // What asks for nothing starts no process.
    if (hasRequest(body)) return slot ? this.#held(slot, caller) : this.#find(kind, body, caller)
    slot?.use.begin()
    return slot
  }

  async close(): Promise<void> {
    this.#isClosed = true
    for (const slot of this.#live.values()) this.#end(slot, 'closed')
    await Promise.all([this.#starter.close(), ...this.#closings])
  }

  #find(kind: ServingContext['kind'], body: unknown, caller: Caller): Promise<ProcessSlot> {
    const key = keyOf(caller, this.#ports.upstream)
    const isOwn = kind === 'session' && this.#ports.upstream.process === 'user'
    const declared = isOwn ? declaredBy(body) : undefined
    if (!declared) return this.#slot(key, caller, { isOwn: false, declared })
    this.#lastOwn += 1
    return this.#slot(`${key} ${this.#lastOwn}`, caller, { isOwn: true, declared })
  }

  #slot(key: string, caller: Caller, own: Own): Promise<ProcessSlot> {
    return this.#held(this.#live.get(key) ?? this.#open(key, caller, own), caller)
  }

  #open(key: string, caller: Caller, own: Own): ProcessSlot {
    if (this.#isClosed) throw refusals.stopped()
    const isShared = this.#ports.upstream.process === 'shared'
    const slot = new ProcessSlot(this.#ports, {
      ...own,
      key,
      userId: isShared ? everybody : signedIn(caller).user.id,
      sub: isShared ? undefined : signedIn(caller).user.sub,
      onEmpty: (of) => {
        if (own.isOwn || (!of.process && of.use.isIdle)) this.#end(of, 'session_over')
      },
      onIdle: (of) => this.#rest(of, 'idle'),
    })
    this.#live.set(key, slot)
    return slot
  }

  /** Keeps a slot from ending while its process starts, and for the message that it is held for. */
  async #held(slot: ProcessSlot, caller: Caller): Promise<ProcessSlot> {
    slot.use.begin()
    try {
      await this.#serve(slot, caller)
      return slot
    } catch (error) {
      slot.use.over()
      if (slot.use.isIdle && !slot.process && slot.sessions.size === 0) this.#end(slot, 'not_started')
      throw error
    }
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
    if (starts || slot.isShared) this.#limits.admit(slot, callerName(caller.user), starts)
    const former = isReplaced ? slot.vacate() : undefined
    slot.ready ??= this.#start(slot, caller, token)
    if (former) endAfter(former, slot.ready)
    await slot.ready
  }

  async #start(slot: ProcessSlot, caller: Caller, token: string | undefined): Promise<void> {
    const { upstream, environment } = this.#ports
    const { userId, sub } = slot.terms
    try {
      await sleep(this.#limits.pauseBefore(userId) * 1000)
      await waitForRoom(slot, {
        ...this.#ports,
        starter: this.#starter,
        live: this.#live,
        evict: (spare) => this.#rest(spare, 'evicted'),
      })
      const greeted = await this.#starter.start({
        environment: childEnvironment(upstream, environment, slot.isShared ? undefined : caller.user, token),
        clients: slot,
        sub,
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

  #onDeath(slot: ProcessSlot, process: ServedProcess): void {
    if (slot.process === process) slot.vacate()
    if (slot.sessions.size === 0 && slot.use.isIdle) this.#end(slot, 'exited')
    this.#recordDeath(slot, process)
  }

  #recordDeath(
    { terms: { userId, sub }, latestCaller = userId }: ProcessSlot,
    process?: ServedProcess,
  ): void {
    if (this.#limits.recordDeath(userId, latestCaller))
      this.#ports.report('upstream_broken', { sub, stderr: process?.errorTail })
  }

  /** Ends the process of a slot. Its sessions stay. */
  #rest(slot: ProcessSlot, reason: 'idle' | 'evicted'): void {
    if (slot.sessions.size > 0) void slot.vacate()?.stop(reason)
    else this.#end(slot, reason)
  }

  #end(slot: ProcessSlot, reason: EndReason): void {
    if (slot.isOver) return
    slot.isOver = true
    slot.use.stop()
    if (this.#live.get(slot.terms.key) === slot) this.#live.delete(slot.terms.key)
    void slot.vacate()?.stop(reason)
    const closing: Promise<void> = slot.close().finally(() => this.#closings.delete(closing))
    this.#closings.add(closing)
  }
}

function keyOf(caller: Caller, upstream: CommandUpstream): string {
  if (upstream.process === 'shared') return everybody
  return holdsProviderToken(upstream) ? ownerOf(caller) : signedIn(caller).user.id
}

function tokenOf(caller: Caller, upstream: CommandUpstream): string | undefined {
  if (upstream.process === 'shared' || !holdsProviderToken(upstream)) return undefined
  try {
    return caller.providerToken()
  } catch {
    throw refusals.noProviderToken()
  }
}

/** Ends a process whose calls go to another one that is about to serve. It still answers those that it has. */
function endAfter(former: ServedProcess, ready: Promise<void>): void {
  void ready
    .catch(() => {})
    .then(() => former.settled())
    .then(() => former.stop('replaced'))
}

/** Deaths are counted under it. Callers who have not signed in are one. */
export function callerName(user: Caller['user']): string {
  return user?.id ?? 'anonymous'
}

/** The capabilities that an `initialize` declares, if its client can be asked for anything. */
function declaredBy(body: unknown): JsonObject | undefined {
  const capabilities = paramsOf(messagesIn(body)[0])?.['capabilities']
  if (!isJsonObject(capabilities)) return undefined
  return ['elicitation', 'sampling', 'roots'].some((name) => isJsonObject(capabilities[name]))
    ? capabilities
    : undefined
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
