/** Exit codes are stable, so that scripts can tell them apart. In front of a client only the first three come up. */
export const exitCode = { ok: 0, failed: 1, usage: 2, signInNeeded: 3, unreachable: 4 } as const

/** One of {@link exitCode}. */
export type ExitCode = (typeof exitCode)[keyof typeof exitCode]
