import { signInSample, publicClient } from '../../../tests/support/server/core/sign-in-sample.ts'
import {
  accessSample,
  grantAccessSample,
  profileSample,
} from '../../../tests/support/server/core/access-sample.ts'
import type { AccessRule } from '../access/access-rules.ts'
import type { GrantAccess } from '../access/grant-access.ts'
import { beforeEach, describe, expect, it } from 'vitest'
import { type FakeRuntime, createFakeRuntime } from '../../../tests/support/server/fake-runtime.ts'
import { openMemoryStore } from '../../store/sqlite/sqlite.ts'
import {
  addGrant,
  grantSample,
  grantSeconds,
  rotationTerms,
  start,
  successorSample,
} from '../../../tests/support/server/core/grant-sample.ts'
import type { Client } from '../clients/client.ts'
import { type IntrospectionPorts, introspectToken } from './introspection.ts'
import type { Store } from '../store.ts'
import { createFamily, mintTokens, type TokenPair, tokenKey } from './token-issue.ts'

const owner = publicClient({ id: 'mcpc_owner', authMethod: 'client_secret_basic' })
const other = publicClient({ id: 'mcpc_other', authMethod: 'client_secret_basic' })
const resourceServer = publicClient({ id: 'api', kind: 'configured', introspects: true })
const sample = grantSample('a', { clientId: owner.id })

let runtime: FakeRuntime
let store: Store
let ports: IntrospectionPorts
let pair: TokenPair

beforeEach(async () => {
  runtime = createFakeRuntime(start)
  store = openMemoryStore()
  ports = {
    store,
    runtime,
    issuer: 'https://mcp.example.com',
    grantAccess: grantAccessSample(),
    personalTokens: true,
  }
  const { pair: fresh, minted } = mintTokens(sample.grant, 'mcp', createFamily(runtime), 3600, runtime)
  pair = fresh
  await addGrant(store, { ...sample, tokens: { ...minted, refreshHash: minted.refreshHash ?? '' } })
})

const ask = (client: Client, token: string) => introspectToken(client, token, ports)

describe('introspectToken', () => {
  // The address of the current session, not of the sign-in.
  const person = { username: 'ada@example.com', sub: 'a' }
  const about = (): object => ({
    active: true,
    client_id: owner.id,
    iat: start,
    aud: sample.grant.resource,
    iss: 'https://mcp.example.com',
  })
  const access = { scope: 'mcp', token_type: 'Bearer', exp: start + 3600 }
  const refresh = { scope: 'mcp offline_access', exp: start + grantSeconds }

  it('RFC 7662 2.2, MCP auth Token-Audience-Binding, RFC 9700 4.15.1: a resource server of the operator learns what a token allows', async () => {
    runtime.advance(60)
    expect(await ask(resourceServer, pair.accessToken)).toEqual({ ...about(), ...access, ...person })
    expect(await ask(resourceServer, pair.refreshToken ?? '')).toEqual({ ...about(), ...refresh, ...person })
  })

  it('RFC 7662 5: the client of a token does not learn who its user is, as no user agreed to that', async () => {
    expect(await ask(owner, pair.accessToken)).toEqual({ ...about(), ...access })
    expect(await ask(owner, pair.refreshToken ?? '')).toEqual({ ...about(), ...refresh })
  })

  it('a user without an email has no username', async () => {
    ports = {
      ...ports,
      grantAccess: grantAccessSample({ access: accessSample(undefined, { profileOf: () => profileSample }) }),
    }
    const answer = await ask(resourceServer, pair.accessToken)
    expect(answer).toMatchObject({ active: true, sub: 'a' })
    expect(answer).not.toHaveProperty('username')
  })

  const tokens: [kind: string, token: () => string][] = [
    ['access', () => pair.accessToken],
    ['refresh', () => pair.refreshToken ?? ''],
  ]

  it.each(tokens)(
    'RFC 7662 2.2: %s token of another client is inactive, without any detail',
    async (_kind, token) => {
      expect(await ask(other, token())).toEqual({ active: false })
    },
  )

  it.each(tokens)('RFC 7662 2.2: %s token of a grant that has ended is inactive', async (_kind, token) => {
    await store.endGrant(sample.grant.id, 'revoked_by_user', start)
    expect(await ask(resourceServer, token())).toEqual({ active: false })
  })

  it.each(tokens)('RFC 7662 4: %s token of a grant that has expired is inactive', async (_kind, token) => {
    runtime.advance(grantSeconds)
    expect(await ask(resourceServer, token())).toEqual({ active: false })
  })

  it.each(tokens)(
    'RFC 7662 2.2: %s token whose session the provider ended is inactive',
    async (_kind, token) => {
      await store.endRefusedSession({ grantId: sample.grant.id, version: 1 }, 'provider_session_ended', start)
      expect(await ask(resourceServer, token())).toEqual({ active: false })
    },
  )

  it('RFC 7662 4: an expired access token is inactive', async () => {
    runtime.advance(3599)
    expect(await ask(owner, pair.accessToken)).toMatchObject({ active: true })
    runtime.advance(1)
    expect(await ask(owner, pair.accessToken)).toEqual({ active: false })
  })

  it('introspection reports a used refresh token as inactive from its first use', async () => {
    const options = rotationTerms(start)
    await store.rotateRefreshToken(tokenKey(pair.refreshToken ?? ''), successorSample('next'), options)
    expect(await ask(owner, pair.refreshToken ?? '')).toEqual({ active: false })
  })

  it.each<[rule: string, token: () => string]>([
    ['of the form of ours', () => `mcpa_${'x'.repeat(50)}`],
    ['a stored hash', () => tokenKey(pair.accessToken)],
    ['ours with another time of issue', () => pair.accessToken.replace(/^mcpa_.{7}/, 'mcpa_0000000')],
    ['a token of the provider', () => 'e30.e30.e30'],
  ])('RFC 7662 2.2: a token that is %s is inactive', async (_rule, token) => {
    expect(await ask(resourceServer, token())).toEqual({ active: false })
  })
})

const rulesFor = (rules: readonly AccessRule[]): GrantAccess =>
  grantAccessSample({
    access: accessSample(rules),
    keeper: { open: () => signInSample('ada').session, claimsOf: () => undefined },
  })

it.each<[kind: string, token: () => string, left: string]>([
  ['access', () => pair.accessToken, ''],
  ['refresh', () => pair.refreshToken ?? '', 'offline_access'],
])(
  'introspection reports the %s token of a user whom the access rules refuse as inactive, and keeps its grant',
  async (_kind, token, left) => {
    ports = { ...ports, grantAccess: rulesFor([]) }
    expect(await ask(resourceServer, token())).toEqual({ active: false })
    expect((await store.findGrant(sample.grant.id))?.end).toBeUndefined()
    ports = { ...ports, grantAccess: rulesFor([{ effect: 'allow', conditions: {}, scopes: ['other'] }]) }
    expect(await ask(resourceServer, token())).toMatchObject({ active: true, scope: left })
  },
)

it.each<[kind: string, token: () => string]>([
  ['access', () => pair.accessToken],
  ['refresh', () => pair.refreshToken ?? ''],
])(
  'introspection reports the %s token of a client whom the access rules refuse as inactive, whoever asks',
  async (_kind, token) => {
    const deny = (client: string): GrantAccess =>
      rulesFor([
        { effect: 'deny', conditions: { client: [client] } },
        { effect: 'allow', conditions: {} },
      ])
    ports = { ...ports, grantAccess: deny(owner.id) }
    for (const client of [owner, resourceServer])
      expect(await ask(client, token())).toEqual({ active: false })
    // The rule is about the client of the token, not about the one that asks.
    ports = { ...ports, grantAccess: deny(resourceServer.id) }
    for (const client of [owner, resourceServer])
      expect(await ask(client, token())).toMatchObject({ active: true })
  },
)

it('introspection limits the scope of a token to the rule about its client', async () => {
  const confine = (client: string): GrantAccess =>
    rulesFor([
      { effect: 'allow', conditions: { client: [client] }, scopes: ['other'] },
      { effect: 'allow', conditions: {} },
    ])
  ports = { ...ports, grantAccess: confine(owner.id) }
  expect(await ask(resourceServer, pair.accessToken)).toMatchObject({ active: true, scope: '' })
  ports = { ...ports, grantAccess: confine(other.id) }
  expect(await ask(resourceServer, pair.accessToken)).toMatchObject({ active: true, scope: 'mcp' })
})
