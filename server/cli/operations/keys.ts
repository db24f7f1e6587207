import { statSync } from 'node:fs'
import { z } from 'zod'
import { changeKeys, keyTable } from '../../core/operator/key-operations.ts'
import { keyUseSchema, listKeyUse, pageSeconds } from '../../core/operator/key-rotation.ts'
import { operation, OperatorRefusal, timeText } from '../../core/operator/operation.ts'
import type { CommandPorts } from './command-ports.ts'

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
    text: ({ keys }, _input, colour) => ({ text: keyTable(keys, colour) }),
  },
  async handle(_input, { ring, store }: CommandPorts) {
    const keys = await listKeyUse(ring, store)
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
    text: ({ removed, keys }) => ({ text: `Removed ${removed.join(', ')}. Left: ${keys.join(', ')}.` }),
  },
  async handle({ kids }, { ring, keyFile, store, runtime }: CommandPorts) {
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
    const changedAt = Math.floor(statSync(keyFile.path).mtimeMs / 1000)
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
