import { beforeEach, describe, expect, it } from 'vitest'
import {
  start,
  addSealedGrant,
  grantSample,
  sealerSample,
} from '../../../tests/support/server/core/grant-sample.ts'
import { signInSample } from '../../../tests/support/server/core/sign-in-sample.ts'
import { createFakeRuntime, type FakeRuntime } from '../../../tests/support/server/fake-runtime.ts'
import { openMemoryStore } from '../../store/sqlite/sqlite.ts'
import type { Sealer } from '../seal.ts'
import type { Store } from '../store.ts'
import { StoreUnavailableError } from '../store-unavailable.ts'
import { userIdOf } from '../session/grant.ts'
import { endLoggedOut, type ProviderLogoutPorts } from './provider-logout.ts'
import type { LogoutNotice } from '../session/session-provider.ts'

const issuer = 'https://provider'

let runtime: FakeRuntime
let store: Store
let sealer: Sealer
let ended: string[]

beforeEach(() => {
  runtime = createFakeRuntime(start)
  store = openMemoryStore()
  sealer = sealerSample()
  ended = []
})

const userOf = (sub: string, of = issuer) => ({
  id: userIdOf(sub, of),
  sub,
  email: undefined,
  name: undefined,
})

/** Creates a grant of `sub` from the sign-in `sid`. */
async function connect(id: string, sub: string, sid: string | undefined, of: string = issuer): Promise<void> {
  const { session } = signInSample(sub)
  await addSealedGrant(store, sealer, id, {
    grant: { id, user: userOf(sub, of) },
    ...session,
    ...(sid && { sid }),
    issuer: of,
  })
}

const notice = (members: Partial<LogoutNotice>): LogoutNotice => ({
  id: 'n',
  sub: undefined,
  sid: undefined,
  ...members,
})

async function logout(
  members: Partial<LogoutNotice>,
  ports: Partial<ProviderLogoutPorts> = {},
): Promise<string[]> {
  ended = []
  await endLoggedOut(notice(members), {
    store,
    provider: { issuer },
    sealer,
    runtime,
    reportGrantEnd: ({ id }, reason) => void ended.push(`${id} ${reason}`),
    ...ports,
  })
  return ended.toSorted()
}

describe('a user who was signed out', () => {
  beforeEach(async () => {
    await connect('a1', 'ada', 'one')
    await connect('a2', 'ada', 'two')
    await connect('a3', 'ada', undefined)
    await connect('e1', 'eve', 'one')
    await connect('o1', 'ada', 'one', 'https://other')
  })

  it('a user who was signed out loses all grants, unredeemed codes and waiting devices', async () => {
    const { code, session } = grantSample('a4', { user: userOf('ada') })
    await store.addAuthorizationCode({ ...code, expiresAt: start + 60 }, session)
    expect(await logout({ sub: 'ada' })).toEqual([
      'a1 provider_session_ended',
      'a2 provider_session_ended',
      'a3 provider_session_ended',
    ])
    expect(await store.listUnredeemedCodes(undefined, { now: start, limit: 9 })).toEqual([])
    expect((await store.findGrant('e1'))?.end).toBeUndefined()
    expect((await store.findGrant('o1'))?.end).toBeUndefined()
  })

  it('a user who was signed out of one sign-in loses the grants of that sign-in, and those of an unknown one', async () => {
    expect(await logout({ sub: 'ada', sid: 'two' })).toEqual([
      'a2 provider_session_ended',
      'a3 provider_session_ended',
    ])
  })

  it('a user named by the sign-in alone loses the grants of that sign-in, and no other', async () => {
    const { code, session } = grantSample('e2', { user: userOf('eve') })
    await store.addAuthorizationCode({ ...code, expiresAt: start + 60 }, session)
    expect(await logout({ sid: 'two' })).toEqual(['a2 provider_session_ended'])
    for (const id of ['a1', 'a3', 'e1', 'o1']) expect((await store.findGrant(id))?.end).toBeUndefined()
    expect(await store.listUnredeemedCodes(undefined, { now: start, limit: 9 })).toHaveLength(1)
  })

  it('a user who was signed out of an unknown sign-in loses no grant whose sign-in is known', async () => {
    expect(await logout({ sub: 'ada', sid: 'three' })).toEqual(['a3 provider_session_ended'])
    expect(await logout({ sid: 'three', id: 'another' })).toEqual([])
  })

  it('a user is signed out once by each notice: repeating it ends no later grant', async () => {
    await logout({ sub: 'ada' })
    await connect('a4', 'ada', 'one')
    expect(await logout({ sub: 'ada' })).toEqual([])
    expect(await logout({ sub: 'ada', id: 'another' })).toEqual(['a4 provider_session_ended'])
  })

  it('a user is signed out when the notice comes again after a failure', async () => {
    const failing = {
      ...store,
      endGrant: () => Promise.reject(new StoreUnavailableError('down', { cause: undefined })),
    }
    await expect(logout({ sub: 'ada' }, { store: failing })).rejects.toThrow(StoreUnavailableError)
    expect(await logout({ sub: 'ada' })).toHaveLength(3)
  })
})

it('more grants than a page holds are all ended', async () => {
  for (let index = 0; index < 250; index += 1) await connect(`g${index}`, 'ada', 'one')
  expect(await logout({ sid: 'one' })).toHaveLength(250)
})
