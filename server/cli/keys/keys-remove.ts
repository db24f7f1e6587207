import { statSync } from 'node:fs'
import { CommandFailure, type CommandInput, type ExitCode, exitCode, readConfig } from '../command.ts'
import { changeRing, keptKeySource, openRing } from './key-ring.ts'
import { withStore } from '../with-store.ts'
import { pageSeconds } from '../../core/operator/key-rotation.ts'
import { printFacts, timeText } from '../terminal.ts'

/**
 * Removes keys from the key file. Refuses the one that seals, those that the store needs, and any within an hour of the last
 * change of the ring: open sign-in pages are sealed too.
 */
export async function removeKeys(input: CommandInput, kids: readonly string[]): Promise<ExitCode> {
  const config = readConfig(input, ['store', 'secretKeys'])
  const source = keptKeySource(config)
  if (source.kind === 'ring') {
    throw new CommandFailure(
      'The keys are in DRAWBRIDGE_SECRET_KEYS itself, which no command can change.',
      'Take the entry out of it on every server, once drawbridge-server keys list says that nothing needs it.',
      { code: exitCode.usage },
    )
  }
  const { path } = source
  const ring = openRing(source, input.runtime.now)
    .keys()
    .map(({ kid }) => kid)
  refuseUnknown(kids, ring)
  const used = await withStore(config, async (store) => (await store?.listSealingKeys()) ?? [])
  const needed = kids.filter((kid) => used.includes(kid))
  if (needed.length > 0) {
    throw new CommandFailure(
      `Something stored still needs ${needed.join(', ')}.`,
      'drawbridge-server keys rotate, then drawbridge-server keys list',
    )
  }
  const changedAt = Math.floor(statSync(path).mtimeMs / 1000)
  if (changedAt + pageSeconds > input.runtime.now()) {
    throw new CommandFailure(
      `The ring changed less than an hour ago: sign-in pages that people have open may still need ${kids.join(', ')}.`,
      `Try again after ${timeText(changedAt + pageSeconds + 59)}.`,
    )
  }
  changeRing(path, (entries) => {
    // Another command may have changed the order meanwhile.
    refuseFirst(kids, kidOf(entries[0]))
    return entries.filter((entry) => !kids.includes(kidOf(entry)))
  })
  const left = ring.filter((kid) => !kids.includes(kid))
  printFacts(
    input,
    { ok: true, removed: kids, keys: left },
    `Removed ${kids.join(', ')} from ${path}. Left: ${left.join(', ')}.`,
  )
  return exitCode.ok
}

function refuseUnknown(kids: readonly string[], ring: readonly string[]): void {
  const unknown = kids.filter((kid) => !ring.includes(kid))
  if (unknown.length > 0) {
    throw new CommandFailure(
      `There is no key ${unknown.join(', ')} in the ring, which has ${ring.join(', ')}.`,
      'drawbridge-server keys list',
      { code: exitCode.usage },
    )
  }
  refuseFirst(kids, ring[0] ?? '')
}

function refuseFirst(kids: readonly string[], first: string): void {
  if (!kids.includes(first)) return
  throw new CommandFailure(
    `${first} is the key that seals.`,
    'Put another in front of it first: drawbridge-server keys rotate',
  )
}

function kidOf(entry: string | undefined): string {
  return entry?.split(':', 1)[0] ?? ''
}
