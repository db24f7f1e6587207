import { beforeEach, describe, expect, it } from 'vitest'
import type { Grant, GrantChoice, GrantRecord, GrantUse } from '../../../server/core/session/grant.ts'
import {
  addGrant,
  dueSignOuts,
  type GrantSample,
  grantSample,
  grantSeconds,
  start,
} from '../server/core/grant-sample.ts'
import type { StoreInstances } from './instances.ts'

const person = (name: string): Grant['user'] => ({
  id: `p#${name}`,
  sub: name,
  email: undefined,
  name: undefined,
})

/** Store contract: grants that users list and end. */
export function describeGrantRecords(instances: StoreInstances): void {
  describeLists(instances)
  describeUses(instances)
  describeEndings(instances)
  describeChoices(instances)
}

const sales = { id: 'sales', name: 'Sales <Ü> \u202e' }
const wide: GrantChoice = { scope: 'mcp notes:read notes:write', workspace: undefined }

function describeChoices({ store, race }: StoreInstances): void {
  const choiceOf = async (): Promise<unknown> => {
    const { scope, workspace } = (await store().findGrant('grant a'))?.grant ?? {}
    return { scope, workspace }
  }

  describe('choices of grants', () => {
    it('the store keeps the workspace of a code, of its grant and of its tokens', async () => {
      const { grant, code, session, tokens } = grantSample('a', { workspace: sales })
      await store().addAuthorizationCode(code, session)
      expect((await store().findAuthorizationCode(code.codeHash))?.grant).toStrictEqual(grant)
      await store().redeemAuthorizationCode(code.codeHash, tokens, start)
      expect((await store().findGrant(grant.id))?.grant).toStrictEqual(grant)
      expect((await store().findAccessToken(tokens.accessHash, start))?.grant).toStrictEqual(grant)
      expect((await store().findRefreshToken(tokens.refreshHash))?.grant).toStrictEqual(grant)
      expect(await store().endGrants({ userId: grant.user.id }, 'code_reuse', page)).toStrictEqual([grant])
    })

    it.each<[what: string, from: GrantChoice, to: GrantChoice]>([
      ['a narrower scope', wide, { ...wide, scope: 'mcp' }],
      ['a first workspace', wide, { ...wide, workspace: sales }],
      ['another workspace', { ...wide, workspace: sales }, { ...wide, workspace: { id: 'b', name: 'B' } }],
      ['no workspace', { ...wide, workspace: sales }, wide],
      ['both', { ...wide, workspace: sales }, { scope: 'mcp', workspace: { id: 'b', name: '' } }],
    ])('the store changes the choice of a grant at once, for its tokens too: %s', async (_what, from, to) => {
      const { grant, tokens } = await addGrant(store(), grantSample('a', from))
      const other = await addGrant(store(), grantSample('b', from))
      expect(await store().changeGrant({ grantId: grant.id, from, to }, start)).toBe(true)
      expect((await store().findAccessToken(tokens.accessHash, start))?.grant).toStrictEqual({
        ...grant,
        ...to,
      })
      expect((await store().findRefreshToken(tokens.refreshHash))?.grant).toStrictEqual({ ...grant, ...to })
      expect((await store().findGrant(other.grant.id))?.grant).toStrictEqual(other.grant)
    })

    it.each<[what: string, from: GrantChoice]>([
      ['of another scope', { ...wide, scope: 'mcp', workspace: sales }],
      ['of another workspace', { ...wide, workspace: { id: 'Sales', name: sales.name } }],
      ['of none', wide],
    ])('the store changes no grant whose choice is another one meanwhile: %s', async (_what, from) => {
      await addGrant(store(), grantSample('a', { ...wide, workspace: sales }))
      const to = { scope: 'mcp', workspace: undefined }
      expect(await store().changeGrant({ grantId: 'grant a', from, to }, start)).toBe(false)
      expect(await choiceOf()).toStrictEqual({ ...wide, workspace: sales })
    })

    it('the store changes no ended, expired or unknown grant', async () => {
      const to = { scope: 'mcp', workspace: undefined }
      const change = { grantId: 'grant a', from: wide, to }
      expect(await store().changeGrant(change, start)).toBe(false)
      await addGrant(store(), grantSample('a', wide))
      expect(await store().changeGrant(change, start + grantSeconds)).toBe(false)
      await store().endGrant('grant a', 'revoked_by_user', start)
      expect(await store().changeGrant(change, start)).toBe(false)
      expect(await choiceOf()).toStrictEqual(wide)
    })

    it('of several changes at once that begin at one choice, exactly one succeeds', async () => {
      await addGrant(store(), grantSample('a', wide))
      const results = await race((each, index) => {
        const to = { scope: index % 2 ? 'mcp' : 'mcp notes:read', workspace: { id: `${index}`, name: 'W' } }
        return each.changeGrant({ grantId: 'grant a', from: wide, to }, start)
      })
      expect(results.filter(Boolean)).toHaveLength(1)
      const winner = results.indexOf(true)
      expect(await choiceOf()).toStrictEqual({
        scope: winner % 2 ? 'mcp' : 'mcp notes:read',
        workspace: { id: `${winner}`, name: 'W' },
      })
    })
  })
}

const page = { now: start, limit: 9 }

function describeLists({ store }: StoreInstances): void {
  const list = async (of: Parameters<StoreLists>[0], after = '', limit = 100): Promise<string[]> =>
    (await store().listGrants(of, { after, limit })).map(({ grant }) => grant.id)

  describe('lists of grants', () => {
    it('the store lists grants of a user, of a client or all, by id, page by page', async () => {
      for (const [index, id] of ['d', 'a', 'B', 'c', 'e'].entries()) {
        const user = person(index % 2 ? 'bob' : 'ann')
        await addGrant(store(), grantSample(id, { id, user, clientId: index < 3 ? 'one' : 'two' }))
      }
      expect(await list(undefined)).toEqual(['B', 'a', 'c', 'd', 'e'])
      expect(await list(undefined, 'a', 2)).toEqual(['c', 'd'])
      expect(await list({ userId: 'p#ann' })).toEqual(['B', 'd', 'e'])
      expect(await list({ userId: 'p#ann' }, 'B', 1)).toEqual(['d'])
      expect(await list({ clientId: 'one' })).toEqual(['B', 'a', 'd'])
      expect(await list({ clientId: 'two' }, 'c')).toEqual(['e'])
      expect(await list({ clientId: 'two' }, 'e')).toEqual([])
    })

    it('the store finds the users of an address, in any case of its ASCII letters, ended grants included', async () => {
      const long = `${'é'.repeat(3000)}@example.com`
      const addresses = [
        'ann@example.com',
        'Ann@Example.COM',
        'ÄNN@example.com',
        undefined,
        long,
        `${long}.net`,
      ]
      for (const [number, email] of addresses.entries())
        await addGrant(store(), grantSample(`${number}`, { user: { ...person(`${number}`), email } }))
      await addGrant(store(), grantSample('more', { user: { ...person('0'), email: 'ann@example.com' } }))
      await store().endGrant('grant 1', 'revoked_by_user', start)
      const find = async (address: string): Promise<string[]> => (await store().findUsers(address)).toSorted()
      expect(await find('ann@example.com')).toEqual(['p#0', 'p#0', 'p#1'])
      expect(await find('Änn@example.com')).toEqual(['p#2'])
      expect(await find('änn@example.com')).toEqual([])
      expect(await find('ann@example.co')).toEqual([])
      expect(await find(long)).toEqual(['p#4'])
      expect(await find('')).toEqual([])
    })

    it('lists of grants show when and why a grant ended, until it is collected', async () => {
      const a = await addGrant(store(), grantSample('a', { clientId: 'one' }))
      const b = await addGrant(store(), grantSample('b', { clientId: 'one' }))
      const c = await addGrant(store(), grantSample('c', { clientId: 'one' }))
      await store().endGrant(a.grant.id, 'revoked_by_user', start + 5)
      await store().endRefusedSession(
        { grantId: b.grant.id, version: 1 },
        'provider_session_ended',
        start + 6,
      )
      const unused = { lastUse: undefined, twoAddresses: undefined, replays: undefined }
      const expected: GrantRecord[] = [
        { grant: a.grant, ...unused, end: { at: start + 5, reason: 'revoked_by_user' } },
        { grant: b.grant, ...unused, end: { at: start + 6, reason: 'provider_session_ended' } },
        { grant: c.grant, ...unused, end: undefined },
      ]
      await store().collectExpired(start + grantSeconds - 1, 500)
      expect(await store().listGrants({ clientId: 'one' }, { after: '', limit: 9 })).toStrictEqual(expected)
      expect(await store().listGrants(undefined, { after: '', limit: 9 })).toStrictEqual(expected)
      for (const record of expected) {
        expect(await store().findGrant(record.grant.id)).toStrictEqual(record)
      }
      while ((await store().collectExpired(start + grantSeconds, 500)) > 0);
      expect(await list({ clientId: 'one' })).toEqual([])
      expect(await store().findGrant(a.grant.id)).toBeUndefined()
    })
  })
}

type StoreLists = ReturnType<StoreInstances['store']>['listGrants']

function describeUses({ store, race }: StoreInstances): void {
  const use = (name: string, after: number, address?: string, part: Partial<GrantUse> = {}): GrantUse => ({
    grantId: `grant ${name}`,
    usedAt: start + after,
    address,
    ...part,
  })
  const pair = (first: string, after: number): Pick<GrantUse, 'twoAddresses'> => ({
    twoAddresses: { addresses: [first, 'other'], at: start + after },
  })
  const lastUse = async (name: string): Promise<unknown> =>
    (await store().findGrant(`grant ${name}`))?.lastUse

  describe('uses of grants', () => {
    beforeEach(async () => {
      await addGrant(store(), grantSample('a'))
      await addGrant(store(), grantSample('b'))
    })

    it('the store records uses of many grants at once, and changes nothing else of them', async () => {
      await store().recordGrantUses([use('a', 5, '192.0.2.1'), use('b', 6)])
      expect(await store().findGrant('grant a')).toStrictEqual({
        grant: grantSample('a').grant,
        lastUse: { usedAt: start + 5, address: '192.0.2.1', tool: undefined },
        twoAddresses: undefined,
        replays: undefined,
        end: undefined,
      })
      expect(await lastUse('b')).toStrictEqual({ usedAt: start + 6, address: undefined, tool: undefined })
      expect(await store().findAccessToken('access a 1', start)).toBeDefined()
    })

    it.each([
      ['in one batch, the later first', [[use('a', 2, 'y'), use('a', 1, 'x')]], 'y'],
      ['in two, the later last', [[use('a', 1, 'x')], [use('a', 2, 'y')]], 'y'],
      ['in two, the later first', [[use('a', 2, 'y')], [use('a', 1, 'x')]], 'y'],
      ['in one, of the same second', [[use('a', 2, 'x'), use('a', 2, 'y')]], 'y'],
      ['in two, of the same second', [[use('a', 2, 'x')], [use('a', 2, 'y')]], 'y'],
      ['and an address that is not known any more', [[use('a', 1, 'x')], [use('a', 2)]], undefined],
    ])('the later use of a grant stays: %s', async (_what, batches, address) => {
      for (const batch of batches) await store().recordGrantUses(batch)
      expect(await lastUse('a')).toStrictEqual({ usedAt: start + 2, address, tool: undefined })
      expect(await lastUse('b')).toBeUndefined()
    })

    it.each<[what: string, batches: GrantUse[][], tool: string]>([
      ['of the later use', [[use('a', 1, 'x', { tool: 's' })], [use('a', 2, 'x', { tool: 't' })]], 't'],
      ['not of a late note', [[use('a', 2, 'x', { tool: 't' })], [use('a', 1, 'x', { tool: 's' })]], 't'],
      ['before one without', [[use('a', 1, 'x', { tool: 't' })], [use('a', 2, 'x')]], 't'],
      ['before one without, in one batch', [[use('a', 2, 'x'), use('a', 1, 'x', { tool: 't' })]], 't'],
    ])('a grant keeps its last tool: that %s', async (_what, batches, tool) => {
      for (const batch of batches) await store().recordGrantUses(batch)
      expect(await lastUse('a')).toStrictEqual({ usedAt: start + 2, address: 'x', tool })
    })

    it.each<[what: string, batches: GrantUse[][]]>([
      ['the later last', [[use('a', 1, 'x', pair('p', 1))], [use('a', 3, 'x', pair('q', 2))]]],
      ['the later first', [[use('a', 2, 'x', pair('q', 2))], [use('a', 3, 'x', pair('p', 1))]]],
      ['of the same second', [[use('a', 2, 'x', pair('p', 2))], [use('a', 3, 'x', pair('q', 2))]]],
      ['in one batch', [[use('a', 3, 'x', pair('p', 1)), use('a', 2, 'x', pair('q', 2))]]],
      ['and a use without', [[use('a', 2, 'x', pair('q', 2))], [use('a', 3, 'x')]]],
      ['and a later use that is known', [[use('a', 3, 'x')], [use('a', 2, 'y', pair('q', 2))]]],
    ])('a grant keeps the later two addresses: %s', async (_what, batches) => {
      for (const batch of batches) await store().recordGrantUses(batch)
      const record = await store().findGrant('grant a')
      expect(record?.twoAddresses).toStrictEqual({ addresses: ['q', 'other'], at: start + 2 })
      expect(record?.lastUse?.address).toBe('x')
      expect((await store().findGrant('grant b'))?.twoAddresses).toBeUndefined()
    })

    it('the store ignores uses of unknown and ended grants', async () => {
      await store().endGrant('grant b', 'code_reuse', start)
      await store().recordGrantUses([])
      await store().recordGrantUses([use('nothing', 1), use('a', 2), use('', 3), use('b', 4), use('A', 5)])
      expect(await lastUse('a')).toEqual({ usedAt: start + 2, address: undefined })
      expect(await store().findGrant('grant b')).toMatchObject({ end: { at: start, reason: 'code_reuse' } })
      expect(await store().findGrant('grant nothing')).toBeUndefined()
      expect(await store().listGrants(undefined, { after: '', limit: 9 })).toHaveLength(2)
    })

    it('fifty batches of uses at once, each in another order: the latest stays', async () => {
      await race((each, index) => {
        const part = { tool: `t${index}`, ...pair(`p${index}`, index) }
        const uses = [use('a', index, `${index}`, part), use('b', index, `${index}`, part)]
        return each.recordGrantUses(index % 2 ? uses : uses.toReversed())
      })
      for (const name of ['a', 'b']) {
        expect(await store().findGrant(`grant ${name}`)).toMatchObject({
          lastUse: { usedAt: start + 49, address: '49', tool: 't49' },
          twoAddresses: { addresses: ['p49', 'other'], at: start + 49 },
        })
      }
    })
  })
}

function describeEndings({ store, race }: StoreInstances): void {
  const user = person('ann')
  const add = (name: string, grant: Partial<Grant> = {}): Promise<GrantSample> =>
    addGrant(store(), grantSample(name, { user, clientId: 'one', ...grant }))
  const page = { now: start + 5, limit: 100 }
  const idsOf = (grants: readonly Grant[]): string[] => grants.map(({ id }) => id).sort()

  describe('all grants of a user', () => {
    it.each([
      ['a user', { userId: 'p#ann' }, ['grant a', 'grant b'], 'grant c'],
      ['a client', { clientId: 'one' }, ['grant a', 'grant c'], 'grant b'],
    ])('all grants of %s end, as each by itself', async (_whose, of, ended, other) => {
      const samples = [
        await add('a'),
        await add('b', { clientId: 'two' }),
        await add('c', { user: person('bob') }),
      ]
      const answered = await store().endGrants(of, 'revoked_by_operator', page)
      expect(idsOf(answered)).toEqual(ended)
      for (const { grant, tokens, session } of samples) {
        const lives = grant.id === other
        if (!lives) expect(answered).toContainEqual(grant)
        expect((await store().findAccessToken(tokens.accessHash, start + 5)) !== undefined).toBe(lives)
        expect((await store().findProviderSession(grant.id)) !== undefined).toBe(lives)
        expect((await store().findGrant(grant.id))?.end).toEqual(
          lives ? undefined : { at: start + 5, reason: 'revoked_by_operator' },
        )
        expect(
          (await dueSignOuts(store(), start + 5)).some(({ grantId }) => grantId === session.grantId),
        ).toBe(!lives)
      }
    })

    it('ending all grants leaves ended and expired ones alone: their first reason stays, and nothing is due twice', async () => {
      await add('a')
      await add('b', { expiresAt: start + 5 })
      await add('c', { expiresAt: start + 6 })
      await store().endGrant('grant a', 'code_reuse', start)
      await store().removeSignOut('grant a')
      const ended = await store().endGrants({ userId: user.id }, 'revoked_by_user', page)
      expect(idsOf(ended)).toEqual(['grant c'])
      expect((await store().findGrant('grant a'))?.end).toEqual({ at: start, reason: 'code_reuse' })
      expect((await store().findGrant('grant b'))?.end).toBeUndefined()
      expect((await dueSignOuts(store(), start + 5)).map(({ grantId }) => grantId)).toEqual(['grant c'])
      expect(await store().endGrants({ userId: user.id }, 'revoked_by_user', page)).toEqual([])
    })

    it('fifty single ends, uses and ends of all at once: every grant ends once', async () => {
      for (let index = 0; index < 10; index += 1) await add(`${index}`)
      const answers = await race(async (each, index) => {
        const grantId = `grant ${index % 10}`
        if (index % 5 === 0) await each.recordGrantUses([{ grantId, usedAt: start + 1, address: 'x' }])
        if (index % 3 === 0) await each.endGrant(grantId, 'code_reuse', start + 5)
        const of = index % 2 ? { userId: user.id } : { clientId: 'one' }
        return each.endGrants(of, 'client_removed', { ...page, limit: 2 })
      })
      const ids = idsOf(answers.flat())
      expect(new Set(ids).size).toBe(ids.length)
      for (let index = 0; index < 10; index += 1) {
        const end = (await store().findGrant(`grant ${index}`))?.end
        expect(end?.reason).toBe(ids.includes(`grant ${index}`) ? 'client_removed' : 'code_reuse')
      }
      expect(await dueSignOuts(store(), start + 5)).toHaveLength(10)
    })
  })
}
