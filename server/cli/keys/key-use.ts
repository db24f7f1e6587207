import { type KeyUse, maxCounted } from '../../core/operator/key-use.ts'
import { textTable } from '@drawbridge/shared/terminal/table.ts'
import type { Terminal } from '../terminal.ts'

/** A moment for people: to the minute, in UTC. */
export function timeText(seconds: number): string {
  return new Date(Math.ceil(seconds / 60) * 60_000).toISOString().replace(/:\d\d\.\d+Z$/, 'Z')
}

/** The table of keys for people. */
export function keyTable(uses: readonly KeyUse[], terminal: Pick<Terminal, 'colour'>): string {
  const rows = uses.map((use) => [use.kid, countText(use), use.role, noteOf(use)])
  const colours = { seals: 'green', opens: undefined, missing: 'red' } as const
  return textTable(['key', 'sealed sessions', 'role', ''], rows)
    .split('\n')
    .map((line, index) => {
      const colour = colours[uses[index - 1]?.role ?? 'opens']
      return colour === undefined ? line : terminal.colour(colour, line)
    })
    .join('\n')
}

function countText({ sessions }: KeyUse): string {
  return sessions === maxCounted ? `${maxCounted} or more` : String(sessions)
}

function noteOf({ role, sessions, in_use: inUse }: KeyUse): string {
  if (role === 'missing') return 'put it back into the ring: without it nothing of this can be used'
  if (role === 'seals') return ''
  if (!inUse) return 'nothing needs it'
  return sessions === 0 ? 'sign-ins under way need it' : ''
}
