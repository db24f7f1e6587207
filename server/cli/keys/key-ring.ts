import { textTable } from '@drawbridge/shared/terminal/table.ts'
import type { ServerConfig } from '../../config/setting-table.ts'
import { type KeyRing, fixedKeyRing } from '../../core/seal.ts'
import { changeKeyFile } from '../../store/secret-key-file-change.ts'
import { openKeyFile } from '../../store/secret-key-file.ts'
import { CommandFailure, exitCode } from '../command.ts'
import { type KeySource, keySourceOf, parseSecretKeys } from '../../config/store-address.ts'
import { type KeyUse, maxCounted } from '../../core/operator/key-rotation.ts'
import type { Terminal } from '../terminal.ts'

/** Returns the source of the keys of a durable store. Refuses a store in memory, whose keys end with the process. */
export function keptKeySource(config: ServerConfig): KeySource & { kind: 'ring' | 'file' } {
  const source = keySourceOf(config)
  if (config.store.kind === 'memory' || source.kind === 'memory') {
    throw new CommandFailure(
      'A store in memory belongs to one process: there is nothing for its keys to open later.',
      'Keep things with DRAWBRIDGE_STORE=sqlite:PATH or postgres://...',
      { code: exitCode.usage },
    )
  }
  return source
}

/** Opens the current ring. Throws a {@link CommandFailure} if the server has not created its file yet. */
export function openRing(source: KeySource & { kind: 'ring' | 'file' }, now: () => number): KeyRing {
  if (source.kind === 'ring') return fixedKeyRing(source.keys)
  const { path } = source
  try {
    return openKeyFile(path, { parse: parseSecretKeys, now })
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code !== 'ENOENT') throw cause
    throw new CommandFailure(
      `There is no key file ${path}.`,
      'The first start of the server makes it: drawbridge-server serve',
      { cause },
    )
  }
}

/** Changes the entries of the key file at `path`. Errors of `change` pass unchanged; all others get a next step. */
export function changeRing(path: string, change: (entries: readonly string[]) => readonly string[]): void {
  try {
    changeKeyFile(path, change)
  } catch (cause) {
    if (cause instanceof CommandFailure) throw cause
    const { message } = cause as Error
    throw new CommandFailure(
      `The key file ${path} cannot be changed: ${message}`,
      'Run this as its owner, where it can be written. A secret that is only mounted is changed where it comes from: drawbridge-server keys generate makes an entry for it.',
      { cause },
    )
  }
}

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
