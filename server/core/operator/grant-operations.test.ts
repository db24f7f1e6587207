import { beforeEach, describe, expect, it } from 'vitest'
import { openMemoryStore } from '../../store/sqlite/sqlite.ts'
import type { Store } from '../store.ts'
import { fixedKeyRing } from '../seal.ts'
import {
  addGrant,
  grantSample,
  grantSeconds,
  start,
} from '../../../tests/support/server/core/grant-sample.ts'
import { sampleKey } from '../../../tests/support/server/core/keeper-fixture.ts'
import { createFakeRuntime } from '../../../tests/support/server/fake-runtime.ts'
import { listGrantsOperation } from './grant-operations.ts'
import { revokeGrantsOperation } from './grant-revocation.ts'
import type { OperatorPorts } from './operation.ts'

const now = start + 60

let store: Store
beforeEach(() => {
  store = openMemoryStore()
})

const person = (sub: string) => ({
  user: { id: `https://provider#${sub}`, sub, email: `${sub}@example.com`, name: undefined },
})

async function* noLines(): AsyncGenerator<string> {}

/** Opens the ports of an operation that are used with grants. */
function portsOf(given: Partial<OperatorPorts> = {}): OperatorPorts {
  const runtime = createFakeRuntime(now)
  const unused = { configured: new Map(), ring: fixedKeyRing([sampleKey('one', 1)]), keyFile: undefined }
  const quiet = { report: () => {}, note: () => {}, isStopped: () => false, auditLines: noLines }
  return { store, providerIssuer: 'https://provider', runtime, ...unused, ...quiet, ...given }
}

interface Page {
  grants: { id: string; state: string }[]
  next?: string
}

const listGrants = (choice: object, ports: Partial<OperatorPorts> = {}): Promise<Page> =>
  listGrantsOperation.handle({ all: false, ...choice }, portsOf(ports)) as Promise<Page>

/** Reads all pages of `limit` grants, by id. */
async function pagesOf(limit: number, choice: { user?: string; client?: string; all?: boolean } = {}) {
  const pages: string[][] = []
  for (let after: string | undefined = ''; after !== undefined && pages.length < 50;) {
    const { grants, next }: Page = await listGrants({ ...choice, after, limit })
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

  it('listGrants lists a live grant before more waiting ones than a page holds', async () => {
    await addWaiting('y')
    await addWaiting('z')
    await addGrant(store, grantSample('a'))
    expect(await pagesOf(1)).toEqual([['a'], ['y'], ['z']])
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

  it('listGrants finds a user by the address of a waiting grant', async () => {
    await addWaiting('a', person('new'))
    await addWaiting('b', person('other'))
    expect(await pagesOf(5, { user: 'New@Example.com' })).toEqual([['a']])
  })

  it('listGrants yields between two reads of a long list', async () => {
    for (let index = 0; index < 450; index += 1) await addGrant(store, grantSample(`${index}`))
    let turns = 0
    const sleep = async (): Promise<void> => void (turns += 1)
    const runtime = { ...createFakeRuntime(start + grantSeconds), sleep }
    expect(await listGrants({ limit: 9 }, { runtime })).toMatchObject({ grants: [] })
    expect(turns).toBe(2)
  })

  it.each([{}, { user: 'A@example.com' }])(
    'listGrants %o lists a grant once if its tokens are fetched meanwhile',
    async (choice) => {
      const { code, session, tokens } = grantSample('a')
      await store.addAuthorizationCode({ ...code, expiresAt: now + 60 }, session)
      let fetched: Promise<unknown> | undefined
      const meanwhile = async <Found>(found: Promise<Found>): Promise<Found> => {
        await found
        await (fetched ??= store.redeemAuthorizationCode(code.codeHash, tokens, now))
        return found
      }
      const racing: Store = {
        ...store,
        listUnredeemedCodes: (of, page) => meanwhile(store.listUnredeemedCodes(of, page)),
        findUsers: (address) => meanwhile(store.findUsers(address)),
      }
      const { grants } = await listGrants({ ...choice, limit: 9 }, { store: racing })
      expect(grants).toMatchObject([{ id: 'grant a', state: 'live' }])
    },
  )
})

describe('revoking one grant', () => {
  const sample = grantSample('a')
  const { id } = sample.grant
  const revoke = async (grantId: string, ports: Partial<OperatorPorts> = {}): Promise<unknown> =>
    revokeGrantsOperation.handle({ id: grantId }, portsOf(ports))
  const endOf = async () => (await store.findGrant(id))?.end
  const expected = { revoked: 1, grants: [id] }

  it('revokeGrants ends a grant once', async () => {
    await addGrant(store, sample)
    expect(await revoke(id)).toEqual(expected)
    expect(await endOf()).toEqual({ at: now, reason: 'revoked_by_operator' })
    expect(await revoke(id)).toEqual({ revoked: 0, grants: [] })
  })

  it('revokeGrants ends a waiting grant, whose code is refused then', async () => {
    await addWaiting('a')
    expect(await revoke(id)).toEqual(expected)
    const redemption = await store.redeemAuthorizationCode(sample.code.codeHash, sample.tokens, now)
    expect(redemption.kind).toBe('expired')
  })

  it('revokeGrants ends a grant whose code is redeemed at the same time', async () => {
    await addWaiting('a')
    const racing: Store = {
      ...store,
      async expireCode() {
        await store.redeemAuthorizationCode(sample.code.codeHash, sample.tokens, now)
        return false
      },
    }
    expect(await revoke(id, { store: racing })).toEqual(expected)
    expect(await endOf()).toEqual({ at: now, reason: 'revoked_by_operator' })
  })

  it('revokeGrants refuses an unknown id', async () => {
    await expect(revoke('unknown')).rejects.toMatchObject({ status: 404 })
  })
})

describe('revoking the grants of a choice', () => {
  const revokeOf = (choice: object): Promise<unknown> =>
    revokeGrantsOperation.handle({ yes: false, ...choice }, portsOf())

  it.each([
    ['one grant', { user: 'a' }],
    ['no grant', { user: 'nobody' }],
  ])('revokeGrants asks for no confirmation where a choice has %s', async (_what, choice) => {
    await addGrant(store, grantSample('a', person('a')))
    const ended = choice.user === 'a' ? ['grant a'] : []
    expect(await revokeOf(choice)).toEqual({ revoked: ended.length, grants: ended })
  })

  it.each([[{}], [{ user: 'a', client: 'client a' }], [{ id: 'grant a', user: 'a' }]])(
    'revokeGrants ends nothing for the choice %j, which is none or two',
    async (choice) => {
      await addGrant(store, grantSample('a', person('a')))
      await expect(revokeOf({ ...choice, yes: true })).rejects.toMatchObject({ status: 400 })
      expect((await store.findGrant('grant a'))?.end).toBeUndefined()
    },
  )
})
