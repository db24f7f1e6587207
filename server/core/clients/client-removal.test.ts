import { expect, it } from 'vitest'
import { createFakeRuntime } from '../../../tests/support/server/fake-runtime.ts'
import { removeClientWithGrants } from './client-removal.ts'
import type { Grant } from '../session/grant.ts'

/** Creates a store with `before` grants of the client, and `meanwhile` more while it is being removed. */
function createStore(before: number, meanwhile = 0) {
  let left = before
  let exists = true
  const steps: string[] = []
  return {
    steps,
    store: {
      async endGrants(of: object, reason: string, page: { limit: number }): Promise<Grant[]> {
        const ended = Math.min(left, page.limit)
        left -= ended
        steps.push(`end ${JSON.stringify(of)} ${reason} ${ended}`)
        return Array.from({ length: ended }, () => ({}) as Grant)
      },
      async removeClient() {
        steps.push('remove')
        left += meanwhile
        const existed = exists
        exists = false
        return existed
      },
    },
  }
}

it('a client removal ends all grants, removes the client, and ends what began meanwhile', async () => {
  const { store, steps } = createStore(201, 1)
  const runtime = createFakeRuntime()
  expect(await removeClientWithGrants('a', { store, runtime })).toEqual({ removed: true, grantsEnded: 202 })
  const of = '{"clientId":"a"} client_removed'
  expect(steps).toEqual([`end ${of} 100`, `end ${of} 100`, `end ${of} 1`, 'remove', `end ${of} 1`])
})

it('a client removal reports an unknown client', async () => {
  const { store } = createStore(0)
  const ports = { store, runtime: createFakeRuntime() }
  await removeClientWithGrants('a', ports)
  expect(await removeClientWithGrants('a', ports)).toEqual({ removed: false, grantsEnded: 0 })
})
