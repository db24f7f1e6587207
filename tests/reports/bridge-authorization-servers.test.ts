import { describe, expect, it } from 'vitest'
import { type Stage, staged } from '../support/bridge/process/stage.ts'
import type { Received } from '../support/remote/received.ts'
import type { Remote, RemoteOptions } from '../support/remote/remote.ts'
import { login, openBridge, signInAndCall } from './odd-server.ts'

/** An ordinary server whose authorization server describes itself in its own way. */
async function remoteWith(
  stage: Stage,
  metadata: (origin: string) => Record<string, unknown>,
  options: RemoteOptions = {},
): Promise<Remote> {
  const authorization = { metadata: {}, response: {}, ...options.authorization }
  const remote = await stage.remote({ auth: true, ...options, authorization })
  authorization.metadata = { ...metadata(remote.origin), ...authorization.metadata }
  return remote
}

const resourceMetadata = '/.well-known/oauth-protected-resource/mcp'

/** Answers with resource metadata that names this authorization server. */
function naming(server: (origin: string) => string): (request: Received) => boolean {
  return (request) => {
    if (request.path !== resourceMetadata) return false
    const { origin } = request
    request.json(200, { resource: `${origin}/mcp`, authorization_servers: [server(origin)] })
    return true
  }
}

describe.concurrent('the client authentication at a token endpoint', () => {
  const both = ['client_secret_basic', 'client_secret_post']
  it.each<[name: string, listed: string[] | undefined, registered: string]>([
    ['takes the method none where it is listed', ['client_secret_basic', 'none'], 'none'],
    ['takes the method none where nothing is listed', undefined, 'none'],
    ['is in the body where there is a choice', both, 'client_secret_post'],
    ['is in the body where only that is listed', ['client_secret_post'], 'client_secret_post'],
    ['is in the header where only that is listed', ['client_secret_basic'], 'client_secret_basic'],
  ])('the client authentication %s, and always names the client in the body', (_name, listed, registered) =>
    staged(async (stage) => {
      const remote = await remoteWith(stage, () => ({ token_endpoint_auth_methods_supported: listed }), {
        handle: refuseWithoutClientId,
      })
      expect(await login(stage, remote.url)).toMatchObject({ code: 0 })
      remote.revokeAccessTokens()
      const { bridge } = await openBridge(stage, remote.url)
      expect(await bridge.call('echo', { text: 'renewed' })).toBe('renewed')
      const asked = remote.received.find(({ path }) => path === '/register')
      expect(asked?.body['token_endpoint_auth_method']).toBe(registered)
      const sent = remote.received.filter(({ path }) => path === '/token')
      expect(sent.map(({ text }) => new URLSearchParams(text).get('grant_type'))).toEqual(
        expect.arrayContaining(['authorization_code', 'refresh_token']),
      )
      for (const { headers, text } of sent) {
        const isInHeader = registered === 'client_secret_basic'
        expect(headers.authorization?.startsWith('Basic ') ?? false).toBe(isInHeader)
        expect(new URLSearchParams(text).has('client_secret')).toBe(registered === 'client_secret_post')
      }
    })(),
  )
})

describe.concurrent('a registration that is refused for its method', () => {
  const both = ['client_secret_basic', 'client_secret_post']
  const about = 'token_endpoint_auth_method none is not supported'
  it.each<[name: string, listed: string[] | undefined, said: object, accepted: string]>([
    ['where nothing is listed', undefined, { error_description: about }, 'client_secret_post'],
    [
      'where none is listed all the same',
      ['none', ...both],
      { error_description: about },
      'client_secret_post',
    ],
    ['without a reason', undefined, {}, 'client_secret_post'],
    [
      'for want of a secret',
      undefined,
      { error_description: 'Public clients are off' },
      'client_secret_basic',
    ],
  ])(
    'a registration that is refused for its method is tried with a secret: %s',
    (_name, listed, said, accepted) =>
      staged(async (stage) => {
        const remote = await remoteWith(stage, () => ({ token_endpoint_auth_methods_supported: listed }), {
          handle({ path, body, json }) {
            if (path !== '/register' || body['token_endpoint_auth_method'] === accepted) return false
            json(400, { error: 'invalid_client_metadata', ...said })
            return true
          },
        })
        expect(await signInAndCall(stage, remote.url)).toBe('signed in')
      })(),
  )

  it('a refused registration tries no authentication method that the user did not choose', () =>
    staged(async (stage) => {
      const remote = await stage.remote({
        auth: true,
        handle({ path, json }) {
          if (path === '/register') json(400, { error: 'invalid_client_metadata', error_description: about })
          return path === '/register'
        },
      })
      const chosen = '{"token_endpoint_auth_method":"none"}'
      const flags = ['--static-oauth-client-metadata', chosen]
      expect((await login(stage, remote.url, { flags })).stderr).toContain(about)
      expect(remote.received.filter(({ path }) => path === '/register')).toHaveLength(1)
    })())
})

/** As servers do that look the client up before they look at the header. */
function refuseWithoutClientId(request: Received): boolean {
  if (request.path !== '/token' || new URLSearchParams(request.text).has('client_id')) return false
  request.json(401, { error: 'invalid_client', error_description: 'Missing client_id' })
  return true
}

describe.concurrent('an issuer', () => {
  it.each<[resource: string, metadata: string, response: string]>([
    ['', '/', ''],
    ['', '/', '/'],
    ['/', '', '/'],
    ['/', '', ''],
    ['/', '/', '/'],
  ])(
    'an issuer is the same with and without the slash of its origin: "%s" in the resource, "%s" in its metadata, "%s" in the response',
    (resource, metadata, iss) =>
      staged(async (stage) => {
        const response: Record<string, string> = {}
        const remote = await remoteWith(stage, (origin) => ({ issuer: `${origin}${metadata}` }), {
          authorization: { response },
          handle: naming((origin) => `${origin}${resource}`),
        })
        response['iss'] = `${remote.origin}${iss}`
        expect(await signInAndCall(stage, remote.url)).toBe('signed in')
      })(),
  )

  it('a stored login matches its issuer with and without the final slash: its registration serves again', () =>
    staged(async (stage) => {
      let slash = ''
      const remote = await remoteWith(stage, () => ({}), { handle: naming((origin) => `${origin}${slash}`) })
      expect((await login(stage, remote.url)).code).toBe(0)
      slash = '/'
      expect((await login(stage, remote.url, { flags: ['--force'] })).code).toBe(0)
      expect(remote.counters.registrations).toBe(1)
    })())

  it.each<[name: string, resource: string, metadata: (origin: string) => string]>([
    ['a tenant whose metadata names the bare host', '/tenant', (origin) => origin],
    ['a host whose metadata names another one', '', (origin) => origin.replace('127.0.0.1', 'localhost')],
    ['a tenant whose metadata has a slash more', '/tenant', (origin) => `${origin}/tenant/`],
  ])(
    'an issuer of %s is named with the flag that accepts it, which the login remembers',
    (_name, path, named) =>
      staged(async (stage) => {
        const isNamed = naming((origin) => `${origin}${path}`)
        const authorization = {
          metadata: {} as Record<string, unknown>,
          response: {} as Record<string, string>,
        }
        const remote = await stage.remote({
          auth: true,
          authorization,
          handle(request) {
            if (path === '' || request.path !== `/.well-known/oauth-authorization-server${path}`)
              return isNamed(request)
            request.json(200, { ...endpoints(request.origin), issuer: named(request.origin) })
            return true
          },
        })
        const issuer = named(remote.origin)
        Object.assign(authorization.metadata, { issuer })
        Object.assign(authorization.response, { iss: issuer })
        const refused = await login(stage, remote.url)
        expect(refused.code).toBe(1)
        expect(refused.stderr).toContain(`names another issuer, "${issuer}"`)
        expect(refused.stderr).toContain(`--accept-issuer ${issuer}`)
        expect(await signInAndCall(stage, remote.url, { flags: ['--accept-issuer', issuer] })).toBe(
          'signed in',
        )
        // The decision belongs to the login: signing in again needs no flag.
        expect((await login(stage, remote.url, { flags: ['--force'] })).code).toBe(0)
      })(),
  )
})

function endpoints(origin: string): Record<string, unknown> {
  return {
    authorization_endpoint: `${origin}/authorize`,
    token_endpoint: `${origin}/token`,
    registration_endpoint: `${origin}/register`,
    response_types_supported: ['code'],
    code_challenge_methods_supported: ['S256'],
  }
}

describe.concurrent('a registration that refuses the address of this computer', () => {
  const hasAddress = ({ path, text }: Received): boolean =>
    path === '/register' && text.includes('http://127.0.0.1')

  it.each<[name: string, status: number, body: unknown]>([
    ['with its code', 400, { error: 'invalid_redirect_uri', error_description: 'https or http://localhost' }],
    ['as metadata', 400, { error: 'invalid_client_metadata', error_description: 'redirect_uris: no' }],
    ['as a validator', 422, { detail: [{ loc: ['body', 'redirect_uris', 0], msg: 'Value error' }] }],
    ['without a code', 400, { message: 'Only localhost redirects are allowed' }],
  ])('a registration that refuses 127.0.0.1 %s gets localhost', (_name, status, body) =>
    staged(async (stage) => {
      const remote = await stage.remote({
        auth: true,
        handle(request) {
          if (!hasAddress(request)) return false
          request.json(status, body)
          return true
        },
      })
      expect(await signInAndCall(stage, remote.url)).toBe('signed in')
    })(),
  )

  it('a registration that refuses localhost too is quoted, with the flags that help', () =>
    staged(async (stage) => {
      const remote = await stage.remote({
        auth: true,
        handle(request) {
          if (request.path !== '/register') return false
          request.json(400, { error: 'invalid_redirect_uri', error_description: 'https only' })
          return true
        },
      })
      const { code, stderr } = await login(stage, remote.url)
      expect(code).toBe(1)
      expect(stderr).toContain('https only')
      expect(stderr).toMatch(/--callback.*--static-oauth-client-info/)
    })())
})
