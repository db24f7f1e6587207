import type { McpEra } from '@drawbridge/shared/mcp/mcp-protocol.ts'
import type { GreetedProcess } from './handshake.ts'
import { type EndReason, type ProcessTerms, ServedProcess, type ServingTerms } from './served-process.ts'

export interface StartTerms extends Pick<ProcessTerms, 'environment' | 'link' | 'sub'> {
  /** Called with each process that is started: at most two. */
  onProcess: (process: ServedProcess) => void
  /** Called when a process that has served ends by itself. */
  onDeath: (process: ServedProcess) => void
}

/** Starts and ends the processes of a command, and knows those that exist. */
export class ProcessStarter {
  readonly #ports: ServingTerms
  /** Includes processes that are ending. */
  readonly #existing = new Set<ServedProcess>()
  readonly #ends = new Map<ServedProcess, Promise<void>>()
  /** The era in which the command has answered; undefined before. */
  #era: McpEra | undefined

  constructor(ports: ServingTerms) {
    this.#ports = ports
  }

  get era(): McpEra | undefined {
    return this.#era
  }

  /** Returns the number of processes, and how many of them are ending. */
  get counts(): { existing: number; ending: number } {
    return { existing: this.#existing.size, ending: this.#ends.size }
  }

  /**
   * Starts a process and learns what it is; rejects when it cannot. Some servers end when the first message is not `initialize`:
   * those are started twice.
   */
  async start(terms: StartTerms): Promise<GreetedProcess> {
    // `initialize` first for who can be asked: a server of 2026-07-28 cannot ask in the middle of a call.
    if (terms.link?.declared) return this.#greeted(terms, 'legacy')
    if (this.#era) return this.#greeted(terms, this.#era)
    let endedByProbe: ServedProcess | undefined
    const onProcess: StartTerms['onProcess'] = (process) => {
      endedByProbe = process
      terms.onProcess(process)
    }
    const greeted = await this.#greeted({ ...terms, onProcess }, 'modern').catch((error: unknown) => {
      if (endedByProbe?.failedBy !== 'exit') throw error
      return this.#greeted(terms, 'legacy')
    })
    this.#era = greeted.era
    return greeted
  }

  /** Never rejects. */
  stop(process: ServedProcess | undefined, reason: EndReason): Promise<void> {
    const known = process && this.#ends.get(process)
    if (!process || known) return known ?? Promise.resolve()
    const end = process.stop(reason).finally(() => {
      this.#existing.delete(process)
      this.#ends.delete(process)
    })
    this.#ends.set(process, end)
    return end
  }

  /** Ends all. */
  async close(): Promise<void> {
    await Promise.all([...this.#existing].map((process) => this.stop(process, 'closed')))
  }

  async #greeted({ onProcess, onDeath, ...terms }: StartTerms, first: McpEra): Promise<GreetedProcess> {
    const { startTimeoutSeconds, firstStartTimeoutSeconds } = this.#ports.upstream
    const process: ServedProcess = new ServedProcess(this.#ports, {
      ...terms,
      first,
      user: this.#freeUser(),
      startSeconds: this.#era ? startTimeoutSeconds : firstStartTimeoutSeconds,
      onDeath: () => onDeath(process),
    })
    this.#existing.add(process)
    onProcess(process)
    try {
      return await process.started
    } catch (error) {
      void this.stop(process, 'not_started')
      throw error
    }
  }

  /** The first user of the operating system that no process runs as. */
  #freeUser(): ProcessTerms['user'] {
    const { user } = this.#ports.upstream
    if (!user) return undefined
    const taken = new Set([...this.#existing].map((process) => process.user?.uid))
    let uid = user.firstUid
    while (taken.has(uid) && uid < user.lastUid) uid += 1
    return { uid, gid: user.gid }
  }
}
