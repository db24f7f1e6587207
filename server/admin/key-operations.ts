import { z } from 'zod'
import { rotateKeyRing } from '../core/operator/key-rotation.ts'
import { changeKeyFile } from '../store/secret-key-file-change.ts'
import {
  type AdminContext,
  type AdminOperation,
  adminOperation,
  AdminRefusal,
  seconds,
} from './admin-operation.ts'

/** The file is changed within this process, which serves nothing while it waits for another process to finish changing it. */
const keyFileWaitMs = 100

const rotationSchema = z.object({
  ok: z.boolean().describe('true if everything that should be is sealed with the new key'),
  sealing_key: z.string(),
  added: z.string().optional().describe('the id of the new key'),
  resealed: z.int().describe('sessions that were re-sealed'),
  unsettled: z
    .int()
    .describe('sessions whose last refresh has an unknown outcome: their next refresh re-seals them'),
  unreadable: z.int().describe('sessions that no key opens'),
  left: z.int().describe('sessions that other processes held until the end'),
  interrupted: z.boolean(),
  keys: z.array(
    z.object({
      kid: z.string(),
      role: z.enum(['seals', 'opens', 'missing']),
      sessions: z.int().describe('counted up to 1000'),
      in_use: z.boolean(),
    }),
  ),
  removable_at: seconds('when keys that are not in use may be removed'),
})

/** Rotates keys: one rotation at a time per created operation. */
export function createRotateOperation(): AdminOperation {
  let isRotating = false
  return adminOperation({
    id: 'rotateKeys',
    method: 'POST',
    path: '/keys/rotate',
    summary:
      'Adds a new key at the front of the key file and re-seals all sessions. Takes at least some seconds.',
    input: z.strictObject({}),
    result: {
      description: 'Key ids and session counts, never a key itself.',
      schema: rotationSchema,
    },
    refusals: {
      409: 'The keys are not in a file, the file cannot be changed, or a rotation is in progress.',
    },
    async handle(_input, admin) {
      if (isRotating) {
        throw new AdminRefusal(409, 'A rotation is in progress. Try again when it has ended.')
      }
      isRotating = true
      try {
        const addEntry = (entry: string): void => addToKeyFile(entry, admin)
        const facts = await rotateKeyRing({ ...admin, note: () => {}, addEntry })
        const { ok: _ok, keys: _keys, removable_at: _removableAt, ...counts } = facts
        admin.report('admin_keys_rotated', counts)
        return facts
      } finally {
        isRotating = false
      }
    },
  })
}

function addToKeyFile(entry: string, { keyFile }: AdminContext): void {
  if (keyFile === undefined) {
    throw new AdminRefusal(
      409,
      'The keys are not in a file, so none can be added. Keep them in one: DRAWBRIDGE_SECRET_KEYS=file:PATH.',
    )
  }
  try {
    changeKeyFile(keyFile, (entries) => [entry, ...entries], { waitMs: keyFileWaitMs })
  } catch (error) {
    const { message } = error as Error
    throw new AdminRefusal(409, `The key file ${keyFile} cannot be changed: ${message}`)
  }
}
