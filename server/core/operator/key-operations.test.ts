import { beforeEach, expect, it } from 'vitest'
import { openMemoryStore } from '../../store/sqlite/sqlite.ts'
import { fixedKeyRing } from '../seal.ts'
import type { Store } from '../store.ts'
import { start } from '../../../tests/support/server/core/grant-sample.ts'
import { sampleKey } from '../../../tests/support/server/core/keeper-fixture.ts'
import { createFakeRuntime } from '../../../tests/support/server/fake-runtime.ts'
import { removeKeysOperation } from './key-operations.ts'
import { type KeyFile, type OperatorPorts, OperatorRefusal } from './operation.ts'

let store: Store
beforeEach(() => {
  store = openMemoryStore()
})

/** A key file that was last written two hours ago; \`entries\` are what it has by the time it is changed. */
function fileWith(entries: readonly string[]): KeyFile & { entries: readonly string[] } {
  return {
    path: '/srv/secret-keys',
    changedAt: () => start - 7200,
    entries,
    change(edit) {
      this.entries = edit(this.entries)
    },
  }
}

/** Removes a key from the ring \`new,old\`. */
const remove = (kids: readonly string[], keyFile: KeyFile | undefined): Promise<object> =>
  removeKeysOperation.handle({ kids }, {
    store,
    ring: fixedKeyRing([sampleKey('new', 1), sampleKey('old', 2)]),
    keyFile,
    runtime: createFakeRuntime(start),
  } as Partial<OperatorPorts> as OperatorPorts)

it('removeKeys removes the entry of an unused key, and keeps the order of the others', async () => {
  const file = fileWith(['newest:a', 'new:b', 'old:c'])
  expect(await remove(['old'], file)).toEqual({ removed: ['old'], keys: ['new'] })
  expect(file.entries).toEqual(['newest:a', 'new:b'])
})

it('removeKeys refuses a key that another command has put first meanwhile, and leaves the file', async () => {
  const file = fileWith(['old:c', 'new:b'])
  const refused = remove(['old'], file)
  await expect(refused).rejects.toMatchObject({ status: 409, message: 'old is the key that seals.' })
  expect(file.entries).toEqual(['old:c', 'new:b'])
})

it('removeKeys reports a file that cannot be written as a conflict, with the next step', async () => {
  const file = fileWith([])
  file.change = () => {
    throw new Error('EROFS: read-only file system')
  }
  const refusal: unknown = await remove(['old'], file).catch((error: unknown) => error)
  expect(refusal).toBeInstanceOf(OperatorRefusal)
  expect(refusal).toMatchObject({
    status: 409,
    message: expect.stringContaining('/srv/secret-keys cannot be changed: EROFS') as string,
    nextStep: expect.stringContaining('keys generate') as string,
  })
})

it('removeKeys says where keys are that no command can change', async () => {
  await expect(remove(['old'], undefined)).rejects.toMatchObject({
    status: 400,
    message: expect.stringContaining('DRAWBRIDGE_SECRET_KEYS') as string,
  })
})
