import type { StoredLogin } from '../credentials/credential-store.ts'
import type { ExitCode } from './exit-code.ts'
import { describeError, type Failure } from './failure-text.ts'
import { asTyped } from './program-name.ts'

/** A stored login that cannot be read, as commands show it. What server it is for, only its content says. */
export interface UnreadableLogin {
  id: string
  file: string
  code: Failure['code']
  /** Sentences. */
  reason: string
  nextStep: string
  exit: ExitCode
}

/** What is wrong with a record, and what to do. `serverUrl`: the server that it is known to be for. */
export function describeUnreadable(
  { id, file, failure }: Extract<StoredLogin, { kind: 'unreadable' }>,
  serverUrl: string | undefined,
): UnreadableLogin {
  const { code, sentences, nextStep, exit } = describeError(failure, { serverUrl })
  // Nothing but its id tells it from others that are damaged.
  const next = failure.fault === 'corrupt' ? asTyped(`drawbridge logout ${id}`) : nextStep
  return { id, file, code, reason: sentences.join(' '), nextStep: next, exit }
}
