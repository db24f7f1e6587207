import { describe, expect, it } from 'vitest'
import type { Credential } from '../../credentials/credential.ts'
import { discover, type DiscoveredServer } from './discovery.ts'
import type { OAuthConfig } from '../oauth-config.ts'
import type { SignInRequest } from '../login-port.ts'
import { createTestHttp, oauthContext } from '../../../tests/support/bridge/oauth/oauth-ports.ts'
import {
  type OAuthServer,
  type OAuthServerPlaces,
  loginAt,
  startOAuthServer,
} from '../../../tests/support/bridge/oauth/oauth-server.ts'

const pathForm = '/.well-known/oauth-protected-resource/mcp'
const rootForm = '/.well-known/oauth-protected-resource'
const oauthRoot = '/.well-known/oauth-authorization-server'
const openidRoot = '/.well-known/openid-configuration'

async function find(
  server: OAuthServer,
  request: SignInRequest = {},
  changes: Partial<OAuthConfig> = {},
): Promise<DiscoveredServer> {
  const http = createTestHttp()
  try {
    return await discover(request, oauthContext(http, server.serverUrl, changes))
  } finally {
    http.close()
  }
}

const usedBefore = (issuer: string): Credential => loginAt({ origin: issuer })

describe('what is asked for, and in which order', () => {
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
  ])('%s', async (_name, places, challengePath, asked) => {
    const server = await startOAuthServer(places)
    const request =
      challengePath === undefined ? {} : { resourceMetadata: `${server.origin}${challengePath}` }
    const { metadata, isAssumed } = await find(server, request)
    expect(server.paths()).toEqual(asked)
    expect(metadata.issuer).toBe(server.issuer)
    expect(isAssumed).toBe(false)
  })

  it('uses the exact resource', async () => {
    const odd = (origin: string): string => origin.replace('http:', 'HTTP:')
    const server = await startOAuthServer({
      resource: (origin) => ({ resource: odd(origin), scopes_supported: ['a'] }),
    })
    const { resource, resourceScopes } = await find(server)
    expect(resource).toBe(odd(server.origin))
    expect(resourceScopes).toEqual(['a'])
  })

  it('follows redirects of documents, and not to where no https is', async () => {
    const server = await startOAuthServer({ resourcePaths: ['/moved'] })
    server.answers.set(pathForm, () => ({ status: 308, headers: { location: '/moved' } }))
    server.answers.set(oauthRoot, () => ({ status: 302, headers: { location: 'http://as.example/' } }))
    await expect(find(server)).rejects.toMatchObject({ fault: 'no_metadata' })
    expect(server.paths()).toEqual([pathForm, '/moved', oauthRoot, openidRoot])
  })

  it('follows three redirects, not a circle', async () => {
    const server = await startOAuthServer()
    server.answers.set(pathForm, () => ({ status: 307, headers: { location: pathForm } }))
    server.answers.set(rootForm, () => ({ status: 307, headers: { location: 'file:///etc/passwd' } }))
    expect((await find(server)).metadata.issuer).toBe(server.origin)
    expect(server.paths()).toEqual([pathForm, pathForm, pathForm, pathForm, rootForm, oauthRoot])
  })

  it('reports any invalid document', async () => {
    const server = await startOAuthServer()
    server.metadata = { filler: 'x'.repeat(300_000) }
    const fault = {
      fault: 'bad_metadata',
      message: expect.stringMatching(
        /oauth-authorization-server: it is not valid JSON, or is larger than/,
      ) as string,
    }
    await expect(find(server)).rejects.toMatchObject(fault)
    const headers = { 'content-type': 'application/json; charset=utf-8' }
    server.answers.set(oauthRoot, () => ({ headers, body: '{"issuer": "https://cut' }))
    await expect(find(server)).rejects.toMatchObject(fault)
    server.answers.set(pathForm, () => ({ headers, body: '{,}' }))
    server.answers.set(oauthRoot, () => ({ status: 404 }))
    await expect(find(server)).rejects.toMatchObject({
      fault: 'bad_metadata',
      message: expect.stringContaining('protected-resource/mcp: it is not valid JSON') as string,
    })
  })

  it('takes nothing from what a document calls its prototype', async () => {
    const server = await startOAuthServer()
    const polluted = { token_endpoint: 'https://evil.example/token', isAssumed: true }
    server.metadata = JSON.parse(
      JSON.stringify({ token_endpoint: null, PROTO: polluted }).replace('PROTO', '__proto__'),
    )
    await expect(find(server)).rejects.toThrow(/The token_endpoint of .* is missing/)
    expect({}).not.toHaveProperty('token_endpoint')
  })

  it('takes no place of a challenge that is plain http elsewhere', async () => {
    const server = await startOAuthServer()
    await find(server, { resourceMetadata: 'http://metadata.example/' })
    expect(server.paths()).toEqual([pathForm, oauthRoot])
  })

  it('takes web pages, errors and refusals for nothing', async () => {
    const server = await startOAuthServer({ resourcePaths: [rootForm] })
    server.answers.set(pathForm, () => ({ body: '<p>An app that answers everything</p>' }))
    server.answers.set(oauthRoot, () => ({ status: 401, body: { error: 'unauthorized' } }))
    server.answers.set(openidRoot, () => ({ body: { issuer: server.issuer } }))
    await expect(find(server)).rejects.toMatchObject({ fault: 'bad_metadata' })
    expect(server.paths()).toEqual([pathForm, rootForm, oauthRoot, openidRoot])
  })
})

describe('a server of 2025-03-26', () => {
  it('has its metadata at the origin, and no resource', async () => {
    const server = await startOAuthServer({ resourcePaths: [] })
    const found = await find(server)
    expect(server.paths()).toEqual([pathForm, rootForm, oauthRoot])
    expect(found).toMatchObject({ resource: undefined, isAssumed: false })
    expect(found.metadata.authorization_endpoint).toBe(`${server.origin}/authorize`)
  })

  it('may write its origin with a slash', async () => {
    const server = await startOAuthServer({ resourcePaths: [] })
    server.metadata = { issuer: `${server.origin}/` }
    expect((await find(server)).metadata.issuer).toBe(`${server.origin}/`)
  })

  it('may have no metadata', async () => {
    const server = await startOAuthServer({ resourcePaths: [], metadataPaths: [] })
    const { metadata, isAssumed } = await find(server)
    expect(server.paths()).toEqual([pathForm, rootForm, oauthRoot, openidRoot])
    expect(isAssumed).toBe(true)
    expect(metadata).toEqual({
      issuer: server.origin,
      authorization_endpoint: `${server.origin}/authorize`,
      token_endpoint: `${server.origin}/token`,
      registration_endpoint: `${server.origin}/register`,
    })
  })

  it('is none whose challenge knows metadata', async () => {
    const server = await startOAuthServer({ resourcePaths: [], metadataPaths: [] })
    const request = { resourceMetadata: `${server.origin}${pathForm}` }
    await expect(find(server, request)).rejects.toMatchObject({ fault: 'no_metadata' })
  })

  it('may not answer in the name of another issuer', async () => {
    const server = await startOAuthServer({ resourcePaths: [] })
    server.metadata = { issuer: 'https://honest.example' }
    await expect(find(server)).rejects.toMatchObject({ fault: 'issuer_mismatch' })
  })
})

describe('what ends a sign-in before the user is prompted', () => {
  it.each<[name: string, metadata: Record<string, unknown>, fault: string]>([
    ['another issuer', { issuer: 'https://evil.example' }, 'issuer_mismatch'],
    ['an issuer with a slash more', { issuer: 'SLASH' }, 'issuer_mismatch'],
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
  ])('%s', async (_name, metadata, fault) => {
    const server = await startOAuthServer()
    server.metadata = metadata['issuer'] === 'SLASH' ? { issuer: `${server.issuer}/` } : metadata
    await expect(find(server)).rejects.toMatchObject({ name: 'OAuthFailure', fault })
    expect(server.requests('/register')).toEqual([])
  })

  it('metadata of another resource', async () => {
    const server = await startOAuthServer({ resource: () => ({ resource: 'https://evil.example/mcp' }) })
    await expect(find(server)).rejects.toMatchObject({ fault: 'resource_mismatch' })
    expect(server.paths()).toEqual([pathForm])
  })

  it.each<[string, (origin: string) => string, boolean]>([
    ['of the same server', (origin) => `${origin}/other/mcp`, true],
    ['of another server', () => 'https://evil.example/mcp', false],
    ['of another port', (origin) => `${origin.replace(/\d+$/, '1')}/mcp`, false],
    ['with what a shell reads', (origin) => `${origin}/mcp;id`, false],
  ])('a resource %s is offered as a command, or not', async (_name, resourceOf, isOffered) => {
    const server = await startOAuthServer({ resource: () => ({ resource: resourceOf(server.issuer) }) })
    const error: unknown = await find(server).catch((reason: unknown) => reason)
    expect(error).toMatchObject({ fault: 'resource_mismatch' })
    expect((error as { nextStep?: string }).nextStep).toBe(
      isOffered ? `Did you mean: drawbridge login ${resourceOf(server.issuer)}` : undefined,
    )
  })

  it('but not when the user named the resource', async () => {
    const server = await startOAuthServer({ resource: () => ({ resource: 'https://inside.example/mcp' }) })
    const { resource } = await find(server, {}, { resource: 'urn:mine' })
    expect(resource).toBe('urn:mine')
  })

  it('a failing server, which is not mistaken for another kind', async () => {
    const server = await startOAuthServer({ resourcePaths: [] })
    server.answers.set(rootForm, () => ({ status: 503, headers: { 'retry-after': '7' } }))
    const failure = { fault: 'unavailable', retryAfterSeconds: 7 }
    await expect(find(server)).rejects.toMatchObject(failure)
    expect(server.paths()).toEqual([pathForm, rootForm])
  })

  it('but not one form of the metadata that is ill while another is well', async () => {
    const server = await startOAuthServer({ metadataPaths: [openidRoot] })
    server.answers.set(oauthRoot, () => ({ status: 500 }))
    expect((await find(server)).metadata.issuer).toBe(server.issuer)
  })

  it('a server that does not respond', async () => {
    const server = await startOAuthServer()
    await server.close()
    await expect(find(server)).rejects.toMatchObject({ name: 'NetworkError', fault: 'refused' })
  })
})

describe('several authorization servers', () => {
  async function startWithTwo(): Promise<[OAuthServer, OAuthServer, OAuthServer]> {
    const [first, second] = [await startOAuthServer(), await startOAuthServer()]
    const resource = (): object => ({ authorization_servers: [first.issuer, second.issuer] })
    return [await startOAuthServer({ resource: () => ({ ...resource() }) }), first, second]
  }

  it('the first', async () => {
    const [server, first, second] = await startWithTwo()
    expect((await find(server)).metadata.issuer).toBe(first.issuer)
    expect(second.seen).toEqual([])
  })

  it('the one used before', async () => {
    const [server, first, second] = await startWithTwo()
    const { metadata } = await find(server, { previous: usedBefore(second.issuer) })
    expect(metadata.issuer).toBe(second.issuer)
    expect(first.seen).toEqual([])
  })

  it('not the one used before, when it is no longer named', async () => {
    const [server, first] = await startWithTwo()
    const { metadata } = await find(server, { previous: usedBefore('https://gone.example') })
    expect(metadata.issuer).toBe(first.issuer)
  })

  it.each<[name: string, spoil: (first: OAuthServer) => Promise<void> | void]>([
    ['is gone', (first) => first.close()],
    ['is ill', (first) => void first.answers.set(oauthRoot, () => ({ status: 500 }))],
    ['has no PKCE', (first) => void (first.metadata = { code_challenge_methods_supported: [] })],
    ['has no registration', (first) => void (first.metadata = { registration_endpoint: '' })],
  ])('the second, when the first %s', async (_name, spoil) => {
    const [server, first, second] = await startWithTwo()
    await spoil(first)
    expect((await find(server)).metadata.issuer).toBe(second.issuer)
  })

  it('only the first few, however many are named', async () => {
    const others = await startOAuthServer({ metadataPaths: [] })
    const issuers = Array.from({ length: 100 }, (_, index) => `${others.origin}/${index}`)
    const server = await startOAuthServer({ resource: () => ({ authorization_servers: issuers }) })
    await expect(find(server)).rejects.toMatchObject({ fault: 'no_metadata' })
    expect(others.seen).toHaveLength(15)
  })

  it('none, when the first claims another issuer', async () => {
    const [server, first, second] = await startWithTwo()
    first.metadata = { issuer: second.issuer }
    await expect(find(server)).rejects.toMatchObject({ fault: 'issuer_mismatch' })
    expect(second.seen).toEqual([])
  })

  it('the reason of the first, when none can be used', async () => {
    const [server, first, second] = await startWithTwo()
    first.metadata = { code_challenge_methods_supported: [] }
    await second.close()
    await expect(find(server)).rejects.toMatchObject({ fault: 'no_pkce' })
  })
})
