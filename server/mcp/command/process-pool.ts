import type { JsonObject } from '@drawbridge/shared/json-object.ts'
import type { McpEra } from '@drawbridge/shared/mcp/mcp-protocol.ts'
import { type Caller, signedIn } from '../../core/tokens/caller.ts'
import { ownerOf } from '../open-streams.ts'
import { Breaker } from './breaker.ts'
import { type ChildEnvironment, childEnvironment, holdsProviderToken } from './child-environment.ts'
import { ProcessSlot } from './process-slot.ts'
import { type EndReason, ServedProcess, type ServingTerms } from './served-process.ts'
import { Unavailable } from './unavailable.ts'

/** What the pool needs besides what its processes need. */
export interface PoolPorts extends ServingTerms {
  /** This server's own environment. */
  environment: Readonly<Record<string, string | undefined>>
}

const fullRetrySeconds = 5
const everybody = 'everybody'

/**
 * The processes of this server, within the upstream's limits. A person's clients share a process, except for sessions whose client
 * can be asked: those have one of their own. Where processes hold the provider's token, which belongs to a grant, clients of
 * different grants share none.
 */
export class ProcessPool {
  readonly #ports: PoolPorts
  readonly #breaker: Breaker
  /** Those that take new calls, by key. */
  readonly #live = new Map<string, ProcessSlot>()
  /** Those that have been replaced, and wait for their last call. */
  readonly #replaced = new Set<ProcessSlot>()
  readonly #sessions = new Map<string, { slot: ProcessSlot; owner: string }>()
  /** The processes that exist, those that are ending among them. */
  readonly #existing = new Set<ServedProcess>()
  readonly #waiting = new Set<() => void>()
  readonly #ends = new Set<Promise<void>>()
  /** What is tried first: the era in which the command has answered before. */
  #era: McpEra = 'modern'
  #isEraKnown = false
  #isDraining = false
  #isClosed = false
  #lastOwn = 0

  constructor(ports: PoolPorts) {
    this.#ports = ports
    this.#breaker = new Breaker(ports.config.runtime)
  }

  /** How many processes there are. */
  get size(): number {
    return this.#existing.size
  }

  /** The process for messages of a caller that belong to no session, held for one of them. Rejects with {@link Unavailable}. */
  common(caller: Caller): Promise<ProcessSlot> {
    return this.#hold(() => {
      const environment = this.#environmentFor(caller)
      const key = this.#keyOf(caller)
      const slot = this.#live.get(key)
      if (slot && this.#isCurrent(slot, environment)) return slot
      if (slot) this.#replace(slot)
      return this.#open(key, caller, environment, undefined)
    })
  }

  /** A process for one session, whose client has declared that it can be asked. Held, and rejects, as {@link common}. */
  ownOf(caller: Caller, declared: JsonObject): Promise<ProcessSlot> {
    return this.#hold(() => {
      this.#lastOwn += 1
      const key = `${this.#keyOf(caller)} ${this.#lastOwn}`
      return this.#open(key, caller, this.#environmentFor(caller), declared)
    })
  }

  /**
   * The process that has a session, held for one message; undefined when there is none, or it is not the caller's. `isCall`: a
   * session whose process has been replaced begins no new calls.
   */
  ofSession(id: string, caller: Caller, isCall: boolean): ProcessSlot | undefined {
    const { slot, owner } = this.#sessions.get(id) ?? {}
    if (!slot || slot.isOver || owner !== ownerOf(caller)) return undefined
    if (isCall && this.#live.get(slot.key) === slot && !this.#isCurrent(slot, this.#environmentFor(caller)))
      this.#replace(slot)
    if (isCall && this.#live.get(slot.key) !== slot) return undefined
    slot.addSession(id)
    slot.begin()
    return slot
  }

  addSession(id: string, slot: ProcessSlot, caller: Caller): void {
    this.#sessions.set(id, { slot, owner: ownerOf(caller) })
    const dropped = slot.addSession(id)
    if (dropped !== undefined) this.#sessions.delete(dropped)
  }

  /** A session is over. With it goes a process that was its own. */
  removeSession(id: string): void {
    const slot = this.#sessions.get(id)?.slot
    this.#sessions.delete(id)
    slot?.sessions.delete(id)
    if (slot?.isOwn) this.end(slot, 'session_over')
  }

  end(slot: ProcessSlot, reason: EndReason): void {
    this.#forget(slot)
    if (slot.process) this.#stop(slot.process, reason)
  }

  /** Ends the streams that wait for notifications, now and from now on. */
  endStreams(): void {
    this.#isDraining = true
    for (const slot of [...this.#live.values(), ...this.#replaced])
      if (slot.isReady) slot.endpoint.endStreams()
  }

  /** Ends all processes, and starts no more. */
  async close(): Promise<void> {
    this.#isClosed = true
    for (const slot of [...this.#live.values(), ...this.#replaced]) this.end(slot, 'closed')
    this.#wake()
    while (this.#ends.size > 0) await Promise.all(this.#ends)
  }

  /** Keeps a slot from ending while its process starts. */
  async #hold(find: () => ProcessSlot): Promise<ProcessSlot> {
    const slot = find()
    slot.begin()
    try {
      await slot.ready
      return slot
    } catch (error) {
      slot.over()
      throw error
    }
  }

  #open(
    key: string,
    caller: Caller,
    environment: ChildEnvironment,
    declared: JsonObject | undefined,
  ): ProcessSlot {
    if (this.#isClosed) throw stopped()
    const userId = this.#userOf(caller)
    const brokenFor = this.#breaker.openFor(userId)
    if (brokenFor > 0) {
      const text = `The server behind this one keeps ending. Wait ${brokenFor} s, then try again; if it goes on, tell the operator.`
      throw new Unavailable(503, text, brokenFor)
    }
    this.#makeRoom(userId)
    const isShared = this.#ports.upstream.process === 'shared'
    const slot = new ProcessSlot({
      key,
      userId,
      sub: isShared ? undefined : signedIn(caller).user.sub,
      isOwn: declared !== undefined,
      providerToken: environment.providerToken,
      idleMs: this.#ports.upstream.idleSeconds * 1000,
      onIdle: () => this.end(slot, this.#replaced.has(slot) ? 'replaced' : 'idle'),
    })
    this.#live.set(key, slot)
    slot.ready = this.#start(slot, environment, declared)
    return slot
  }

  async #start(
    slot: ProcessSlot,
    environment: ChildEnvironment,
    declared: JsonObject | undefined,
  ): Promise<void> {
    // `initialize` first for who can be asked: a server of 2026-07-28 cannot ask in the middle of a call.
    const first = declared ? 'legacy' : this.#era
    try {
      await this.#startAs(slot, environment, declared, first)
    } catch (error) {
      if (error instanceof Unavailable) throw error
      // Some servers end when the first message is not `initialize`.
      const mayEndByProbe = first === 'modern' && !this.#isEraKnown && slot.process?.failedBy === 'exit'
      if (!mayEndByProbe) throw this.#failed(slot, error)
      await this.#startAs(slot, environment, declared, 'legacy').catch((again: unknown) => {
        throw this.#failed(slot, again)
      })
    }
  }

  async #startAs(
    slot: ProcessSlot,
    environment: ChildEnvironment,
    declared: JsonObject | undefined,
    first: McpEra,
  ): Promise<void> {
    while (this.#existing.size >= this.#ports.upstream.maxProcesses && !slot.isOver)
      await new Promise<void>((resolve) => this.#waiting.add(resolve))
    if (slot.isOver) throw stopped()
    const process = new ServedProcess(this.#ports, {
      environment,
      declared,
      sub: slot.sub,
      first,
      onRequest: () => {
        slot.begin()
        return () => slot.over()
      },
      onDeath: () => this.#died(slot),
    })
    slot.process = process
    this.#existing.add(process)
    try {
      const { era } = await process.started
      if (!declared) {
        this.#era = era
        this.#isEraKnown = true
      }
      slot.isReady = true
      if (this.#isDraining) slot.endpoint.endStreams()
    } catch (error) {
      this.#stop(process, 'not_started')
      throw error
    }
  }

  #stop(process: ServedProcess, reason: EndReason): void {
    const end = process.stop(reason).finally(() => {
      this.#ends.delete(end)
      this.#existing.delete(process)
      this.#wake()
    })
    this.#ends.add(end)
  }

  /** Lets those who wait for room look again. */
  #wake(): void {
    const waiting = [...this.#waiting]
    this.#waiting.clear()
    for (const wake of waiting) wake()
  }

  #failed(slot: ProcessSlot, error: unknown): Unavailable {
    if (slot.isOver) return stopped()
    this.#died(slot)
    this.#ports.report('upstream_not_started', { sub: slot.sub, error })
    const text =
      'The server behind this one did not start. Try again in a moment; if it goes on, tell the operator.'
    return new Unavailable(slot.process?.failedBy === 'timeout' ? 504 : 502, text)
  }

  #died(slot: ProcessSlot): void {
    this.end(slot, 'exited')
    if (this.#breaker.recordDeath(slot.userId))
      this.#ports.report('upstream_broken', { sub: slot.sub, stderr: slot.process?.errorTail })
  }

  /** The next call of its clients goes to another process. */
  #replace(slot: ProcessSlot): void {
    this.#live.delete(slot.key)
    if (slot.isIdle) {
      this.end(slot, 'replaced')
      return
    }
    this.#replaced.add(slot)
    slot.endWhenIdle()
  }

  #forget(slot: ProcessSlot): void {
    slot.isOver = true
    if (this.#live.get(slot.key) === slot) this.#live.delete(slot.key)
    this.#replaced.delete(slot)
    for (const id of slot.sessions) this.#sessions.delete(id)
    slot.sessions.clear()
    slot.stopTimer()
  }

  #makeRoom(userId: string): void {
    const { maxPerUser, maxProcesses, process } = this.#ports.upstream
    const own = [...this.#live.values()].filter((slot) => slot.userId === userId)
    if (process === 'user' && own.length >= maxPerUser) this.#evictOneOf(own)
    if (this.#live.size + this.#replaced.size >= maxProcesses) this.#evictOneOf([...this.#live.values()])
  }

  #evictOneOf(slots: ProcessSlot[]): void {
    const [longest] = slots.filter(({ isIdle }) => isIdle).sort((a, b) => a.idleSince - b.idleSince)
    if (!longest) {
      this.#ports.report('upstream_full', { count: this.#live.size })
      const text = `All of the server's processes are busy. Wait ${fullRetrySeconds} s, then try again.`
      throw new Unavailable(503, text, fullRetrySeconds)
    }
    this.end(longest, 'evicted')
  }

  #isCurrent(slot: ProcessSlot, { providerToken }: ChildEnvironment): boolean {
    return this.#ports.upstream.onTokenRefresh === 'keep' || slot.providerToken === providerToken
  }

  #userOf(caller: Caller): string {
    return this.#ports.upstream.process === 'shared' ? everybody : signedIn(caller).user.id
  }

  #keyOf(caller: Caller): string {
    if (this.#ports.upstream.process === 'shared') return everybody
    return holdsProviderToken(this.#ports.upstream) ? ownerOf(caller) : signedIn(caller).user.id
  }

  #environmentFor(caller: Caller): ChildEnvironment {
    const { upstream, environment } = this.#ports
    try {
      return childEnvironment(upstream, environment, upstream.process === 'shared' ? undefined : caller)
    } catch {
      const text =
        'Your sign-in at the app is not available to this server now. Try again in a moment; if it goes on, sign in again.'
      throw new Unavailable(502, text)
    }
  }
}

function stopped(): Unavailable {
  return new Unavailable(503, 'The server behind this one was stopped. Try again in a moment.', 1)
}
