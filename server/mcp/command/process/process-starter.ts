import type { McpEra } from '@drawbridge/shared/mcp/mcp-protocol.ts'
import type { GreetedProcess } from './handshake.ts'
import { type ProcessTerms, CommandProcess, type ServingTerms } from './command-process.ts'

export interface StartTerms extends Pick<ProcessTerms, 'environment' | 'clients' | 'sub'> {
  /** The era to speak if the command knows both. */
  preferred: McpEra
  /** Called with each process that is started: at most two. */
  onProcess: (process: CommandProcess) => void
  /** Called when a process that has served ends by itself. */
  onDeath: (process: CommandProcess) => void
}

/** Starts the processes of a command, and knows those that exist. */
export class ProcessStarter {
  /** Includes processes that are ending. */
  readonly existing: Set<CommandProcess> = new Set()
  readonly #common: ServingTerms
  /** The era in which the command has answered, by the one that was preferred. */
  readonly #answered = new Map<McpEra, McpEra>()

  constructor(common: ServingTerms) {
    this.#common = common
  }

  /** True once the command has answered in an earlier revision where 2026-07-28 was preferred. */
  get lacks2026(): boolean {
    return this.#answered.get('modern') === 'legacy'
  }

  /**
   * Starts a process and learns its revision; rejects when it cannot. Some servers exit at a first message that they do not know:
   * until the command has answered once, it is then started again with the other one.
   */
  async start({ preferred, ...terms }: StartTerms): Promise<GreetedProcess> {
    const known = this.#answered.get(preferred)
    const first = this.#launch(terms, known ?? preferred)
    const greeted = await first.started.catch((error: unknown) => {
      if (known || first.failedBy !== 'exit') throw error
      return this.#launch(terms, preferred === 'modern' ? 'legacy' : 'modern').started
    })
    this.#answered.set(preferred, greeted.era)
    return greeted
  }

  async close(): Promise<void> {
    await Promise.all([...this.existing].map((process) => process.stop('closed')))
  }

  #launch({ onProcess, onDeath, ...terms }: Omit<StartTerms, 'preferred'>, first: McpEra): CommandProcess {
    const { startTimeoutSeconds, firstStartTimeoutSeconds } = this.#common.upstream
    const process: CommandProcess = new CommandProcess(this.#common, {
      ...terms,
      first,
      user: this.#freeUser(),
      startSeconds: this.#answered.size > 0 ? startTimeoutSeconds : firstStartTimeoutSeconds,
      onGone: () => void this.existing.delete(process),
      onDeath: () => onDeath(process),
    })
    this.existing.add(process)
    onProcess(process)
    return process
  }

  /** The first user of the operating system that no process runs as. */
  #freeUser(): ProcessTerms['user'] {
    const { user } = this.#common.upstream
    if (!user) return undefined
    const taken = new Set([...this.existing].map(({ terms }) => terms.user?.uid))
    let uid = user.firstUid
    while (taken.has(uid) && uid < user.lastUid) uid += 1
    return { uid, gid: user.gid }
  }
}
