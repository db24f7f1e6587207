/**
 * What an error of `pg` means. `unavailable`: it may work later. `refused`: somebody has to change the address, the
 * account or the database first. `conflict`: rolled back, try again at once. `fault`: a mistake of ours.
 */
export type FailureKind = 'unavailable' | 'refused' | 'conflict' | 'fault'

/** A database that cannot be used until someone changes something. */
export class DatabaseRefusedError extends Error {
  constructor(message: string) {
    super(message)
    this.name = 'DatabaseRefusedError'
  }
}

/** An error of `pg` without what may be private in it. `broken`: the connection cannot be used any more. */
export interface PostgresFailure {
  kind: FailureKind
  broken: boolean
  /** Says what happened; no password, and no value of a row. */
  reason: string
  /** For the log. `pg` puts whole rows and the text of statements into its errors, this has neither. */
  cause: Error
}

// Connection, resources, shutdown, the operating system; canceled or timed out; a read-only database.
const unavailable = /^(?:08|53|57P|58|57014$|55P03$|25006$|25P03$)/
// What the server or a pooler says to a connection that it will not have; 42501 is a missing privilege.
const refused = /^(?:28|3D000$|3F000$|55000$|42501$)/
// The server ends the connection after these.
const fatal = /^(?:08|57P|25P03$|28|3D000$)/
const conflict = /^(?:40001|40P01)$/
// A statement of this connection is missing, or that of another one is there; a setting that is not passed on.
const pooled = /^(?:26000|42P05|08P01)$/
const withoutDetail = new Map([
  ['ECONNREFUSED', 'connection refused'],
  ['ECONNRESET', 'connection reset'],
  ['ETIMEDOUT', 'connection timed out'],
])

/** Reads what `pg` or a migration rejected with. `password` is taken out of the text, wherever it may come from. */
export function readPostgresFailure(error: unknown, password: string): PostgresFailure {
  const { code, message } = textsOf(error)
  if (error instanceof DatabaseRefusedError) {
    return { kind: 'refused', broken: false, reason: message, cause: plainError(message, code) }
  }
  const text = password === '' ? message : message.replaceAll(password, '***')
  // Only the server says how severe it is; codes of the system such as EPIPE look like those of SQL.
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
