import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { Client } from '../core/client.ts'
import type { PendingSocialSignIn } from '../core/social-sign-in.ts'
import type { Store } from '../core/store.ts'
import { addGrant, grantSample, race, start, successorSample } from '../testing/grant-sample.ts'
import { describeGrants } from './store-contract-grants.ts'
import { describeUpkeep } from './store-contract-upkeep.ts'

/** A store of the suite. `reopen` closes it and opens what it left behind; a driver that keeps nothing has none. */
export interface OpenedStore {
  store: Store
  reopen?: () => Promise<Store>
}

/** Texts that a driver must give back unchanged and tell apart. */
const awkwardTexts: readonly (readonly [what: string, text: string])[] = [
  ['nothing', ''],
  ['quotes and SQL', `'; DROP TABLE client; -- "x" \\`],
  ['several scripts and an emoji', 'Ünïcødé Ωμέγα 日本語 👩‍🚀'],
  ['a NUL in the middle', 'before\0after'],
  ['line ends and a byte order mark', '\uFEFFa\r\nb\u2028c'],
  ['a combining form', 'e\u0301 is not \u00E9'],
  ['a million characters', 'x'.repeat(1_000_000)],
]

const client: Client = {
  id: 'mcpc_1',
  kind: 'registered',
  name: 'A client',
  uri: 'https://client.example/',
  redirectUris: ['http://127.0.0.1/callback', 'https://client.example/callback?a=1'],
  grantTypes: ['authorization_code', 'refresh_token'],
  authMethod: 'client_secret_basic',
  secretHash: 'hash',
  createdAt: start,
}

/** The contract of {@link Store}, the same for every driver. `open` answers a fresh, empty store. */
export function describeStore(name: string, open: () => Promise<OpenedStore>): void {
  describe(`${name} store`, () => {
    let opened: OpenedStore
    beforeEach(async () => {
      opened = await open()
    })
    afterEach(() => opened.store.close())
    const store = (): Store => opened.store

    describeClients(store)
    describeSocialSignIns(store)
    describeGrants(store)
    describeUpkeep(store)

    it('everything that resolved is there after reopening, if the driver keeps anything', async () => {
      const sample = await addGrant(store(), grantSample('kept'))
      await store().addClient(client)
      await store().addSocialSignIn(pendingSample('kept'), 5)
      await store().rotateRefreshToken(sample.tokens.refreshHash, successorSample('kept 2'), {
        now: start,
        replaySeconds: 120,
      })
      if (!opened.reopen) return
      opened.store = await opened.reopen()
      expect(await store().findClient(client.id)).toEqual(client)
      expect(await store().listSocialSignIns('binding', start)).toEqual([pendingSample('kept')])
      expect(await store().findAccessToken('access kept 2', start)).toMatchObject({ grant: sample.grant })
      expect(await store().findProviderSession(sample.grant.id)).toEqual(sample.session)
      expect(await store().redeemAuthorizationCode(sample.code.codeHash, sample.tokens, start + 5)).toEqual({
        kind: 'used',
        redeemedAt: start,
      })
    })
  })
}

function describeClients(store: () => Store): void {
  describe('clients', () => {
    it('gives back what was added', async () => {
      await store().addClient(client)
      expect(await store().findClient(client.id)).toEqual(client)
    })

    it('gives back a public client without name and link', async () => {
      const bare: Client = {
        ...client,
        name: undefined,
        uri: undefined,
        grantTypes: ['authorization_code'],
        authMethod: 'none',
        secretHash: undefined,
      }
      await store().addClient(bare)
      expect(await store().findClient(bare.id)).toEqual(bare)
    })

    it.each([
      '',
      'MCPC_1',
      'mcpc_1 ',
      'mcpc_1\0',
      'mcpc_%',
      '__proto__',
      'constructor',
      'x'.repeat(1_000_000),
    ])('does not know %j', async (id) => {
      await store().addClient(client)
      expect(await store().findClient(id)).toBeUndefined()
    })

    it.each(awkwardTexts)('keeps %s', async (_what, text) => {
      const awkward = {
        ...client,
        id: `id ${text}`,
        name: `name ${text}`,
        redirectUris: [`https://a/${text}`],
      }
      await store().addClient(awkward)
      await store().addClient(client)
      expect(await store().findClient(awkward.id)).toEqual(awkward)
      expect(await store().findClient(client.id)).toEqual(client)
    })
  })
}

function pendingSample(id: string, bindingHash = 'binding', expiresAt = start + 600): PendingSocialSignIn {
  return { id, bindingHash, sealed: `sealed ${id}`, expiresAt }
}

function describeSocialSignIns(store: () => Store): void {
  const listed = async (bindingHash: string, now = start): Promise<string[]> =>
    (await store().listSocialSignIns(bindingHash, now)).map(({ id }) => id)

  describe('pending social sign-ins', () => {
    it('lists those of one browser, newest first', async () => {
      for (const id of ['z', 'a', 'm']) await store().addSocialSignIn(pendingSample(id), 5)
      await store().addSocialSignIn(pendingSample('other', 'other browser'), 5)
      expect(await store().listSocialSignIns('binding', start)).toEqual(
        ['m', 'a', 'z'].map((id) => pendingSample(id)),
      )
      expect(await listed('other browser')).toEqual(['other'])
      expect(await listed('nobody')).toEqual([])
    })

    it('lists one until the second before it expires', async () => {
      await store().addSocialSignIn(pendingSample('a'), 5)
      expect(await listed('binding', start + 599)).toEqual(['a'])
      expect(await listed('binding', start + 600)).toEqual([])
    })

    it('keeps the newest five of one browser and all of the others', async () => {
      await store().addSocialSignIn(pendingSample('other', 'other browser'), 5)
      for (let tab = 1; tab <= 7; tab += 1) await store().addSocialSignIn(pendingSample(`tab ${tab}`), 5)
      expect(await listed('binding')).toEqual(['tab 7', 'tab 6', 'tab 5', 'tab 4', 'tab 3'])
      expect(await listed('other browser')).toEqual(['other'])
      expect(await store().removeSocialSignIn('tab 1')).toBe(false)
    })

    it('fifty tabs at once leave five', async () => {
      await race((tab) => store().addSocialSignIn(pendingSample(`tab ${tab}`), 5))
      expect(await listed('binding')).toHaveLength(5)
    })

    it('is taken away by exactly one of fifty callers', async () => {
      await store().addSocialSignIn(pendingSample('a'), 5)
      await store().addSocialSignIn(pendingSample('b'), 5)
      const taken = await race(() => store().removeSocialSignIn('a'))
      expect(taken.filter(Boolean)).toHaveLength(1)
      expect(await listed('binding')).toEqual(['b'])
    })

    it.each(awkwardTexts)('keeps %s', async (_what, text) => {
      const awkward = { id: `id ${text}`, bindingHash: `b ${text}`, sealed: text, expiresAt: start + 1 }
      await store().addSocialSignIn(awkward, 5)
      await store().addSocialSignIn(pendingSample('a'), 5)
      expect(await store().listSocialSignIns(awkward.bindingHash, start)).toEqual([awkward])
    })
  })
}
