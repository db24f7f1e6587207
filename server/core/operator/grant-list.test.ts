import { beforeEach, describe, expect, it } from 'vitest'
import { openMemoryStore } from '../../store/sqlite/sqlite.ts'
import type { Store } from '../store.ts'
import { addGrant, grantSample, start } from '../../../tests/support/server/core/grant-sample.ts'
import { createFakeRuntime } from '../../../tests/support/server/fake-runtime.ts'
import { listGrants } from './grant-list.ts'

const now = start + 60

let store: Store
beforeEach(() => {
  store = openMemoryStore()
})

const person = (sub: string) => ({
  user: { id: `https://provider#${sub}`, sub, email: `${sub}@example.com`, name: undefined },
})

const everybody = { all: false }

/** Reads all pages of `limit` grants, by id. */
async function pagesOf(limit: number, choice: { user?: string; client?: string; all?: boolean } = {}) {
  const pages: string[][] = []
  for (let after: string | undefined = ''; after !== undefined && pages.length < 50;) {
    const ports = { store, providerIssuer: 'https://provider', runtime: createFakeRuntime(now) }
    const { grants, next } = await listGrants({ ...everybody, ...choice, after, limit }, ports)
    pages.push(grants.map(({ id }) => id.replace('grant ', '')))
    after = next
  }
  return pages
}

async function addWaiting(name: string, grant: object = {}): Promise<void> {
  const { code, session } = grantSample(name, grant)
  await store.addAuthorizationCode({ ...code, expiresAt: now + 60 }, session)
}

describe('a list of grants', () => {
  it('listGrants pages by id, each grant once', async () => {
    for (const name of ['c', 'a', 'e', 'B', 'd']) await addGrant(store, grantSample(name))
    expect(await pagesOf(2)).toEqual([['B', 'a'], ['c', 'd'], ['e']])
    expect(await pagesOf(5)).toEqual([['B', 'a', 'c', 'd', 'e']])
  })

  it('listGrants includes waiting grants, and ended ones with all', async () => {
    await addGrant(store, grantSample('a'))
    await addWaiting('b')
    await addGrant(store, grantSample('c'))
    await addGrant(store, grantSample('d'))
    await store.endGrant('grant c', 'code_reuse', start)
    expect(await pagesOf(1)).toEqual([['a'], ['b'], ['d']])
    expect(await pagesOf(1, { all: true })).toEqual([['a'], ['b'], ['c'], ['d']])
  })

  it('listGrants pages over several users with one address', async () => {
    const shared = { email: 'team@example.com' }
    for (const [index, name] of ['a', 'b', 'c', 'd', 'e'].entries()) {
      const { user } = person(index % 2 ? 'bob' : 'ann')
      await addGrant(store, grantSample(name, { user: { ...user, ...shared } }))
    }
    await addGrant(store, grantSample('f', person('eve')))
    await addWaiting('bb', person('ann'))
    expect(await pagesOf(2, { user: 'team@example.com' })).toEqual([
      ['a', 'b'],
      ['bb', 'c'],
      ['d', 'e'],
    ])
  })

  it('findUsers finds a user by the address of a waiting grant', async () => {
    await addWaiting('a', person('new'))
    await addWaiting('b', person('other'))
    expect(await pagesOf(5, { user: 'New@Example.com' })).toEqual([['a']])
  })

  it('listGrants yields between two reads of a long list', async () => {
    for (let index = 0; index < 450; index += 1) await addGrant(store, grantSample(`${index}`))
    let turns = 0
    const sleep = async (): Promise<void> => void (turns += 1)
    const ports = { store, providerIssuer: 'https://provider', runtime: { ...createFakeRuntime(now), sleep } }
    await listGrants({ ...everybody, user: 'nobody@example.com', limit: 9 }, ports)
    expect(turns).toBe(2)
  })

  it('listGrants lists a grant once if its tokens are fetched meanwhile', async () => {
    const { code, session, tokens } = grantSample('a')
    await store.addAuthorizationCode({ ...code, expiresAt: now + 60 }, session)
    const racing: Store = {
      ...store,
      async listUnredeemedCodes(of, page) {
        const codes = await store.listUnredeemedCodes(of, page)
        await store.redeemAuthorizationCode(code.codeHash, tokens, now)
        return codes
      },
    }
    const ports = { store: racing, providerIssuer: 'https://provider', runtime: createFakeRuntime(now) }
    const { grants } = await listGrants({ ...everybody, limit: 9 }, ports)
    expect(grants).toMatchObject([{ id: 'grant a', state: 'live' }])
  })
})
