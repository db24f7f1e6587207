import { type Finding, note } from '@drawbridge/shared/terminal/finding.ts'

/** A reminder: whoever finds the server can call them. */
export function publicToolFindings(names: ReadonlySet<string>): Finding[] {
  if (names.size === 0) return []
  return [
    note(
      'public-tools',
      `Anybody can call ${[...names].join(', ')} without signing in.`,
      'Keep it so only for what the whole world may read and do.',
    ),
  ]
}
