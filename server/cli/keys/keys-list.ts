import { createKeyEntry, listKeyUse } from '../../core/operator/key-rotation.ts'
import { type CommandInput, type ExitCode, exitCode, readConfig } from '../command.ts'
import { printFacts } from '../terminal.ts'
import { keptKeySource, keyTable, openRing } from './key-ring.ts'
import { withStore } from '../with-store.ts'

/** Prints one new key ring entry, a secret. No other command prints one. */
export async function generateKey(input: CommandInput): Promise<ExitCode> {
  const { kid, entry } = createKeyEntry(input.runtime)
  printFacts(input, { kid, entry }, entry)
  return exitCode.ok
}

/** Prints the keys and their uses. Fails if the store needs a missing one. */
export async function listKeys(input: CommandInput): Promise<ExitCode> {
  const config = readConfig(input, ['store', 'secretKeys'])
  const ring = openRing(keptKeySource(config), input.runtime.now)
  const keys = await withStore(config, (store) => listKeyUse(ring, store))
  const isMissing = keys.some(({ role }) => role === 'missing')
  printFacts(input, { ok: !isMissing, keys }, keyTable(keys, input.terminal))
  return isMissing ? exitCode.failed : exitCode.ok
}
