import { afterEach, describe, expect, it, onTestFinished } from 'vitest'
import { createControlledProvider } from '../support/sandbox/controlled-provider.ts'
import {
  account,
  appUrl,
  baseUrl,
  type DrawbridgeFixture,
  startDrawbridge,
} from '../support/server/drawbridge-fixture.ts'
import { createFakeRuntime } from '../support/server/fake-runtime.ts'
import { keyAlgorithms, keySample, signWith } from '../support/server/key-sample.ts'
import { type OidcFixture, startOidcFixture } from '../support/server/oidc-fixture.ts'
import { oidcClient, type OidcServerOptions } from '../support/server/oidc-server.ts'

/*
 * Session providers whose published keys are behind: Supabase's edge serves a key set for ten minutes after a rotation, other
 * providers cache theirs too. A token signed with a key that is not known yet is not a bad token.
 */

const issuer = `${appUrl}/auth/v1`
const keySetPath = '/auth/v1/.well-known/jwks.json'
const userPath = '/auth/v1/user'
const ping = { jsonrpc: '2.0', id: 1, method: 'ping' }

interface Gotrue {
  drawbridge: DrawbridgeFixture
  admin: ReturnType<typeof createControlledProvider>['admin']
  /** Answers every request to a path from now on. */
  answer(path: string, response: () => Response | Promise<Response>): void
  asked(path: string): number
  /** A new access token of the account, as the web app has it. */
  appToken(): Promise<string>
  mcp(token: string): Promise<number>
}

let open: { close(): unknown }[] = []
afterEach(async () => {
  for (const each of open) await each.close()
  open = []
})

/** Drawbridge with `PROVIDER=supabase`, and a key set that stays as it is now. */
async function startGotrue(): Promise<Gotrue> {
  const runtime = createFakeRuntime()
  const embedded = createControlledProvider(
    {
      url: issuer,
      siteUrl: appUrl,
      redirectAllowList: [`${baseUrl}/oauth/callback`],
      tokenTtlSeconds: 3600,
      database: ':memory:',
    },
    runtime,
  )
  const user = await embedded.admin.createUser(account)
  const answers = new Map<string, () => Response | Promise<Response>>()
  const requests: string[] = []
  const published = await (await embedded.fetch(new Request(`${appUrl}${keySetPath}`))).text()
  answers.set(keySetPath, () => new Response(published))
  const drawbridge = await startDrawbridge(
    {
      provider: 'supabase',
      providerUrl: issuer,
      providerKey: 'sb_publishable_test',
      secretKeys: `test:${Buffer.alloc(32, 7).toString('base64')}`,
      signInLimit: '1000',
    },
    {
      ...runtime,
      async fetch(request) {
        const { pathname } = new URL(request.url)
        requests.push(pathname)
        return answers.get(pathname)?.() ?? embedded.fetch(request)
      },
    },
  )
  open.push(drawbridge, embedded)
  return {
    drawbridge,
    admin: embedded.admin,
    answer: (path, response) => void answers.set(path, response),
    asked: (path) => requests.filter((each) => each === path).length,
    async appToken() {
      const request = new Request(`${issuer}/token?grant_type=password`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(account),
      })
      const body = (await (await embedded.fetch(request)).json()) as { access_token: string; user: object }
      expect(body.user).toMatchObject({ id: user.id })
      return body.access_token
    },
    mcp: async (token) => (await drawbridge.mcp(ping, { authorization: `Bearer ${token}` })).status,
  }
}

const down = (): Promise<Response> => Promise.reject(new TypeError('fetch failed'))

describe('Supabase signs with a key that its key set lacks', () => {
  it.each<[set: string, response: (() => Response | Promise<Response>) | undefined]>([
    ['is as it was', undefined],
    ['is empty', () => Response.json({ keys: [] })],
    ['is a page of a gateway', () => new Response('<html>', { status: 502 })],
    ['cannot be had', down],
  ])(
    'with a new signing key at Supabase and a key set that %s, sign-in, connections and tokens of the app work, and its next key too',
    async (_set, response) => {
      const gotrue = await startGotrue()
      if (response) gotrue.answer(keySetPath, response)
      for (const _rotation of [1, 2]) {
        gotrue.admin.rotateSigningKey()
        const { tokens } = await gotrue.drawbridge.connect()
        expect(await gotrue.mcp(tokens.access_token)).toBe(200)
        expect(await gotrue.mcp(await gotrue.appToken())).toBe(200)
      }
    },
  )

  it.each<[user: string, response: () => Response | Promise<Response>]>([
    ['cannot be reached', down],
    ['is down', () => new Response('', { status: 500 })],
    ['is limited', () => new Response('', { status: 429 })],
    ['answers something else', () => Response.json({})],
  ])(
    'with a new signing key and a /user that %s, the app’s token and the sign-in get 503, never "bad token"',
    async (_user, response) => {
      const gotrue = await startGotrue()
      const before = await gotrue.appToken()
      expect(await gotrue.mcp(before)).toBe(200)
      gotrue.admin.rotateSigningKey()
      const token = await gotrue.appToken()
      const { client_id: clientId } = await gotrue.drawbridge.register()
      gotrue.answer(userPath, response)
      expect(await gotrue.mcp(token)).toBe(503)
      expect((await gotrue.drawbridge.signIn(clientId)).response?.status).toBe(503)
    },
  )

  it('with a new signing key a token whose session has ended is 401', async () => {
    const gotrue = await startGotrue()
    gotrue.admin.rotateSigningKey()
    const token = await gotrue.appToken()
    const { id } = gotrue.admin.findUser(account.email)!
    for (const session of gotrue.admin.listSessions(id)) gotrue.admin.endSession(session.id)
    expect(await gotrue.mcp(token)).toBe(401)
  })
})

describe('a made-up token that names an unknown key', () => {
  const madeUp = async (gotrue: Gotrue, changes: object = {}): Promise<string> => {
    const now = gotrue.drawbridge.runtime.now()
    const claims = {
      iss: issuer,
      aud: 'authenticated',
      role: 'authenticated',
      sub: gotrue.admin.findUser(account.email)!.id,
      session_id: crypto.randomUUID(),
      iat: now,
      exp: now + 3600,
      ...changes,
    }
    return signWith(stranger, claims)
  }

  it('a made-up token that names an unknown key is 401, as the provider refuses it', async () => {
    const gotrue = await startGotrue()
    expect(await gotrue.mcp(await madeUp(gotrue))).toBe(401)
  })

  it.each([{ iss: 'https://other.example' }, { aud: 'other' }, { exp: 1 }])(
    'a made-up token with %j is 401 without a request to the provider',
    async (changes) => {
      const gotrue = await startGotrue()
      expect(await gotrue.mcp(await madeUp(gotrue, changes))).toBe(401)
      expect(gotrue.asked(userPath)).toBe(0)
    },
  )

  it('a made-up token costs the provider one request, and hundreds of them thirty: the others are 503', async () => {
    const gotrue = await startGotrue()
    const one = await madeUp(gotrue)
    for (let index = 0; index < 5; index += 1) await gotrue.mcp(one)
    expect(gotrue.asked(userPath)).toBe(1)
    const answers: number[] = []
    for (let index = 0; index < 100; index += 1) answers.push(await gotrue.mcp(await madeUp(gotrue)))
    expect(gotrue.asked(userPath)).toBe(30)
    expect(answers.filter((status) => status === 503)).toHaveLength(71)
    expect(gotrue.asked(keySetPath)).toBe(1)
  })
})

const [stranger, old] = await Promise.all([keySample('made up'), keySample('old')])

async function startOidc(options: Partial<OidcServerOptions> = {}): Promise<OidcFixture> {
  const audience = options.audience
  const fixture = await startOidcFixture(
    { claimsInIdToken: true, ...options },
    audience === undefined ? {} : { audience },
  )
  onTestFinished(() => fixture.server.close())
  return fixture
}

/** The key set of an hour ago, as often as it is asked for. */
function lag(fixture: OidcFixture): void {
  for (let times = 0; times < 20; times += 1) {
    fixture.intercept('/jwks', () => Response.json({ keys: [old.published] }))
  }
}

describe('an OpenID provider signs with a key that its key set lacks', () => {
  it('an OpenID provider with an unknown key signs in a user whom userinfo confirms', async () => {
    const fixture = await startOidc()
    lag(fixture)
    expect((await fixture.signIn()).identity).toMatchObject({ sub: 'user-1' })
  })

  it('an OpenID provider with an unknown key and no userinfo cannot be used now, and its tokens are revoked', async () => {
    const fixture = await startOidc({ userinfo: false })
    lag(fixture)
    await expect(fixture.signIn()).rejects.toMatchObject({ failure: 'transient' })
    expect(fixture.server.requests).toContain('POST /token/revocation')
  })

  it('the new key of an OpenID provider is fetched at once at a sign-in', async () => {
    const fixture = await startOidc({ userinfo: false })
    fixture.intercept('/jwks', () => Response.json({ keys: [old.published] }))
    await fixture.signIn().catch(() => undefined)
    fixture.runtime.advance(1)
    expect((await fixture.signIn()).identity).toMatchObject({ sub: 'user-1' })
  })

  it('access tokens under an unknown key are accepted where userinfo accepts them, and undecided where it does not', async () => {
    const audience = 'https://api.example.com'
    const fixture = await startOidc({ audience })
    const now = fixture.runtime.now()
    const claims = { iss: fixture.server.issuer, aud: audience, sub: 'user-1', scope: 'read', exp: now + 600 }
    lag(fixture)
    const opaque = await startOidc()
    const live = (await opaque.signIn()).session.accessToken
    const verify = fixture.provider.verify!.bind(fixture.provider)
    fixture.intercept('/me', () => Response.json({ sub: 'user-1' }))
    await expect(verify(await fixture.server.signAccessToken(live, claims))).resolves.toMatchObject({
      sub: 'user-1',
    })
    fixture.intercept('/me', () => Response.json({ sub: 'user-2' }))
    const other = fixture.server.signAccessToken(live, { ...claims, exp: now + 601 })
    await expect(verify(await other)).rejects.toMatchObject({ failure: 'invalid_token' })
    for (const exp of [602, 603]) {
      const unclear = fixture.server.signAccessToken('unknown', { ...claims, exp: now + exp })
      await expect(verify(await unclear)).rejects.toMatchObject({ failure: 'transient' })
    }
  })

  it('a logout notice under an unknown key is to be sent again', async () => {
    const fixture = await startOidc()
    lag(fixture)
    await expect(fixture.provider.readLogout?.(await logoutToken(fixture))).rejects.toMatchObject({
      failure: 'transient',
    })
  })
})

function logoutToken({ server, runtime }: OidcFixture): Promise<string> {
  const events = { 'http://schemas.openid.net/event/backchannel-logout': {} }
  const iat = runtime.now()
  const claims = {
    iss: server.issuer,
    aud: oidcClient.id,
    iat,
    exp: iat + 60,
    jti: '1',
    sub: 'user-1',
    events,
  }
  return server.sign(claims, { typ: 'logout+jwt' })
}

it.each(keyAlgorithms)(
  'ID tokens, logout notices and access tokens are accepted alike of an OpenID provider that signs with %s',
  async (algorithm) => {
    const audience = 'https://api.example.com'
    const fixture = await startOidc({ key: await keySample('key', algorithm), audience })
    const { session } = await fixture.signIn()
    expect((await fixture.provider.verify?.(session.accessToken))?.sub).toBe('user-1')
    const notice = await fixture.provider.readLogout?.(await logoutToken(fixture))
    expect(notice).toMatchObject({ sub: 'user-1' })
  },
)
