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

/** The file is changed within this process, which serves nothing while it waits for another that changes it. */
const keyFileWaitMs = 100

const rotationSchema = z.object({
  ok: z.boolean().describe('whether everything is sealed with the new key that should be'),
  sealing_key: z.string(),
  added: z.string().optional().describe('the id of the new key'),
  resealed: z.int().describe('sessions that were sealed anew'),
  unsettled: z
    .int()
    .describe('sessions whose last refresh has an unknown outcome: their next one seals them anew'),
  unreadable: z.int().describe('sessions that no key opens'),
  left: z.int().describe('sessions that others were at work on to the end'),
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

/** Keys, to rotate: one rotation at a time for each operation that is created. */
export function createRotateOperation(): AdminOperation {
  let isRotating = false
  return adminOperation({
    id: 'rotateKeys',
    method: 'POST',
    path: '/keys/rotate',
    summary:
      'Puts a new key in front of the key file, and seals all sessions anew. It takes some seconds at least.',
    input: z.strictObject({}),
    result: {
      description: 'The keys, and how many sessions were sealed. No key itself.',
      schema: rotationSchema,
    },
    refusals: { 409: 'The keys are in no file, the file cannot be changed, or a rotation is under way.' },
    async handle(_input, admin) {
      if (isRotating) {
        throw new AdminRefusal(409, 'conflict', 'A rotation is under way. Try again when it has ended.')
      }
      isRotating = true
      try {
        const addEntry = (entry: string): void => addToKeyFile(entry, admin)
        const facts = await rotateKeyRing({ ...admin, note: () => {}, addEntry })
        admin.report('admin_keys_rotated', {
          sealing_key: facts.sealing_key,
          added: facts.added,
          resealed: facts.resealed,
          unsettled: facts.unsettled,
          unreadable: facts.unreadable,
          left: facts.left,
          interrupted: facts.interrupted,
        })
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
      'conflict',
      'The keys are in no file, so none can be added. Keep them in one: DRAWBRIDGE_SECRET_KEYS=file:PATH.',
    )
  }
  try {
    changeKeyFile(keyFile, (entries) => [entry, ...entries], { waitMs: keyFileWaitMs })
  } catch (error) {
    const { message } = error as Error
    throw new AdminRefusal(409, 'conflict', `The key file ${keyFile} cannot be changed: ${message}`)
  }
}
