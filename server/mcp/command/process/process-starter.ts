import type { McpEra } from '@drawbridge/shared/mcp/mcp-protocol.ts'
import type { GreetedProcess } from './handshake.ts'
import { type ProcessTerms, ServedProcess, type ServingTerms } from './served-process.ts'

export interface StartTerms extends Pick<ProcessTerms, 'environment' | 'clients' | 'sub'> {
  /** Called with each process that is started: at most two. */
  onProcess: (process: ServedProcess) => void
  /** Called when a process that has served ends by itself. */
  onDeath: (process: ServedProcess) => void
}

/** Starts the processes of a command, and knows those that exist. */
export class ProcessStarter {
  /** Includes processes that are ending. */
  readonly existing: Set<ServedProcess> = new Set()
  /** The era in which the command has answered; undefined before. */
  era: McpEra | undefined
  readonly #common: ServingTerms

  constructor(common: ServingTerms) {
    this.#common = common
  }

  /**
   * Starts a process and learns what it is; rejects when it cannot. Some servers end when the first message is not `initialize`:
   * those are started twice.
   */
  async start(terms: StartTerms): Promise<GreetedProcess> {
    // `initialize` first for who can be asked: a server of 2026-07-28 cannot ask in the middle of a call.
    if (terms.clients?.declared) return this.#launch(terms, 'legacy').started
    if (this.era) return this.#launch(terms, this.era).started
    const probed = this.#launch(terms, 'modern')
    const greeted = await probed.started.catch((error: unknown) => {
      if (probed.failedBy !== 'exit') throw error
      return this.#launch(terms, 'legacy').started
    })
    this.era = greeted.era
    return greeted
  }

  async close(): Promise<void> {
    await Promise.all([...this.existing].map((process) => process.stop('closed')))
  }

  #launch({ onProcess, onDeath, ...terms }: StartTerms, first: McpEra): ServedProcess {
    const { startTimeoutSeconds, firstStartTimeoutSeconds } = this.#common.upstream
    const process: ServedProcess = new ServedProcess(this.#common, {
      ...terms,
      first,
      user: this.#freeUser(),
      startSeconds: this.era ? startTimeoutSeconds : firstStartTimeoutSeconds,
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
