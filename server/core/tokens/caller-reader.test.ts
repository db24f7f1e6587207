import {
  accessSample,
  grantAccessSample,
  profileSample,
} from '../../../tests/support/server/core/access-sample.ts'
import type { AccessRule } from '../access/access-rules.ts'
import { ScopeCatalogue } from './scope.ts'
import { writeSessionCookies } from '@drawbridge/shared/session-cookie/session-cookie-write.ts'
import { beforeEach, describe, expect, it } from 'vitest'
import {
  addGrant,
  grantSample,
  grantSeconds,
  start,
} from '../../../tests/support/server/core/grant-sample.ts'
import { signInSample } from '../../../tests/support/server/core/sign-in-sample.ts'
import { type FakeRuntime, createFakeRuntime } from '../../../tests/support/server/fake-runtime.ts'
import { openMemoryStore } from '../../store/sqlite/sqlite.ts'
import { type CallerPorts, CallerReader } from './caller-reader.ts'
import type { StoredProviderSession, Workspace } from '../session/grant.ts'
import { hashSecret } from '../seal.ts'
import type { KeptSession } from '../session/served-session.ts'
import { ProviderError, type ProviderFailure, type SessionLife } from '../session/session-provider.ts'
import type { Store } from '../store.ts'
import { StoreUnavailableError } from '../store-unavailable.ts'
import { tokenKey } from './token-issue.ts'

const ours = 'mcpa_our-own-token'
const cookieName = 'sb-ref-auth-token'

/** Creates a token shaped like a JWT; the fake provider knows its contents. */
function jwt(name: string, expiresAt: number = start + 600): string {
  const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url')
  return `${part({ alg: 'ES256' })}.${part({ name, exp: expiresAt })}.c2lnbmF0dXJl`
}

const good = jwt('good')

let runtime: FakeRuntime
let store: Store
let ports: CallerPorts
let verified: string[]
let kept: KeptSession | undefined
let failure: ProviderFailure

beforeEach(async () => {
  runtime = createFakeRuntime(start)
  store = openMemoryStore()
  verified = []
  kept = undefined
  failure = 'invalid_token'
  const sample = grantSample('a')
  await addGrant(store, { ...sample, tokens: { ...sample.tokens, accessHash: hashSecret(ours) } })
  ports = {
    store,
    keeper: {
      keep: async (session) => kept ?? { kind: 'live', session },
      open: (session: StoredProviderSession) => ({
        ...signInSample('ada').session,
        accessToken: `opened ${session.sealed}`,
      }),
    },
    provider: {
      issuer: 'https://provider',
      async verify(token) {
        verified.push(token)
        if (token !== good) throw new ProviderError(failure, failure)
        return signInSample('ada').identity
      },
    },
    runtime,
    access: accessSample(),
    grantAccess: grantAccessSample(),
    membership: { isMember: async () => true },
    resource: 'https://mcp.example.com/mcp',
    scopes: new ScopeCatalogue(),
    sessionTokens: true,
    personalTokens: true,
    cookieName,
    checkSeconds: undefined,
  }
})

/** Makes one request to a reader without memory. */
const callerFromAuthorization = (header: string, given: Partial<CallerPorts> = {}) =>
  new CallerReader({ ...ports, ...given }).fromAuthorization(header)

const callerFromCookies = (
  cookies: Parameters<CallerReader['fromCookies']>[0],
  given: Partial<CallerPorts> = {},
) => new CallerReader({ ...ports, ...given }).fromCookies(cookies)

it.each(['https://other.example.com/mcp', 'https://mcp.example.com', ''])(
  'RFC 8707 2: a token that was issued for %j is refused',
  async (resource) => {
    const foreign = grantSample('foreign', { resource })
    const accessHash = hashSecret('mcpa_foreign')
    await addGrant(store, { ...foreign, tokens: { ...foreign.tokens, accessHash } })
    const found = await callerFromAuthorization('Bearer mcpa_foreign')
    expect(found).toMatchObject({ kind: 'invalid', description: /unknown, expired or revoked/ })
    expect((await callerFromAuthorization(`Bearer ${ours}`)).kind).toBe('caller')
  },
)

describe('the Authorization header: a token of ours', () => {
  it('a Drawbridge token names the user, the client and the scope, and opens the provider token on demand', async () => {
    const result = await callerFromAuthorization(`Bearer ${ours}`)
    expect(result).toMatchObject({
      kind: 'caller',
      caller: {
        credential: 'access_token',
        // From the current session, not the sign-in.
        user: {
          ...grantSample('a').grant.user,
          email: 'ada@example.com',
          name: undefined,
          emailVerified: true,
        },
        clientId: 'client a',
        scope: 'mcp',
        expiresAt: start + 3600,
      },
    })
    expect(result.kind === 'caller' && result.caller.providerToken()).toBe('opened sealed a 1')
    expect(verified).toEqual([])
  })

  it.each<[rule: string, prepare: () => Promise<void> | void]>([
    ['RFC 6750 3.1: expired', () => runtime.advance(3600)],
    ['of an expired grant', () => runtime.advance(grantSeconds)],
    ['of an ended grant', () => store.endGrant('grant a', 'code_reuse', start)],
    ['whose provider session is gone', () => void (kept = { kind: 'ended' })],
  ])('a Drawbridge token is invalid: %s', async (_rule, prepare) => {
    await prepare()
    expect(await callerFromAuthorization(`Bearer ${ours}`)).toMatchObject({ kind: 'invalid' })
    expect(verified).toEqual([])
  })

  it('a Drawbridge token gives the session that the keeper kept, not the stored one', async () => {
    kept = { kind: 'live', session: { ...grantSample('a').session, sealed: 'newer' } }
    const result = await callerFromAuthorization(`Bearer ${ours}`)
    expect(result.kind === 'caller' && result.caller.providerToken()).toBe('opened newer')
  })

  it('a Drawbridge token works without provider tokens being accepted', async () => {
    const result = await callerFromAuthorization(`Bearer ${ours}`, { sessionTokens: false })
    expect(result.kind).toBe('caller')
  })

  it('a Drawbridge token is unavailable, not invalid, if the provider is unreachable: signing in again would not help', async () => {
    kept = { kind: 'unavailable', retryAfterSeconds: 7 }
    expect(await callerFromAuthorization(`Bearer ${ours}`)).toEqual(kept)
  })

  it.each<ProviderFailure>(['transient', 'protocol', 'invalid_token'])(
    'a Drawbridge token is unavailable if the access rules ask a provider that fails with %s',
    async (kind) => {
      const failing = async (): Promise<never> => {
        throw new ProviderError(kind, kind)
      }
      ports.grantAccess.enforce = failing
      expect(await callerFromAuthorization(`Bearer ${ours}`)).toEqual({
        kind: 'unavailable',
        retryAfterSeconds: 5,
      })
    },
  )

  it.each(['mcpa_', 'mcpa_unknown', `mcpa_${good}`])(
    'MCP auth Token-Handling, MCP security Token-Passthrough: %s is never shown to the provider',
    async (token) => {
      expect(await callerFromAuthorization(`Bearer ${token}`)).toMatchObject({ kind: 'invalid' })
      expect(verified).toEqual([])
    },
  )
})

describe('the Authorization header: a token of the provider', () => {
  it('a provider token names the user, no client, and the resource scopes', async () => {
    const result = await callerFromAuthorization(`Bearer ${good}`)
    expect(result).toMatchObject({
      kind: 'caller',
      caller: {
        credential: 'provider_token',
        user: { id: 'https://provider#sub ada', sub: 'sub ada', email: 'ada@example.com' },
        clientId: undefined,
        scope: 'mcp',
        expiresAt: signInSample().identity.expiresAt,
      },
    })
    expect(result.kind === 'caller' && result.caller.providerToken()).toBe(good)
  })

  it.each([
    ['refused by the provider', () => jwt('bad'), 1],
    ['that is no JWT', () => 'opaque', 0],
    ['of four parts', () => `${good}.AAAA`, 0],
    ['a refresh token of ours', () => 'mcpr_refresh', 0],
  ])('a provider token is invalid: %s', async (_what, token, asked) => {
    expect(await callerFromAuthorization(`Bearer ${token()}`)).toMatchObject({ kind: 'invalid' })
    expect(verified).toHaveLength(asked)
  })

  it.each<ProviderFailure>(['transient', 'protocol'])(
    'a provider token is unavailable if the provider fails with %s',
    async (kind) => {
      failure = kind
      expect(await callerFromAuthorization(`Bearer ${jwt('bad')}`)).toEqual({
        kind: 'unavailable',
        retryAfterSeconds: 5,
      })
    },
  )

  it('MCP security Token-Passthrough: a provider token is invalid, and not looked at, when provider tokens are switched off', async () => {
    const off = { sessionTokens: false }
    expect(await callerFromAuthorization(`Bearer ${good}`, off)).toMatchObject({ kind: 'invalid' })
    expect(verified).toEqual([])
  })

  it('a provider token does not hide a fault in the program', async () => {
    const provider = { issuer: 'x', verify: () => Promise.reject(new RangeError('a bug')) }
    await expect(callerFromAuthorization(`Bearer ${good}`, { provider })).rejects.toThrow(RangeError)
  })

  it('a provider token is invalid at a provider whose tokens prove nothing', async () => {
    const provider = { issuer: 'https://provider' }
    expect(await callerFromAuthorization(`Bearer ${good}`, { provider })).toMatchObject({
      kind: 'invalid',
    })
  })
})

describe('access rules', () => {
  const by = (rule: AccessRule, provider?: Parameters<typeof accessSample>[1]): CallerPorts => {
    const access = accessSample([rule], provider)
    return { ...ports, access, grantAccess: grantAccessSample({ access }) }
  }
  const scopesOf = async (token: string, rule: AccessRule): Promise<string | undefined> => {
    const result = await callerFromAuthorization(`Bearer ${token}`, {
      ...by(rule),
      scopes: new ScopeCatalogue({ 'notes:write': 'Write notes.' }),
    })
    return result.kind === 'caller' ? result.caller.scope : undefined
  }

  it("access rules limit a token's scopes to those of the rule", async () => {
    const wide = grantSample('wide', { scope: 'mcp notes:write' })
    const tokens = { ...wide.tokens, accessHash: hashSecret('mcpa_wide'), scope: 'mcp notes:write' }
    await addGrant(store, { ...wide, tokens })
    const all: AccessRule = { effect: 'allow', conditions: {} }
    for (const token of ['mcpa_wide', good]) {
      expect(await scopesOf(token, all)).toBe('mcp notes:write')
      expect(await scopesOf(token, { ...all, scopes: ['mcp'] })).toBe('mcp')
    }
  })

  it('access rules refuse a Drawbridge token of a user whom they do not allow', async () => {
    const given = by({ effect: 'allow', conditions: { sub: ['somebody else'] } })
    given.grantAccess = grantAccessSample({
      access: given.access,
      store: { endGrant: async () => {} },
      runtime,
      reportGrantEnd: () => {},
    })
    expect(await callerFromAuthorization(`Bearer ${ours}`, given)).toMatchObject({
      kind: 'invalid',
      description: expect.stringContaining('may not connect any more') as string,
    })
  })

  it('a rule about a client decides about Drawbridge tokens, and never about provider tokens', async () => {
    const client = ['client a']
    const kinds = async (rules: readonly AccessRule[]): Promise<string[]> => {
      const access = accessSample(rules)
      const endGrant = async (): Promise<void> => {}
      const grantAccess = grantAccessSample({
        access,
        store: { endGrant },
        runtime,
        reportGrantEnd: () => {},
      })
      const read = (token: string) =>
        callerFromAuthorization(`Bearer ${token}`, { ...ports, access, grantAccess })
      return [(await read(ours)).kind, (await read(good)).kind]
    }
    const everyone: AccessRule = { effect: 'allow', conditions: {} }
    expect(await kinds([{ effect: 'deny', conditions: { client } }, everyone])).toEqual(['invalid', 'caller'])
    expect(await kinds([{ effect: 'allow', conditions: { client } }])).toEqual(['caller', 'denied'])
    expect(await kinds([{ effect: 'allow', conditions: { client: ['client b'] } }])).toEqual([
      'invalid',
      'denied',
    ])
  })

  it("access rules use the provider's current claims, not the token's", async () => {
    let role = 'partner'
    const given = by(
      { effect: 'allow', conditions: { claim: { role: ['partner'] } } },
      {
        profileOf: (_of, probed) => ({ ...profileSample, claims: probed ?? { role: 'partner' } }),
      },
    )
    const reader = new CallerReader({
      ...given,
      provider: { ...ports.provider, probe: async () => ({ life: 'live', claims: { role } }) },
      checkSeconds: 60,
    })
    expect((await reader.fromAuthorization(`Bearer ${good}`)).kind).toBe('caller')
    role = 'guest'
    runtime.advance(61)
    expect(await reader.fromAuthorization(`Bearer ${good}`)).toMatchObject({
      kind: 'denied',
      reason: 'no_rule',
    })
  })
})

describe('whether an earlier caller is still valid', () => {
  const isLive = async (token: string, given?: Partial<CallerPorts>): Promise<() => Promise<boolean>> => {
    const result = await callerFromAuthorization(`Bearer ${token}`, given)
    if (result.kind !== 'caller') throw new Error(`This is ${result.kind}.`)
    return result.caller.isLive
  }

  it('an earlier caller with a Drawbridge token is valid until its grant ends, and during an outage', async () => {
    const live = await isLive(ours)
    expect(await live()).toBe(true)
    kept = { kind: 'unavailable', retryAfterSeconds: 7 }
    expect(await live()).toBe(true)
    await store.endGrant('grant a', 'revoked_by_user', start)
    expect(await live()).toBe(false)
  })

  it('an earlier caller is valid until the grant has another workspace, and with a narrower scope', async () => {
    const choose = async (workspace: Workspace | undefined, scope = 'mcp'): Promise<void> => {
      const grant = (await store.findGrant('grant a'))?.grant
      if (!grant) throw new Error('There is no grant.')
      const changed = await store.changeGrant(
        { grantId: grant.id, from: grant, to: { scope, workspace } },
        start,
      )
      expect(changed).toBe(true)
    }
    const outside = await isLive(ours)
    await choose({ id: 'sales', name: 'Sales' }, 'mcp notes:write')
    expect(await outside()).toBe(false)
    const inside = await isLive(ours)
    await choose({ id: 'sales', name: 'Renamed' })
    expect(await inside()).toBe(true)
    await choose({ id: 'legal', name: 'Legal' })
    expect(await inside()).toBe(false)
    await choose(undefined)
    expect([await inside(), await outside()]).toEqual([false, true])
  })

  it('an earlier caller is valid until its user leaves the workspace', async () => {
    let isMember = true
    const live = await isLive(ours, { membership: { isMember: async () => isMember } })
    expect(await live()).toBe(true)
    isMember = false
    expect(await live()).toBe(false)
  })

  it('an earlier caller with a provider token is valid until the provider or a rule refuses it', async () => {
    let answer: Error | undefined
    const identity = signInSample('ada').identity
    const provider = {
      issuer: 'https://provider',
      verify: () => (answer ? Promise.reject(answer) : Promise.resolve(identity)),
    }
    const everybody: AccessRule = { effect: 'allow', conditions: {} }
    let rules = [everybody]
    const access = accessSample(rules)
    access.decide = (sub, profile) => accessSample(rules).decide(sub, profile)
    const live = await isLive(good, { provider, access })
    expect(await live()).toBe(true)
    answer = new ProviderError('transient', 'down')
    expect(await live()).toBe(true)
    answer = new ProviderError('invalid_token', 'ended')
    expect(await live()).toBe(false)
    answer = undefined
    rules = []
    expect(await live()).toBe(false)
  })
})

describe('the first use of a refreshed access token', () => {
  const issuedAt = (time: number): string => `mcpa_${time.toString(36).padStart(7, '0')}${'x'.repeat(43)}`
  const uses: [hash: string, at: number][] = []
  const use = async (token: string, awaitsFirstUse: boolean, fault?: Error): Promise<string> => {
    uses.length = 0
    const found = await store.findAccessToken(hashSecret(ours), start)
    if (!found) throw new Error('There is no record.')
    const result = await callerFromAuthorization(`Bearer ${token}`, {
      store: {
        findAccessToken: async () => ({ ...found, awaitsFirstUse }),
        recordFirstUse: async (hash, now) => {
          uses.push([hash, now])
          if (fault) throw fault
        },
      },
    })
    return result.kind
  }

  it.each([
    ['at once', 0, true, 1],
    ['after two minutes', 120, true, 1],
    ['later: its predecessor is of no use any more', 121, true, 0],
    ['a second time', 0, false, 0],
  ])('a refreshed access token at its first use: %s', async (_when, after, awaits, written) => {
    const token = issuedAt(start - after)
    expect(await use(token, awaits)).toBe('caller')
    expect(uses).toEqual(Array.from({ length: written }, () => [tokenKey(token), start]))
  })

  it('a first use that cannot be written refuses no caller, and hides no other fault', async () => {
    expect(await use(issuedAt(start), true, new StoreUnavailableError('full', { cause: undefined }))).toBe(
      'caller',
    )
    await expect(use(issuedAt(start), true, new RangeError('a bug'))).rejects.toThrow(RangeError)
  })
})

describe('RFC 6750 2.1: the Authorization header', () => {
  it.each([
    ['another letter case of the scheme', `bearer ${ours}`],
    ['several blanks', `Bearer   ${ours}`],
    ['blanks behind it', `Bearer ${ours}  `],
  ])('the Authorization header may have %s', async (_what, header) => {
    expect((await callerFromAuthorization(header)).kind).toBe('caller')
  })

  it('the Authorization header is read up to 16,384 characters', async () => {
    const longest = `Bearer mcpa_${'a'.repeat(16_384 - 'Bearer mcpa_'.length)}`
    expect(await callerFromAuthorization(longest)).toMatchObject({ description: /unknown, expired/ })
  })

  it.each([
    ['nothing', ''],
    ['the scheme alone', 'Bearer'],
    ['the token alone', ours],
    ['another scheme', `Basic ${ours}`],
    ['RFC 6750 2.1: two headers joined', `Bearer ${ours}, Bearer ${ours}`],
    ['a tab', `Bearer\t${ours}`],
    ['padding in the middle', `Bearer mcpa_=our`],
    ['a token that is too long', `Bearer mcpa_${'a'.repeat(16_385 - 'Bearer mcpa_'.length)}`],
  ])(
    'an Authorization header of %s is invalid, and leads to no cookie and no look-up',
    async (_what, header) => {
      const blind = { store: {} as Store }
      expect(await callerFromAuthorization(header, blind)).toMatchObject({ kind: 'invalid' })
    },
  )
})

describe('the session cookie', () => {
  const cookiesOf = (token: string, padding = 0) =>
    writeSessionCookies(
      { access_token: token, refresh_token: 'never used', user: 'x'.repeat(padding) },
      { name: cookieName },
    )

  it.each([
    ['one cookie', 0],
    ['twelve cookies', 27_000],
  ])('the session cookie names the user of a session in %s', async (_what, padding) => {
    const result = await callerFromCookies(cookiesOf(good, padding))
    expect(result).toMatchObject({
      kind: 'caller',
      caller: { credential: 'session_cookie', clientId: undefined },
    })
    expect(result.kind === 'caller' && result.caller.providerToken()).toBe(good)
  })

  it.each([
    ['no cookies at all', []],
    [
      'cookies of another project',
      writeSessionCookies({ access_token: good }, { name: 'sb-other-auth-token' }),
    ],
  ])('the session cookie finds no caller, without an error: %s', async (_what, cookies) => {
    expect(await callerFromCookies(cookies)).toEqual({ kind: 'missing' })
  })

  it.each([
    ['a damaged cookie', () => [{ name: cookieName, value: 'base64-%%%' }]],
    ['a token that the provider did not make', () => cookiesOf(jwt('bad'))],
    ['a token of ours', () => cookiesOf(ours)],
  ])('a session cookie that is %s is invalid', async (_what, cookies) => {
    expect(await callerFromCookies(cookies())).toMatchObject({ kind: 'invalid' })
  })

  it('the session cookie of an expired session is refused with that reason, without a request or a refresh', async () => {
    expect(await callerFromCookies(cookiesOf(jwt('good', start)))).toMatchObject({
      kind: 'invalid',
      description: expect.stringContaining('expired'),
    })
    expect(verified).toEqual([])
  })

  it.each<[when: string, given: Partial<CallerPorts>]>([
    ['at a provider whose tokens prove nothing', { provider: { issuer: 'https://provider' } }],
    ['when switched off', { sessionTokens: false }],
  ])('the session cookie counts for nothing %s', async (_when, given) => {
    expect(await callerFromCookies(cookiesOf(good), given)).toEqual({ kind: 'missing' })
  })
})

describe('what a reader remembers', () => {
  const checkSeconds = 60
  let reader: CallerReader
  let lookUps: number
  /** Tokens probed at the provider. */
  let probed: string[]
  let life: SessionLife

  beforeEach(() => {
    lookUps = 0
    probed = []
    life = 'live'
    reader = new CallerReader({
      ...ports,
      store: {
        findAccessToken(hash, now) {
          lookUps += 1
          return store.findAccessToken(hash, now)
        },
        recordFirstUse: store.recordFirstUse,
      },
      provider: {
        ...ports.provider,
        async probe({ accessToken: token }) {
          probed.push(token)
          return { life }
        },
      },
      checkSeconds,
    })
  })

  const asBearer = async (token: string): Promise<string> =>
    (await reader.fromAuthorization(`Bearer ${token}`)).kind
  const asCookie = async (token: string): Promise<string> =>
    (await reader.fromCookies(writeSessionCookies({ access_token: token }, { name: cookieName }))).kind

  it.each<[what: string, token: string, prepare: () => Promise<void> | void]>([
    ['unknown', 'mcpa_unknown', () => {}],
    ['expired', ours, () => runtime.advance(3600)],
    ['revoked', ours, () => store.endGrant('grant a', 'code_reuse', start)],
  ])(
    'a Drawbridge token that is %s is looked up in the store once in ten minutes',
    async (_what, token, prepare) => {
      await prepare()
      for (let call = 0; call < 10; call += 1) expect(await asBearer(token)).toBe('invalid')
      runtime.advance(599)
      await asBearer(token)
      expect(lookUps).toBe(1)
      runtime.advance(1)
      expect(await asBearer(token)).toBe('invalid')
      expect(lookUps).toBe(2)
    },
  )

  it('a valid Drawbridge token is looked up every time, as it may be revoked', async () => {
    await asBearer('mcpa_unknown')
    for (let call = 0; call < 2; call += 1) expect(await asBearer(ours)).toBe('caller')
    expect(lookUps).toBe(3)
    await store.endGrant('grant a', 'code_reuse', start)
    expect(await asBearer(ours)).toBe('invalid')
  })

  it('the caller reader forgets the oldest of ten thousand invalid tokens first', async () => {
    for (let index = 0; index <= 10_000; index += 1) await asBearer(`mcpa_${index}`)
    lookUps = 0
    for (const index of [10_000, 9999, 1]) await asBearer(`mcpa_${index}`)
    expect(lookUps).toBe(0)
    await asBearer('mcpa_0')
    expect(lookUps).toBe(1)
  })

  it.each<[life: SessionLife, kind: string]>([
    ['live', 'caller'],
    ['ended', 'invalid'],
    ['token_refused', 'invalid'],
  ])('a session of the provider that is %s is probed again after checkSeconds only', async (answer, kind) => {
    life = answer
    for (let request = 0; request < 10; request += 1) {
      expect(await asBearer(good)).toBe(kind)
      expect(await asCookie(good)).toBe(kind)
    }
    expect(probed).toEqual([good])
    runtime.advance(checkSeconds)
    life = 'live'
    expect(await asBearer(good)).toBe('caller')
    expect(probed).toHaveLength(2)
  })

  it('a forged token is never sent to the provider', async () => {
    expect(await asBearer(jwt('bad'))).toBe('invalid')
    expect(probed).toEqual([])
  })
})
