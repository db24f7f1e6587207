/**
 * Kind of a `pg` error. `unavailable`: it may work later. `refused`: the address, the account or the database must be changed
 * first. `conflict`: rolled back, retry at once. `fault`: a mistake of ours.
 */
type FailureKind = 'unavailable' | 'refused' | 'conflict' | 'fault'

/** The database cannot be used until someone changes something. */
export class DatabaseRefusedError extends Error {
  constructor(message: string) {
    super(message)
    this.name = 'DatabaseRefusedError'
  }
}

/** A `pg` error without private data. `broken`: the connection cannot be used any more. */
export interface PostgresFailure {
  kind: FailureKind
  broken: boolean
  /** Describes the failure without passwords and row values. */
  reason: string
  /** For the log. `pg` errors contain whole rows and the text of statements; this has neither. */
  cause: Error
}

// Connection, resources, shutdown, the operating system; canceled or timed out; a read-only database.
const unavailable = /^(?:08|53|57P|58|57014$|55P03$|25006$|25P03$)/
// Codes with which the server or a pooler refuses a connection; 42501 is a missing privilege.
const refused = /^(?:28|3D000$|3F000$|55000$|42501$)/
// The server ends the connection after these.
const fatal = /^(?:08|57P|25P03$|28|3D000$)/
const conflict = /^(?:40001|40P01)$/
// A statement of this connection is missing, or another one's is present; a setting that is not passed on.
const pooled = /^(?:26000|42P05|08P01)$/
const withoutDetail = new Map([
  ['ECONNREFUSED', 'connection refused'],
  ['ECONNRESET', 'connection reset'],
  ['ETIMEDOUT', 'connection timed out'],
])

/** Reads what `pg` or a migration rejected with. Removes `password` from the text wherever it occurs. */
export function readPostgresFailure(error: unknown, password: string): PostgresFailure {
  const { code, message } = textsOf(error)
  if (error instanceof DatabaseRefusedError) {
    return { kind: 'refused', broken: false, reason: message, cause: plainError(message, code) }
  }
  const text = password === '' ? message : message.replaceAll(password, '***')
  // Only errors of the server have a severity; system codes such as EPIPE look like SQL codes.
  if (!(error instanceof Error && 'severity' in error)) {
    const isOurs = error instanceof TypeError || error instanceof RangeError
    const reason = text === '' ? (withoutDetail.get(code) ?? code) : text
    return { kind: isOurs ? 'fault' : 'unavailable', broken: true, reason, cause: plainError(reason, code) }
  }
  const hint = pooled.test(code)
    ? '. A connection pooler seems to be in between: add pooler=transaction to the address.'
    : ''
  const reason = `${text}${hint}`
  return { kind: kindOf(code), broken: fatal.test(code), reason, cause: plainError(reason, code) }
}

function kindOf(code: string): FailureKind {
  if (refused.test(code) || pooled.test(code)) return 'refused'
  if (conflict.test(code)) return 'conflict'
  return unavailable.test(code) ? 'unavailable' : 'fault'
}

function textsOf(error: unknown): { code: string; message: string } {
  if (!(error instanceof Error)) return { code: '', message: 'an unknown failure' }
  const { code } = error as { code?: unknown }
  return { code: typeof code === 'string' ? code : '', message: error.message }
}

function plainError(message: string, code: string): Error {
  return Object.assign(new Error(message), code === '' ? {} : { code })
}
