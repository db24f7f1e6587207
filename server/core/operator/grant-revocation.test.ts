import { beforeEach, describe, expect, it } from 'vitest'
import { addGrant, grantSample, start } from '../../../tests/support/server/core/grant-sample.ts'
import { openMemoryStore } from '../../store/sqlite/sqlite.ts'
import type { Store } from '../store.ts'
import { createFakeRuntime } from '../../../tests/support/server/fake-runtime.ts'
import { revokeGrant } from './grant-revocation.ts'

const sample = grantSample('a')
const { id } = sample.grant
const runtime = createFakeRuntime(start)
let store: Store

beforeEach(() => {
  store = openMemoryStore()
})

const endOf = async () => (await store.findGrant(id))?.end

describe('an operator who ends a grant', () => {
  it('revokeGrant ends a grant once', async () => {
    await addGrant(store, sample)
    expect(await revokeGrant(id, { store, runtime })).toEqual([sample.grant])
    expect(await endOf()).toEqual({ at: start, reason: 'revoked_by_operator' })
    expect(await revokeGrant(id, { store, runtime })).toEqual([])
  })

  it('revokeGrant ends a waiting grant, whose code is refused then', async () => {
    await store.addAuthorizationCode(sample.code, sample.session)
    expect(await revokeGrant(id, { store, runtime })).toEqual([sample.grant])
    const redemption = await store.redeemAuthorizationCode(sample.code.codeHash, sample.tokens, start)
    expect(redemption.kind).not.toBe('redeemed')
  })

  it('revokeGrant ends a grant whose code is redeemed at the same time', async () => {
    await store.addAuthorizationCode(sample.code, sample.session)
    const racing: Store = {
      ...store,
      async expireCode() {
        await store.redeemAuthorizationCode(sample.code.codeHash, sample.tokens, start)
        return false
      },
    }
    expect(await revokeGrant(id, { store: racing, runtime })).toEqual([sample.grant])
    expect(await endOf()).toEqual({ at: start, reason: 'revoked_by_operator' })
  })

  it('revokeGrant returns undefined for an unknown id', async () => {
    expect(await revokeGrant('unknown', { store, runtime })).toBeUndefined()
  })
})
