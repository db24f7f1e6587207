import { expect, it } from 'vitest'
import type { Store } from '../../../server/core/store.ts'
import {
  addGrant,
  dueSignOuts,
  grantSample,
  nextSession,
  rotationTerms,
  secondFactorSample,
  sessionSample,
  start,
  successorSample,
} from '../server/core/grant-sample.ts'
import { clientSample } from './clients.ts'
import { deviceSample } from './devices.ts'
import type { StoreInstances } from './instances.ts'

/** Too long for an index key: only values may be so long. */
export const longText: string = 'x'.repeat(1_000_000)

/** Texts that a driver must preserve and distinguish, in names and in values. */
const awkwardTexts: readonly (readonly [what: string, text: string])[] = [
  ['nothing', ''],
  ['quotes and SQL', `'; DROP TABLE client; -- "x" \\`],
  ['several scripts and an emoji', 'Ünïcødé Ωμέγα 日本語 👩‍🚀'],
  ['a NUL in the middle', 'before\0after'],
  ['line ends and a byte order mark', '\uFEFFa\r\nb\u2028c'],
  ['a combining form', 'e\u0301 is not \u00E9'],
  ['an escape sequence of something else', String.raw`\0 \x00 \u0000 %00 E'\\x00'`],
  ['a million characters', longText],
]

/** Store contract: what may be in a text of each kind of record. */
export function describeTexts({ store }: StoreInstances): void {
  it.each(awkwardTexts)('every record keeps %s', async (_what, text) => {
    const name = text.slice(0, 1000)
    await keepClient(store(), name, text)
    await keepDevice(store(), name, text)
    await keepSignIns(store(), name, text)
    await keepAttempts(store(), name, text)
    await keepGrant(store(), name, text)
  })
}

async function keepClient(store: Store, name: string, text: string): Promise<void> {
  const client = {
    ...clientSample,
    id: `id ${name}`,
    name: text,
    uri: text,
    redirectUris: [`https://a/${text}`],
    scope: text,
    managementHash: text,
  }
  await store.addClient(client)
  await store.addClient(clientSample)
  expect(await store.findClient(client.id)).toStrictEqual(client)
  expect(await store.listClients({ after: 'id', limit: 1 })).toStrictEqual([client])
  expect(await store.listClients({ after: client.id, limit: 5 })).toStrictEqual([clientSample])
}

async function keepDevice(store: Store, name: string, text: string): Promise<void> {
  const hashes = { deviceHash: `d ${name}`, userCodeHash: `u ${name}` }
  const texts = { clientId: text, scope: text, resource: text, address: text }
  const device = { ...deviceSample(''), ...hashes, ...texts }
  await store.addDevice(device)
  expect(await store.findDevice(device.userCodeHash, start)).toStrictEqual(device)
}

async function keepSignIns(store: Store, name: string, text: string): Promise<void> {
  const social = { id: `id ${name}`, bindingHash: `b ${name}`, sealed: text, expiresAt: start + 1 }
  await store.addSocialSignIn(social, 5)
  expect(await store.listSocialSignIns(social.bindingHash, start)).toEqual([social])
  const id = `half ${name}`
  const pending = { ...secondFactorSample(id), sealed: text, session: sessionSample(id, text) }
  await store.addSecondFactor(pending)
  expect(await store.attemptSecondFactor({ id, bindingHash: 'binding', max: 1 }, start)).toEqual(pending)
  expect(await store.removeSecondFactor(id, false, start)).toBe(true)
}

async function keepAttempts(store: Store, name: string, text: string): Promise<void> {
  await store.countAttempt('a', 60, start)
  for (const count of [1, 2]) expect((await store.countAttempt(`key ${name}`, 60, start)).count).toBe(count)
  const step = { step: 'page', at: start, status: 400, ok: false, requestId: 'r', detail: text } as const
  await store.addAttemptSteps([step], start + 60)
  expect(await store.listAttemptSteps(9)).toEqual([step])
}

async function keepGrant(store: Store, name: string, text: string): Promise<void> {
  const user = { id: `p#${name}`, sub: text, email: text, name: text }
  const workspace = { id: `w ${name}`, name: text }
  const given = grantSample(`a ${name}`, { user, clientId: `c ${name}`, workspace })
  const { grant, code, session, tokens } = { ...given, session: { ...given.session, sealed: text } }
  const owners = [{ userId: user.id }, { clientId: grant.clientId }]
  await store.addAuthorizationCode(code, session)
  for (const of of owners)
    expect(await store.listUnredeemedCodes(of, { now: start, limit: 9 })).toEqual([code])
  await store.redeemAuthorizationCode(code.codeHash, tokens, start)
  await addGrant(store, grantSample('other'))
  const found = await store.findAccessToken(tokens.accessHash, start)
  expect(found).toMatchObject({ grant, providerSession: session })

  const next = nextSession(session, `${text} 2`)
  await store.saveProviderSession(next)
  expect(await store.findProviderSession(grant.id)).toEqual(next)
  const rotate = (address: string) =>
    store.rotateRefreshToken(
      tokens.refreshHash,
      { ...successorSample(`b ${name}`), sealedTokens: text, scope: text },
      rotationTerms(start, { address }),
    )
  const addresses = [`${text} 1`, `${text} 2`] as const
  await rotate(addresses[0])
  expect(await rotate(addresses[1])).toMatchObject({ kind: 'replayed', sealedTokens: text })
  expect((await store.findAccessToken(`access b ${name}`, start))?.scope).toBe(text)

  const lastUse = { usedAt: start, address: text, tool: text }
  const twoAddresses = { addresses, at: start }
  await store.recordGrantUses([{ grantId: grant.id, ...lastUse, twoAddresses }])
  const replays = { count: 1, lastAt: start, addresses }
  const record = { grant, lastUse, twoAddresses, replays, end: undefined }
  for (const of of owners) expect(await store.listGrants(of, { after: '', limit: 9 })).toStrictEqual([record])
  expect(await store.findGrant(grant.id)).toStrictEqual(record)

  const page = { now: start, limit: 9 }
  expect(await store.endGrants({ clientId: grant.clientId }, 'client_removed', page)).toStrictEqual([grant])
  expect(await dueSignOuts(store, start)).toEqual([next])
  await store.removeSignOut(grant.id)
  expect(await dueSignOuts(store, start)).toEqual([])
}
