import { describe, expect, it } from 'vitest'
import type { Credential } from '../../credentials/credential.ts'
import { discover, type DiscoveredServer } from './discovery.ts'
import type { OAuthConfig } from '../oauth-config.ts'
import type { SignInRequest } from '../login-port.ts'
import { oauthContext } from '../../../tests/support/bridge/oauth/oauth-ports.ts'
import {
  type OAuthServer,
  type OAuthServerPlaces,
  loginAt,
  openOAuthServer,
  startOAuthServer,
} from '../../../tests/support/bridge/oauth/oauth-server.ts'

const pathForm = '/.well-known/oauth-protected-resource/mcp'
const rootForm = '/.well-known/oauth-protected-resource'
const oauthRoot = '/.well-known/oauth-authorization-server'
const openidRoot = '/.well-known/openid-configuration'

const { server, http } = await openOAuthServer()

function find(
  request: SignInRequest = {},
  changes: Partial<OAuthConfig> = {},
  { serverUrl } = server,
): Promise<DiscoveredServer> {
  return discover(request, oauthContext(http, serverUrl, changes))
}

const usedBefore = (issuer: string): Credential => loginAt({ origin: issuer })

describe('the requests of discovery, in order', () => {
  it.each<[name: string, OAuthServerPlaces, challengePath: string | undefined, asked: string[]]>([
    ['metadata-default: the challenge names the path form', {}, pathForm, [pathForm, oauthRoot]],
    [
      'metadata-var1: path form without a challenge, OpenID at the root',
      { metadataPaths: [openidRoot] },
      undefined,
      [pathForm, oauthRoot, openidRoot],
    ],
    [
      'metadata-var2: root form, issuer with a path',
      {
        resourcePaths: [rootForm],
        resource: (origin) => ({ resource: origin }),
        issuerPath: '/tenant1',
      },
      undefined,
      [pathForm, rootForm, `${oauthRoot}/tenant1`],
    ],
    [
      'metadata-var3: a place of its own, OpenID appended to the issuer',
      {
        resourcePaths: ['/custom/metadata.json'],
        issuerPath: '/tenant1',
        metadataPaths: ['/tenant1/.well-known/openid-configuration'],
      },
      '/custom/metadata.json',
      [
        '/custom/metadata.json',
        `${oauthRoot}/tenant1`,
        `${openidRoot}/tenant1`,
        '/tenant1/.well-known/openid-configuration',
      ],
    ],
    ['a challenge that names nothing that is there', {}, '/nowhere', ['/nowhere', pathForm, oauthRoot]],
  ])('discovery asks in order: %s', async (_name, places, challengePath, asked) => {
    const own = await startOAuthServer(places)
    const request = challengePath === undefined ? {} : { resourceMetadata: `${own.origin}${challengePath}` }
    const { metadata, isAssumed } = await find(request, {}, own)
    expect(own.paths()).toEqual(asked)
    expect(metadata.issuer).toBe(own.issuer)
    expect(isAssumed).toBe(false)
  })

  it('discovery uses the exact resource', async () => {
    const odd = (origin: string): string => origin.replace('http:', 'HTTP:')
    server.places = { resource: (origin) => ({ resource: odd(origin), scopes_supported: ['a'] }) }
    const { resource, resourceScopes } = await find()
    expect(resource).toBe(odd(server.origin))
    expect(resourceScopes).toEqual(['a'])
  })

  it('discovery follows redirects to https only', async () => {
    server.places = { resourcePaths: ['/moved'] }
    server.answers.set(pathForm, () => ({ status: 308, headers: { location: '/moved' } }))
    server.answers.set(oauthRoot, () => ({ status: 302, headers: { location: 'http://as.example/' } }))
    await expect(find()).rejects.toMatchObject({ fault: 'no_metadata' })
    expect(server.paths()).toEqual([pathForm, '/moved', oauthRoot, openidRoot])
  })

  it('discovery follows three redirects, and no circle', async () => {
    server.answers.set(pathForm, () => ({ status: 307, headers: { location: pathForm } }))
    server.answers.set(rootForm, () => ({ status: 307, headers: { location: 'file:///etc/passwd' } }))
    expect((await find()).metadata.issuer).toBe(server.origin)
    expect(server.paths()).toEqual([pathForm, pathForm, pathForm, pathForm, rootForm, oauthRoot])
  })

  it('discovery reports an invalid document', async () => {
    server.metadata = { filler: 'x'.repeat(300_000) }
    const fault = {
      fault: 'bad_metadata',
      message: expect.stringMatching(
        /oauth-authorization-server: it is not valid JSON, or is larger than/,
      ) as string,
    }
    await expect(find()).rejects.toMatchObject(fault)
    const headers = { 'content-type': 'application/json; charset=utf-8' }
    server.answers.set(oauthRoot, () => ({ headers, body: '{"issuer": "https://cut' }))
    await expect(find()).rejects.toMatchObject(fault)
    server.answers.set(pathForm, () => ({ headers, body: '{,}' }))
    server.answers.set(oauthRoot, () => ({ status: 404 }))
    await expect(find()).rejects.toMatchObject({
      fault: 'bad_metadata',
      message: expect.stringContaining('protected-resource/mcp: it is not valid JSON') as string,
    })
  })

  it('discovery ignores the prototype of a document', async () => {
    const polluted = { token_endpoint: 'https://evil.example/token', isAssumed: true }
    server.metadata = JSON.parse(
      JSON.stringify({ token_endpoint: null, PROTO: polluted }).replace('PROTO', '__proto__'),
    )
    await expect(find()).rejects.toThrow(/The token_endpoint of .* is missing/)
    expect({}).not.toHaveProperty('token_endpoint')
  })

  it('discovery ignores a challenge that names plain http elsewhere', async () => {
    await find({ resourceMetadata: 'http://metadata.example/' })
    expect(server.paths()).toEqual([pathForm, oauthRoot])
  })

  it('discovery treats web pages, errors and refusals as missing documents', async () => {
    server.places = { resourcePaths: [rootForm] }
    server.answers.set(pathForm, () => ({ body: '<p>An app that answers everything</p>' }))
    server.answers.set(oauthRoot, () => ({ status: 401, body: { error: 'unauthorized' } }))
    server.answers.set(openidRoot, () => ({ body: { issuer: server.issuer } }))
    await expect(find()).rejects.toMatchObject({ fault: 'bad_metadata' })
    expect(server.paths()).toEqual([pathForm, rootForm, oauthRoot, openidRoot])
  })
})

describe('a server of 2025-03-26', () => {
  it('a server of 2025-03-26 has its metadata at the origin, and no resource', async () => {
    server.places = { resourcePaths: [] }
    const found = await find()
    expect(server.paths()).toEqual([pathForm, rootForm, oauthRoot])
    expect(found).toMatchObject({ resource: undefined, isAssumed: false })
    expect(found.metadata.authorization_endpoint).toBe(`${server.origin}/authorize`)
  })

  it('a server of 2025-03-26 may write its origin with a slash', async () => {
    server.places = { resourcePaths: [] }
    server.metadata = { issuer: `${server.origin}/` }
    expect((await find()).metadata.issuer).toBe(`${server.origin}/`)
  })

  it('a server of 2025-03-26 may have no metadata', async () => {
    server.places = { resourcePaths: [], metadataPaths: [] }
    const { metadata, isAssumed } = await find()
    expect(server.paths()).toEqual([pathForm, rootForm, oauthRoot, openidRoot])
    expect(isAssumed).toBe(true)
    expect(metadata).toEqual({
      issuer: server.origin,
      authorization_endpoint: `${server.origin}/authorize`,
      token_endpoint: `${server.origin}/token`,
      registration_endpoint: `${server.origin}/register`,
    })
  })

  it('a server whose challenge names metadata is not of 2025-03-26', async () => {
    server.places = { resourcePaths: [], metadataPaths: [] }
    const request = { resourceMetadata: `${server.origin}${pathForm}` }
    await expect(find(request)).rejects.toMatchObject({ fault: 'no_metadata' })
  })

  it('a server of 2025-03-26 may not name another issuer', async () => {
    server.places = { resourcePaths: [] }
    server.metadata = { issuer: 'https://honest.example' }
    await expect(find()).rejects.toMatchObject({ fault: 'issuer_mismatch' })
  })
})

describe('a server that wants another scheme', () => {
  const nothing = { resourcePaths: [], metadataPaths: [] }

  it.each<[schemes: string[], nextStep: RegExp]>([
    [['basic'], /base64 of USER:PASSWORD.*--header-file/],
    [['negotiate', 'basic'], /base64 of USER:PASSWORD/],
    [['negotiate', 'ntlm'], /does not speak it/],
    [['digest'], /does not speak it/],
    [['apikey'], /Authorization: SCHEME CREDENTIALS.*--header-file/],
  ])(
    'a server that requires another scheme and has no metadata is not used with OAuth: %j',
    async (otherSchemes, nextStep) => {
      server.places = nothing
      const refused = find({ otherSchemes })
      await expect(refused).rejects.toMatchObject({
        fault: 'no_metadata',
        nextStep: expect.stringMatching(nextStep) as string,
      })
    },
  )

  it('a server that requires another scheme and has metadata is used with OAuth', async () => {
    expect((await find({ otherSchemes: ['basic'] })).metadata.issuer).toBe(server.issuer)
  })

  it('a server without any challenge counts as one of 2025-03-26', async () => {
    server.places = nothing
    expect((await find()).isAssumed).toBe(true)
  })
})

describe('metadata behind a bot protection', () => {
  const wall = { status: 403, headers: { 'cf-mitigated': 'challenge' }, body: '<p>Just a moment</p>' }

  it.each([pathForm, oauthRoot])(
    'a bot protection before metadata is an error, not missing metadata: %s',
    async (path) => {
      server.places = { resourcePaths: [], metadataPaths: [] }
      server.answers.set(path, () => wall)
      await expect(find()).rejects.toMatchObject({ fault: 'blocked' })
    },
  )

  it('a bot protection before one form of metadata does not matter if another is readable', async () => {
    server.places = { metadataPaths: [openidRoot] }
    server.answers.set(oauthRoot, () => wall)
    expect((await find()).metadata.issuer).toBe(server.issuer)
  })
})

describe('failures before the user is prompted', () => {
  it.each<[name: string, metadata: Record<string, unknown>, fault: string]>([
    ['another issuer', { issuer: 'https://evil.example' }, 'issuer_mismatch'],
    ['another spelling of the host', { issuer: 'SPELLED' }, 'issuer_mismatch'],
    ['an issuer with a slash below its origin', { issuer: 'BELOW' }, 'issuer_mismatch'],
    ['no PKCE', { code_challenge_methods_supported: undefined }, 'no_pkce'],
    ['PKCE without S256', { code_challenge_methods_supported: ['plain'] }, 'no_pkce'],
    ['no authorization endpoint', { authorization_endpoint: undefined }, 'bad_metadata'],
    ['no token endpoint', { token_endpoint: undefined }, 'bad_metadata'],
    ['a token endpoint in plain text', { token_endpoint: 'http://as.example/token' }, 'bad_metadata'],
    ['a script to sign in at', { authorization_endpoint: 'javascript:alert(1)' }, 'bad_metadata'],
    ['a file to sign in at', { authorization_endpoint: 'file:///etc/passwd' }, 'bad_metadata'],
    ['plain text to sign in at', { authorization_endpoint: 'http://as.example/authorize' }, 'bad_metadata'],
    [
      'a name before the host',
      { authorization_endpoint: 'https://as.example@evil.example/authorize' },
      'bad_metadata',
    ],
    ['an endpoint that is not a string', { token_endpoint: ['https://as.example/token'] }, 'bad_metadata'],
    ['an issuer that is none', { issuer: 'as.example' }, 'bad_metadata'],
    ['no way to register', { registration_endpoint: undefined }, 'no_registration'],
    ['registering in plain text', { registration_endpoint: 'http://as.example/r' }, 'no_registration'],
  ])('the sign-in ends before the user is prompted: %s', async (_name, metadata, fault) => {
    const { issuer } = metadata
    server.metadata =
      issuer === 'SPELLED'
        ? { issuer: server.issuer.replace('http', 'HTTP') }
        : issuer === 'BELOW'
          ? { issuer: `${server.issuer}//` }
          : metadata
    await expect(find()).rejects.toMatchObject({ name: 'OAuthFailure', fault })
    expect(server.requests('/register')).toEqual([])
  })

  it('metadata of another resource ends the sign-in', async () => {
    server.places = { resource: () => ({ resource: 'https://evil.example/mcp' }) }
    await expect(find()).rejects.toMatchObject({ fault: 'resource_mismatch' })
    expect(server.paths()).toEqual([pathForm])
  })

  it.each<[string, (origin: string) => string, boolean]>([
    ['of the same server', (origin) => `${origin}/other/mcp`, true],
    ['of another server', () => 'https://evil.example/mcp', false],
    ['of another port', (origin) => `${origin.replace(/\d+$/, '1')}/mcp`, false],
    ['with what a shell reads', (origin) => `${origin}/mcp;id`, false],
  ])(
    'metadata of another resource offers a command for a plain URL of the same server only: a resource %s',
    async (_name, resourceOf, isOffered) => {
      server.places = { resource: () => ({ resource: resourceOf(server.issuer) }) }
      const error: unknown = await find().catch((reason: unknown) => reason)
      expect(error).toMatchObject({ fault: 'resource_mismatch' })
      expect((error as { nextStep?: string }).nextStep).toBe(
        isOffered ? `Did you mean: drawbridge login ${resourceOf(server.issuer)}` : undefined,
      )
    },
  )

  it('metadata of another resource is accepted if the user named the resource', async () => {
    server.places = { resource: () => ({ resource: 'https://inside.example/mcp' }) }
    const { resource } = await find({}, { resource: 'urn:mine' })
    expect(resource).toBe('urn:mine')
  })

  it('a failing server ends the sign-in, and is not taken for another kind', async () => {
    server.places = { resourcePaths: [] }
    server.answers.set(rootForm, () => ({ status: 503, headers: { 'retry-after': '7' } }))
    const failure = { fault: 'unavailable', retryAfterSeconds: 7 }
    await expect(find()).rejects.toMatchObject(failure)
    expect(server.paths()).toEqual([pathForm, rootForm])
  })

  it('one faulty form of metadata does not end the sign-in if another is valid', async () => {
    server.places = { metadataPaths: [openidRoot] }
    server.answers.set(oauthRoot, () => ({ status: 500 }))
    expect((await find()).metadata.issuer).toBe(server.issuer)
  })

  it('a server that does not respond ends the sign-in', async () => {
    const gone = await startOAuthServer()
    await gone.close()
    await expect(find({}, {}, gone)).rejects.toMatchObject({ name: 'NetworkError', fault: 'refused' })
  })
})

describe('an issuer that the metadata spells in another way', () => {
  it.each<[resource: string, metadata: string]>([
    ['', '/'],
    ['/', ''],
    ['/', '/'],
  ])(
    'issuers are equal with and without the final slash of the origin: "%s" and "%s"',
    async (asked, named) => {
      server.places = { resource: (origin) => ({ authorization_servers: [`${origin}${asked}`] }) }
      server.metadata = { issuer: `${server.origin}${named}` }
      const found = await find({ previous: usedBefore(server.origin) })
      expect(found).toMatchObject({ metadata: { issuer: `${server.origin}${named}` } })
      expect(found.askedFor).toBe(`${server.origin}${asked}`)
    },
  )

  it.each<[asked: string, named: string]>([
    ['/tenant', '/tenant/'],
    ['/tenant/', '/tenant'],
    ['', '/tenant'],
  ])('issuers differ by a slash below the origin: "%s" and "%s"', async (asked, named) => {
    server.places = {
      resource: (origin) => ({ authorization_servers: [`${origin}${asked}`] }),
      metadataPaths: [`${oauthRoot}${asked.replace(/\/$/, '')}`],
    }
    server.metadata = { issuer: `${server.origin}${named}` }
    await expect(find()).rejects.toMatchObject({ fault: 'issuer_mismatch' })
  })
})

describe('an issuer that the person accepts', () => {
  const other = server.origin.replace('127.0.0.1', 'localhost')
  const atTenant = (): void => {
    server.places = {
      resource: (origin) => ({ authorization_servers: [`${origin}/tenant`] }),
      metadataPaths: [`${oauthRoot}/tenant`],
    }
    server.metadata = { issuer: other }
  }
  const accepted = (changes: Partial<Credential> = {}): Credential => ({
    ...usedBefore(other),
    acceptedAt: `${server.origin}/tenant`,
    ...changes,
  })

  it('another issuer is named with the flag that accepts it', async () => {
    atTenant()
    await expect(find()).rejects.toMatchObject({
      fault: 'issuer_mismatch',
      nextStep: expect.stringContaining(`--accept-issuer ${other}`) as string,
    })
  })

  it('another issuer with shell characters is not put into a command', async () => {
    server.metadata = { issuer: `${other}/$(id)` }
    await expect(find()).rejects.toMatchObject({
      nextStep: expect.stringContaining('--accept-issuer URL') as string,
    })
  })

  it.each<[name: string, spell: (issuer: string) => string]>([
    ['as it is written', (issuer) => issuer],
    ['with its slash', (issuer) => `${issuer}/`],
  ])('an accepted issuer is used: %s', async (_name, spell) => {
    atTenant()
    const found = await find({}, { acceptIssuer: spell(other) })
    expect(found).toMatchObject({ metadata: { issuer: other }, askedFor: `${server.origin}/tenant` })
  })

  it('an accepted issuer is used at the origin of a server without resource metadata', async () => {
    server.places = { resourcePaths: [] }
    server.metadata = { issuer: other }
    expect((await find({}, { acceptIssuer: other })).metadata.issuer).toBe(other)
  })

  it('an accepted issuer does not allow any other', async () => {
    atTenant()
    const found = find({}, { acceptIssuer: 'https://login.example.org' })
    await expect(found).rejects.toMatchObject({ fault: 'issuer_mismatch' })
  })

  it('an accepted issuer is remembered with the login', async () => {
    atTenant()
    expect((await find({ previous: accepted() })).metadata.issuer).toBe(other)
  })

  it.each<[name: string, changes: Partial<Credential>]>([
    ['a login where nothing was accepted', { acceptedAt: undefined }],
    ['a login at another issuer', { issuer: 'https://elsewhere.example' }],
    ['metadata of another place', { acceptedAt: 'https://elsewhere.example' }],
  ])('an accepted issuer is not taken from %s', async (_name, changes) => {
    atTenant()
    await expect(find({ previous: accepted(changes) })).rejects.toMatchObject({ fault: 'issuer_mismatch' })
  })
})

describe('several authorization servers', () => {
  async function startTwo(): Promise<[OAuthServer, OAuthServer]> {
    const [first, second] = [await startOAuthServer(), await startOAuthServer()]
    server.places = { resource: () => ({ authorization_servers: [first.issuer, second.issuer] }) }
    return [first, second]
  }

  it('of several authorization servers, the first is used', async () => {
    const [first, second] = await startTwo()
    expect((await find()).metadata.issuer).toBe(first.issuer)
    expect(second.seen).toEqual([])
  })

  it('of several authorization servers, the one used before is kept', async () => {
    const [first, second] = await startTwo()
    const { metadata } = await find({ previous: usedBefore(second.issuer) })
    expect(metadata.issuer).toBe(second.issuer)
    expect(first.seen).toEqual([])
  })

  it('an authorization server used before is dropped once it is no longer named', async () => {
    const [first] = await startTwo()
    const { metadata } = await find({ previous: usedBefore('https://gone.example') })
    expect(metadata.issuer).toBe(first.issuer)
  })

  it.each<[name: string, spoil: (first: OAuthServer) => Promise<void> | void]>([
    ['is gone', (first) => first.close()],
    ['is ill', (first) => void first.answers.set(oauthRoot, () => ({ status: 500 }))],
    ['has no PKCE', (first) => void (first.metadata = { code_challenge_methods_supported: [] })],
    ['has no registration', (first) => void (first.metadata = { registration_endpoint: '' })],
  ])('the second authorization server is used if the first %s', async (_name, spoil) => {
    const [first, second] = await startTwo()
    await spoil(first)
    expect((await find()).metadata.issuer).toBe(second.issuer)
  })

  it('only the first few authorization servers are tried', async () => {
    const others = await startOAuthServer({ metadataPaths: [] })
    const issuers = Array.from({ length: 100 }, (_, index) => `${others.origin}/${index}`)
    server.places = { resource: () => ({ authorization_servers: issuers }) }
    await expect(find()).rejects.toMatchObject({ fault: 'no_metadata' })
    expect(others.seen).toHaveLength(15)
  })

  it('no other authorization server is tried if the first claims another issuer', async () => {
    const [first, second] = await startTwo()
    first.metadata = { issuer: second.issuer }
    await expect(find()).rejects.toMatchObject({ fault: 'issuer_mismatch' })
    expect(second.seen).toEqual([])
  })

  it('the error of the first authorization server is reported if none can be used', async () => {
    const [first, second] = await startTwo()
    first.metadata = { code_challenge_methods_supported: [] }
    await second.close()
    await expect(find()).rejects.toMatchObject({ fault: 'no_pkce' })
  })
})
