import type { ConfigFile } from './config-file.ts'

/** What will be done to the file of a client, and nothing of it done yet. */
export interface Plan {
  file: ConfigFile
  /** The name of the entry. */
  name: string
  /**
   * `same`: nothing to do. `add`: a new entry. `update`: ours for the same server gets another command or flags.
   * `replace`: another entry has the name; somebody has to agree. `remove`: ours goes.
   */
  change: 'same' | 'add' | 'update' | 'replace' | 'remove'
  /** What the file will hold. */
  bytes: Buffer
  /** For people; empty for `same`. */
  diff: string
  /** What a person should know about the file, in a sentence. */
  warning: string | undefined
  /** Whether a file that is made is readable to its user alone. */
  isPrivate: boolean
}
