import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { tokenKey } from '../server/core/tokens/token-issue.ts'
import { openSqliteStore } from '../server/store/sqlite/sqlite.ts'
import {
  addGrant,
  grantSample,
  rotationTerms,
  start,
  successorSample,
} from '../tests/support/server/core/grant-sample.ts'
import { filledRefreshToken, fillStore } from './store-fill.ts'

const count = 50
let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'drawbridge-fill-'))
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

describe('fillStore', () => {
  it('every copy is a grant of its own that the server can refresh, and that goes when it has expired', async () => {
    const path = join(folder, 'server.db')
    const first = openSqliteStore(path)
    const { grant } = await addGrant(first, grantSample('original'))
    await first.close()
    fillStore(path, count)
    const store = openSqliteStore(path)
    const options = rotationTerms(start + 10)
    const ids = new Set([grant.id])
    for (let number = 0; number < count; number += 1) {
      const hash = tokenKey(filledRefreshToken(number))
      const found = await store.findRefreshToken(hash)
      expect(found).toMatchObject({ grant: { clientId: grant.clientId }, endReason: undefined })
      const id = found?.grant.id ?? ''
      ids.add(id)
      expect(await store.findProviderSession(id)).toMatchObject({ grantId: id })
      const rotated = await store.rotateRefreshToken(hash, successorSample(`copy ${number}`), options)
      expect(rotated).toEqual({ kind: 'rotated' })
    }
    expect(ids.size).toBe(count + 1)
    while ((await store.collectExpired(grant.expiresAt + 1, 100)) > 0);
    expect(await store.findRefreshToken(tokenKey(filledRefreshToken(0)))).toBeUndefined()
    expect(await store.findRefreshToken(tokenKey(filledRefreshToken(count - 1)))).toBeUndefined()
    await store.close()
  })

  it('refuses a store with more than the one connection to copy', async () => {
    const path = join(folder, 'server.db')
    const store = openSqliteStore(path)
    await addGrant(store, grantSample('one'))
    await addGrant(store, grantSample('two'))
    await store.close()
    expect(() => fillStore(path, 1)).toThrow('2 rows')
  })
})
