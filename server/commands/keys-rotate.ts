import { encodeBase64url } from '@drawbridge/shared/base64url.ts'
import { resealSessions, type ResealCounts } from '../core/reseal.ts'
import { createSealer, type KeyRing } from '../core/seal.ts'
import { type Store, StoreUnavailableError } from '../core/store.ts'
import { changeKeyFile } from '../store/secret-key-file-change.ts'
import { type CommandInput, type ExitCode, exitCode, readConfig } from './command.ts'
import { keptKeySource, openRing } from './key-ring.ts'
import { withStore } from './key-store.ts'
import { keyTable, type KeyUse, listKeyUse } from './key-use.ts'
import { createKeyEntry } from './keys-generate.ts'
import { pageSeconds, timeText } from './page-life.ts'

/** Servers notice another key within a second of use; what one sealed until then is found by a later round. */
const noticeSeconds = 2
/** Without anything re-sealed for this long, what is left will not be by waiting. */
const patienceSeconds = 60

/** What a rotation came to. */
interface Rotation extends Omit<ResealCounts, 'skipped'> {
  /** Left, because others were at work on them to the end, or the store could not be used. */
  left: number
  interrupted: boolean
}

/**
 * Puts a new key in front of the key file, unless `resealOnly`, and seals all provider sessions anew with the first key,
 * beside running servers. A ring in the environment is not changed: the first key of it is taken.
 */
export async function rotateKeys(
  input: CommandInput,
  options: { resealOnly: boolean; isStopped?: () => boolean },
): Promise<ExitCode> {
  const { runtime, json, terminal } = input
  const config = readConfig(input)
  const source = keptKeySource(config)
  const ring = openRing(source, runtime.now)
  let added: string | undefined
  if (source.kind === 'file' && !options.resealOnly) {
    added = addKey(source.path, runtime)
    ring.refresh()
  }
  const { rotation, keys } = await withStore(config, async (store) => ({
    rotation: await resealAll(store, ring, input, options.isStopped ?? (() => false)),
    keys: await listKeyUse(ring, store),
  }))
  const isDone = rotation.left === 0 && rotation.unreadable === 0 && !rotation.interrupted
  const removableAt = runtime.now() + pageSeconds
  if (json) {
    const facts = { ok: isDone, sealing_key: ring.keys()[0]?.kid, added, ...rotation, keys }
    terminal.print(JSON.stringify({ ...facts, removable_at: removableAt }))
  } else {
    if (added !== undefined) terminal.note(`Added ${added} to the key file.`)
    terminal.print(keyTable(keys, terminal))
    for (const line of explain(rotation, keys, { isFile: source.kind === 'file', removableAt })) {
      terminal.note(line)
    }
  }
  return isDone ? exitCode.ok : exitCode.failed
}

function addKey(path: string, runtime: CommandInput['runtime']): string {
  const { kid, entry } = createKeyEntry(runtime)
  changeKeyFile(path, (entries) => [entry, ...entries])
  return kid
}

/** Rounds over the store until nothing is left under another key, nothing moves any more, or somebody stops it. */
async function resealAll(
  store: Store | undefined,
  ring: KeyRing,
  { runtime, terminal }: CommandInput,
  isStopped: () => boolean,
): Promise<Rotation> {
  const rotation: Rotation = { resealed: 0, unsettled: 0, unreadable: 0, left: 0, interrupted: false }
  if (!store) return rotation
  const sealer = createSealer(ring, runtime.randomBytes)
  const owner = `keys-rotate-${encodeBase64url(runtime.randomBytes(9))}`
  const kid = ring.keys()[0]?.kid ?? ''
  const begunAt = runtime.now()
  let movedAt = begunAt
  for (;;) {
    const counts = await tryRound(() => resealSessions({ store, sealer, kid, runtime, owner, isStopped }))
    rotation.resealed += counts.resealed
    Object.assign(rotation, {
      unsettled: counts.unsettled,
      unreadable: counts.unreadable,
      left: counts.skipped,
    })
    rotation.interrupted = isStopped()
    const now = runtime.now()
    if (counts.resealed > 0) {
      movedAt = now
      terminal.note(`${rotation.resealed} sessions are sealed with ${kid} so far.`)
    }
    const isSettled = counts.resealed === 0 && counts.skipped === 0 && now - begunAt >= noticeSeconds
    if (isSettled || rotation.interrupted || now - movedAt >= patienceSeconds) return rotation
    await runtime.sleep(1000)
  }
}

/** A store that is down for a moment is a round in which nothing moved. */
async function tryRound(round: () => Promise<ResealCounts>): Promise<ResealCounts> {
  try {
    return await round()
  } catch (error) {
    if (!(error instanceof StoreUnavailableError)) throw error
    return { resealed: 0, skipped: 1, unsettled: 0, unreadable: 0 }
  }
}

function explain(
  rotation: Rotation,
  keys: readonly KeyUse[],
  { isFile, removableAt }: { isFile: boolean; removableAt: number },
): string[] {
  const { left, unsettled, unreadable, interrupted } = rotation
  const idle = keys.filter(({ role, in_use: inUse }) => role === 'opens' && !inUse).map(({ kid }) => kid)
  const after = `after ${timeText(removableAt)}: sign-in pages that are open now may be sealed with it for up to an hour`
  const lines = []
  if (unsettled > 0) {
    lines.push(
      `${unsettled} sessions wait for the outcome of an interrupted refresh; their next refresh seals them anew.`,
    )
  }
  if (unreadable > 0)
    lines.push(`${unreadable} sessions cannot be opened: put the missing key back into the ring.`)
  if (idle.length > 0) {
    lines.push(
      isFile
        ? `Remove what nothing needs ${after}.\n  drawbridge-server keys remove ${idle.join(' ')}`
        : `Take ${idle.join(', ')} out of DRAWBRIDGE_SECRET_KEYS ${after}.`,
    )
  }
  if (!isFile && keys.filter(({ role }) => role !== 'missing').length === 1) lines.push(howToAdd)
  if (left > 0 || interrupted) {
    lines.push(
      `${interrupted ? 'Interrupted: ' : ''}some sessions are still sealed with older keys. Nothing is lost; go on with:\n  drawbridge-server keys rotate --reseal-only`,
    )
  }
  return lines
}

const howToAdd = `The ring is in DRAWBRIDGE_SECRET_KEYS, which no command can change. To rotate:
  1. drawbridge-server keys generate, and add what it prints at the end of the ring, on every server; restart them
  2. move it to the front, on every server; restart them
  3. drawbridge-server keys rotate, with the same DRAWBRIDGE_SECRET_KEYS
Or keep the ring in a file that all servers read, DRAWBRIDGE_SECRET_KEYS=file:PATH: then keys rotate does it all, without a restart.`
