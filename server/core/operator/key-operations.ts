import { z } from 'zod'
import type { KeyRing } from '../seal.ts'
import {
  countOf,
  type KeyUse,
  keyUseSchema,
  listKeyUse,
  maxCounted,
  pageSeconds,
  rotateKeyRing,
  rotationSchema,
} from './key-rotation.ts'
import { type Columns, type KeyFile, listText, operation, OperatorRefusal, timeText } from './operation.ts'

/** Rings whose rotation is in progress in this process. */
const rotating = new WeakSet<KeyRing>()

export const rotateKeysOperation = operation({
  summary:
    'Add a new key at the front of the key file, and re-encrypt all sessions while servers run. Takes at least some seconds.',
  input: z.strictObject({}),
  result: rotationSchema,
  routes: [
    {
      id: 'rotateKeys',
      request: 'POST /keys/rotate',
      refusals: {
        409: 'The keys are not in a file, the file cannot be changed, or a rotation is in progress.',
      },
    },
  ],
  command: {
    usage: 'keys rotate',
    examples: ['keys rotate'],
    settings: ['store', 'secretKeys'],
    stops: true,
    text: ({ keys }) => listText(keys, columns, 'No keys.'),
    notes: explain,
  },
  async handle(_input, ports) {
    const { ring, keyFile, note, report } = ports
    if (rotating.has(ring)) {
      throw new OperatorRefusal(409, 'A rotation is in progress. Try again when it has ended.')
    }
    rotating.add(ring)
    try {
      if (!keyFile && ring.keys().length === 1) note(howToAdd)
      const addEntry =
        keyFile &&
        ((entry: string, kid: string) => {
          changeKeys(keyFile, (entries) => [entry, ...entries])
          note(`Added ${kid} to ${keyFile.path}. ${sameFile}`)
        })
      const facts = await rotateKeyRing(ports, addEntry)
      const { ok: _ok, keys: _keys, removable_at: _removableAt, ...counts } = facts
      report('admin_keys_rotated', counts)
      return facts
    } finally {
      rotating.delete(ring)
    }
  },
})

export const listKeysOperation = operation({
  summary: 'List the keys that encrypt the store, and what depends on each.',
  input: z.strictObject({}),
  result: z.object({
    ok: z.boolean().describe('false if the store needs a missing key'),
    keys: z.array(keyUseSchema),
  }),
  command: {
    usage: 'keys list',
    examples: ['keys list', 'keys list --json'],
    settings: ['store', 'secretKeys'],
    text: ({ keys }) => listText(keys, columns, 'No keys.'),
  },
  async handle(_input, { ring, store }) {
    const keys = await listKeyUse({ ring, store })
    return { ok: keys.every(({ role }) => role !== 'missing'), keys }
  },
})

/**
 * Refuses the key that seals, those that the store needs, and any within an hour of the last change of the ring: open sign-in pages
 * are sealed too.
 */
export const removeKeysOperation = operation({
  summary: 'Remove unused keys from the key file.',
  input: z.strictObject({ kids: z.array(z.string()) }),
  result: z.object({
    removed: z.array(z.string()),
    keys: z.array(z.string()).describe('those that are left'),
  }),
  command: {
    usage: 'keys remove <kid...>',
    operand: 'kids',
    examples: ['keys remove k20260101-0a1b2c'],
    settings: ['store', 'secretKeys'],
    text: ({ removed, keys }) => `Removed ${removed.join(', ')}. Left: ${keys.join(', ')}.`,
  },
  async handle({ kids }, { ring, keyFile, store, runtime }) {
    if (!keyFile) {
      throw new OperatorRefusal(
        400,
        'The keys are in DRAWBRIDGE_SECRET_KEYS itself, which no command can change.',
        'Take the entry out of it on every server, once drawbridge-server keys list shows it as unused.',
      )
    }
    const known = ring.keys().map(({ kid }) => kid)
    const unknown = kids.filter((kid) => !known.includes(kid))
    if (unknown.length > 0) {
      throw new OperatorRefusal(
        404,
        `There is no key ${unknown.join(', ')} in the ring, which has ${known.join(', ')}.`,
        'List them: drawbridge-server keys list',
      )
    }
    refuseFirst(kids, known[0] ?? '')
    const used = await store.listSealingKeys()
    const needed = kids.filter((kid) => used.includes(kid))
    if (needed.length > 0) {
      throw new OperatorRefusal(
        409,
        `The store still needs ${needed.join(', ')}.`,
        'drawbridge-server keys rotate, then drawbridge-server keys list',
      )
    }
    const changedAt = keyFile.changedAt()
    if (changedAt + pageSeconds > runtime.now()) {
      throw new OperatorRefusal(
        409,
        `The ring changed less than an hour ago: open sign-in pages may still need ${kids.join(', ')}.`,
        `Try again after ${timeText(changedAt + pageSeconds + 59)}.`,
      )
    }
    changeKeys(keyFile, (entries) => {
      // Another command may have changed the order meanwhile.
      refuseFirst(kids, kidOf(entries[0]))
      return entries.filter((entry) => !kids.includes(kidOf(entry)))
    })
    return { removed: kids, keys: known.filter((kid) => !kids.includes(kid)) }
  },
})

function refuseFirst(kids: readonly string[], first: string): void {
  if (!kids.includes(first)) return
  throw new OperatorRefusal(
    409,
    `${first} is the key that seals.`,
    'Add another in front of it first: drawbridge-server keys rotate',
  )
}

function kidOf(entry: string | undefined): string {
  return entry?.split(':', 1)[0] ?? ''
}

/** Changes the entries of a key file. Refusals of `change` pass unchanged; all other errors become one with a next step. */
function changeKeys(file: KeyFile, change: Parameters<KeyFile['change']>[0]): void {
  try {
    file.change(change)
  } catch (cause) {
    if (cause instanceof OperatorRefusal) throw cause
    throw new OperatorRefusal(
      409,
      `The key file ${file.path} cannot be changed: ${(cause as Error).message}`,
      'Run this as its owner, where it can be written and no other program has it open. Change a mounted secret at its source: drawbridge-server keys generate makes an entry for it.',
    )
  }
}

const columns: Columns<KeyUse> = {
  key: ({ kid }) => kid,
  'sealed sessions': ({ sessions }) => (sessions === maxCounted ? `${maxCounted} or more` : sessions),
  role: ({ role }) => role,
  '': noteOf,
}

function noteOf({ role, sessions, in_use: inUse }: KeyUse): string {
  if (role === 'missing') return 'put it back into the ring: what it sealed cannot be opened without it'
  if (role === 'seals') return ''
  if (!inUse) return 'unused'
  return sessions === 0 ? 'used by sign-ins in progress' : ''
}

function explain(facts: z.output<typeof rotationSchema>): string[] {
  const { added, keys, left, unsettled, unreadable, interrupted, removable_at: removableAt } = facts
  const idle = keys.filter(({ role, in_use: inUse }) => role === 'opens' && !inUse).map(({ kid }) => kid)
  const after = `after ${timeText(removableAt + 59)}: sign-in pages that are open now may be sealed with it for up to an hour`
  return [
    unsettled > 0 &&
      `${countOf(unsettled)} left as found: the outcome of an earlier refresh is not known. The next refresh re-encrypts them.`,
    unreadable > 0 &&
      `${countOf(unreadable)} left as found: no key opens them. Put the missing key back into the ring.`,
    idle.length > 0 &&
      (added === undefined
        ? `Take ${idle.join(', ')} out of DRAWBRIDGE_SECRET_KEYS ${after}.`
        : `Remove unused keys ${after}.\n  drawbridge-server keys remove ${idle.join(' ')}`),
    (left > 0 || interrupted) &&
      `${interrupted ? 'Interrupted: ' : ''}some sessions are still sealed with older keys. Nothing is lost; continue with:\n  drawbridge-server keys rotate`,
  ].filter((line) => line !== false)
}

const sameFile =
  'Every server must read this very file: one that reads a copy answers 503 for re-encrypted sessions until it has the new key.'

const howToAdd =
  'No command can change DRAWBRIDGE_SECRET_KEYS itself. Keep the ring in a file that all servers read, DRAWBRIDGE_SECRET_KEYS=file:PATH, or add by hand what drawbridge-server keys generate prints: docs/commands.md has the steps.'
