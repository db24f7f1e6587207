/** Characters that a message may have as JSON that is kept for as long as what it opens. */
export const longestKept: number = 64 * 1024

/**
 * Whether a message that opens something lasting is too long for that: one as large as a body may be, a thousand times over,
 * would use all memory up.
 */
export function isTooLongToKeep(message: unknown): boolean {
  return JSON.stringify(message).length > longestKept
}
