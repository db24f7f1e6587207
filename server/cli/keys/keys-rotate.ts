import { countOf, type KeyUse, rotateKeyRing, type Rotation } from '../../core/operator/key-rotation.ts'
import { type CommandInput, type ExitCode, exitCode, readConfig } from '../command.ts'
import { changeRing, keptKeySource, keyTable, openRing } from './key-ring.ts'
import { withStore } from '../with-store.ts'
import { printFacts, timeText } from '../terminal.ts'

/**
 * Adds a new key at the front of the key file, and re-seals all provider sessions with it beside running servers. Does not change
 * a ring in the environment, and uses its first key.
 */
export async function rotateKeys(input: CommandInput, isStopped?: () => boolean): Promise<ExitCode> {
  const { runtime, json, terminal } = input
  const config = readConfig(input, ['store', 'secretKeys'])
  const source = keptKeySource(config)
  const ring = openRing(source, runtime.now)
  const addEntry = (path: string) => (entry: string, kid: string) => {
    changeRing(path, (entries) => [entry, ...entries])
    terminal.note(`Added ${kid} to ${path}.`)
    if (config.store.kind === 'postgres') terminal.note(sameFile)
  }
  if (source.kind !== 'file' && ring.keys().length === 1) terminal.note(howToAdd)
  const facts = await withStore(config, (store) =>
    rotateKeyRing({
      store,
      ring,
      runtime,
      note: terminal.note,
      isStopped,
      addEntry: source.kind === 'file' ? addEntry(source.path) : undefined,
    }),
  )
  const { ok, keys, removable_at: removableAt } = facts
  printFacts(input, facts, keyTable(keys, terminal))
  const lines = json ? [] : explain(facts, keys, { isFile: source.kind === 'file', removableAt })
  for (const line of lines) terminal.note(line)
  return ok ? exitCode.ok : exitCode.failed
}

function explain(
  rotation: Rotation,
  keys: readonly KeyUse[],
  { isFile, removableAt }: { isFile: boolean; removableAt: number },
): string[] {
  const { left, unsettled, unreadable, interrupted } = rotation
  const idle = keys.filter(({ role, in_use: inUse }) => role === 'opens' && !inUse).map(({ kid }) => kid)
  const after = `after ${timeText(removableAt + 59)}: sign-in pages that are open now may be sealed with it for up to an hour`
  const lines = []
  if (unsettled > 0) {
    lines.push(
      `${countOf(unsettled)} left as found: the outcome of an earlier refresh is not known. The next refresh seals them anew.`,
    )
  }
  if (unreadable > 0)
    lines.push(
      `${countOf(unreadable)} left as found: no key opens them. Put the missing key back into the ring.`,
    )
  if (idle.length > 0) {
    lines.push(
      isFile
        ? `Remove what nothing needs ${after}.\n  drawbridge-server keys remove ${idle.join(' ')}`
        : `Take ${idle.join(', ')} out of DRAWBRIDGE_SECRET_KEYS ${after}.`,
    )
  }
  if (left > 0 || interrupted) {
    lines.push(
      `${interrupted ? 'Interrupted: ' : ''}some sessions are still sealed with older keys. Nothing is lost; go on with:\n  drawbridge-server keys rotate`,
    )
  }
  return lines
}

const sameFile =
  'Every server must read this very file: one that reads a copy answers 503 for re-sealed sessions until it has the new key.'

const howToAdd = `The ring is in DRAWBRIDGE_SECRET_KEYS, which no command can change. To rotate:
  1. drawbridge-server keys generate, and add what it prints at the end of the ring, on every server; restart them
  2. move it to the front, on every server; restart them
  3. drawbridge-server keys rotate, with the same DRAWBRIDGE_SECRET_KEYS
Or keep the ring in a file that all servers read, DRAWBRIDGE_SECRET_KEYS=file:PATH: then keys rotate does it all, without a restart.`
