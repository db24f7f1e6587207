import { CredentialError } from './credential-store.ts'

/** Whether an error of the file system says that there is nothing of that name. */
export function isMissing(error: unknown): boolean {
  return hasCode(error, 'ENOENT') || hasCode(error, 'ENOTDIR')
}

/** Whether an error has that code of the system. */
export function hasCode(error: unknown, code: string): boolean {
  return error instanceof Error && 'code' in error && error.code === code
}

/** `why` says what is wrong with what was found at `path`. */
export function refused(path: string, why: string): CredentialError {
  return new CredentialError('not_writable', `${path} ${why}, so no credentials are kept there.`)
}

/** The failure of looking at `path`. */
export function notReadable(path: string, error: unknown): CredentialError {
  return new CredentialError('not_writable', `${path} cannot be read: ${reason(error)}.`, { cause: error })
}

/** The failure of writing at `path`; one that says what is wrong already stays as it is. */
export function notWritable(path: string, error: unknown): CredentialError {
  if (error instanceof CredentialError) return error
  return new CredentialError('not_writable', `Nothing can be written to ${path}: ${reason(error)}.`, {
    cause: error,
  })
}

/** The code of an error of the system, else its text. */
export function reason(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : String(error)
}
