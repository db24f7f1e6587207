/** Reasons why an entry was not written or removed. */
export type InstallFault =
  | 'usage'
  /** A secret would have been written as plain text. */
  | 'secret'
  /** The bridge runs from a temporary place. */
  | 'not_lasting'
  /** The client's file is invalid, or not in the format that the client reads. */
  | 'unreadable'
  /** The file is TOML, and the client's program is missing. */
  | 'unsupported'
  /** Another entry has the name. */
  | 'taken'
  | 'missing'
  | 'not_writable'
  /** The project's file is outside its folder. */
  | 'outside'
  /** The file has changed since it was read. */
  | 'changed'

/** Thrown when a client's file was not changed. `snippet` is the text to paste by hand. */
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

/** Rejects a name that a client would not accept: Codex and Claude Code are the strictest. */
export function checkServerName(name: string): void {
  if (/^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$/.test(name)) return
  throw new InstallError(
    'usage',
    `${JSON.stringify(name)} is not a valid name for a server.`,
    'Use up to 64 letters, digits, "-" and "_" in --name.',
  )
}
