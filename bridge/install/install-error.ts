/** Why an entry was not written or removed. */
export type InstallFault =
  /** What the user asked for cannot be: an unknown client, a scope it does not have, a bad name or argument. */
  | 'usage'
  /** A secret would have been written in clear. */
  | 'secret'
  /** The bridge runs from a place that goes away. */
  | 'not_lasting'
  /** The file of the client is not valid, or not of the shape that the client reads. */
  | 'unreadable'
  /** The entry is written in a way that cannot be changed without touching other lines. */
  | 'unsupported'
  /** Another entry has the name, and nobody agreed to replace it. */
  | 'taken'
  /** There is no entry of ours to remove. */
  | 'missing'
  /** The file or its folder cannot be written. */
  | 'not_writable'
  /** The file of a project is somewhere else. */
  | 'outside'
  /** Somebody else wrote the file after it was read. */
  | 'changed'

/** A change of a client's file that was not made. The file is as it was. `snippet` is what to paste by hand. */
export class InstallError extends Error {
  readonly fault: InstallFault
  readonly nextStep: string
  readonly snippet: string | undefined

  constructor(
    fault: InstallFault,
    message: string,
    nextStep: string,
    options: { snippet?: string; cause?: unknown } = {},
  ) {
    super(message, 'cause' in options ? { cause: options.cause } : undefined)
    this.name = 'InstallError'
    this.fault = fault
    this.nextStep = nextStep
    this.snippet = options.snippet
  }
}

/** Refuses a name that a client would not take, with {@link InstallError}: Codex and Claude Code allow no more than this. */
export function checkServerName(name: string): void {
  if (/^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$/.test(name)) return
  throw new InstallError(
    'usage',
    `${JSON.stringify(name)} cannot be the name of a server.`,
    'Give --name letters, digits, "-" and "_", up to 64 of them.',
  )
}
