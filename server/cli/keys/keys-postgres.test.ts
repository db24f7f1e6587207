import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { parseSecretKeys } from '../../config/store-address.ts'
import { createSealer, fixedKeyRing, type Sealer, sealingKeyOf } from '../../core/seal.ts'
import { openProviderSession, sealProviderSession } from '../../core/session/session-seal.ts'
import type { Store } from '../../core/store.ts'
import { openPostgresStore } from '../../store/postgres/postgres.ts'
import { createCommandFixture } from '../../../tests/support/server/command-fixture.ts'
import { createFakeRuntime } from '../../../tests/support/server/fake-runtime.ts'
import {
  addGrant,
  dueSignOuts,
  type GrantSample,
  grantSample,
  start,
} from '../../../tests/support/server/core/grant-sample.ts'
import { type PostgresServer, startPostgres } from '../../../tests/support/server/postgres-server.ts'
import { exitCode } from '../command.ts'
import { rotateKeys } from './keys-rotate.ts'

const entry = (kid: string): string => `${kid}:${Buffer.alloc(32, kid).toString('base64')}`
const runtime = createFakeRuntime(start)
const sealer = (kid: string): Sealer =>
  createSealer(fixedKeyRing(parseSecretKeys(entry(kid))), runtime.randomBytes)

let server: PostgresServer
let url: string
let store: Store
beforeAll(async () => {
  server = await startPostgres()
  url = await server.createDatabase()
  store = openPostgresStore(url)
})
afterAll(async () => {
  await store.close()
  await server.close()
})

function sealed(name: string): GrantSample {
  const sample = grantSample(name)
  const session = { accessToken: 'access', refreshToken: `refresh ${name}`, expiresAt: start + 3600 }
  const row = { grantId: sample.grant.id, version: 1, issuedAt: start }
  return { ...sample, session: sealProviderSession({ ...session, issuer: undefined }, row, sealer('old')) }
}

describe('keys rotate on Postgres', () => {
  it('seals every session anew, also one whose grant has ended and one whose code is still unused', async () => {
    for (let n = 0; n < 250; n += 1) await addGrant(store, sealed(`${n}`))
    await addGrant(store, sealed('ended'))
    await store.endGrant('grant ended', 'code_reuse', start)
    const unused = sealed('unused')
    await store.addAuthorizationCode(unused.code, unused.session)

    const line = createCommandFixture(
      { STORE: url, SECRET_KEYS: `${entry('new')},${entry('old')}` },
      { json: true, runtime },
    )
    const code = await rotateKeys(line.input)
    const facts = line.facts()
    expect([code, facts['ok']]).toEqual([exitCode.ok, true])
    expect(facts['keys']).toMatchObject([
      { kid: 'new', role: 'seals' },
      { kid: 'old', role: 'opens', sessions: 0 },
    ])
    for (const name of ['0', '123', '249']) {
      const session = await store.findProviderSession(`grant ${name}`)
      expect(session && openProviderSession(session, sealer('new'))?.refreshToken).toBe(`refresh ${name}`)
    }
    expect((await dueSignOuts(store, start)).map((session) => sealingKeyOf(session.sealed))).toEqual(['new'])

    // The sign-in that was under way ends as it would have.
    const redeemed = await store.redeemAuthorizationCode(unused.code.codeHash, unused.tokens, start)
    expect(redeemed).toEqual({ kind: 'redeemed' })
    const session = await store.findProviderSession(unused.grant.id)
    const both = createSealer(
      fixedKeyRing(parseSecretKeys(`${entry('new')},${entry('old')}`)),
      runtime.randomBytes,
    )
    expect(session && openProviderSession(session, both)?.refreshToken).toBe('refresh unused')
  })
})
