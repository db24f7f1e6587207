import type { ServerConfig } from '../../config/setting.ts'
import { type KeyRing, fixedKeyRing } from '../../core/seal.ts'
import { changeKeyFile } from '../../store/secret-key-file-change.ts'
import { openKeyFile } from '../../store/secret-key-file.ts'
import { CommandFailure, exitCode } from '../command.ts'
import { type KeySource, keySourceOf, parseSecretKeys } from '../../config/store-address.ts'

/** Where the keys of a store that keeps something are. Refuses a store in memory: its keys end with the process. */
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

/** The ring as it is now. Throws a {@link CommandFailure} when the server has not made its file yet. */
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

/** Changes the entries of the key file at `path`. What `change` throws is passed on; whatever else fails has a next step. */
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
