import { ConfigError } from '@drawbridge/shared/settings/setting.ts'

/** Thrown when a client's file was not changed. `message` and `nextStep` are for the user, without secrets. */
export class InstallError extends Error {
  override readonly name = 'InstallError'
  readonly nextStep: string

  constructor(message: string, nextStep: string, cause?: unknown) {
    super(message, { cause })
    this.nextStep = nextStep
  }
}

/** Rejects a name that a client would not accept: Codex and Claude Code are the strictest. */
export function checkServerName(name: string): void {
  if (/^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$/.test(name)) return
  throw new ConfigError(
    [`${JSON.stringify(name)} is not a valid name for a server.`],
    'Use up to 64 letters, digits, "-" and "_" in --name.',
  )
}
