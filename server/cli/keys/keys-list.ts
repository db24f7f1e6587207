import { createKeyEntry } from '../../core/operator/key-rotation.ts'
import { listKeyUse } from '../../core/operator/key-use.ts'
import { type CommandInput, type ExitCode, exitCode, readConfig } from '../command.ts'
import { keptKeySource, openRing } from './key-ring.ts'
import { withStore } from '../with-store.ts'
import { keyTable } from './key-use.ts'

/** Prints one new entry of a key ring, which is a secret: this is the only command that shows one. */
export async function generateKey({ json, runtime, terminal }: CommandInput): Promise<ExitCode> {
  const { kid, entry } = createKeyEntry(runtime)
  terminal.print(json ? JSON.stringify({ kid, entry }) : entry)
  return exitCode.ok
}

/** Prints the keys, and what depends on each. Fails when the store needs one that is not there. */
export async function listKeys(input: CommandInput): Promise<ExitCode> {
  const config = readConfig(input, ['store', 'secretKeys'])
  const ring = openRing(keptKeySource(config), input.runtime.now)
  const keys = await withStore(config, (store) => listKeyUse(ring, store))
  const isMissing = keys.some(({ role }) => role === 'missing')
  input.terminal.print(input.json ? JSON.stringify({ ok: !isMissing, keys }) : keyTable(keys, input.terminal))
  return isMissing ? exitCode.failed : exitCode.ok
}
