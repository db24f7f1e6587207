import { ScopeCatalogue } from '../tokens/scope.ts'
import { describe, expect, it } from 'vitest'
import {
  authorizationRequest,
  publicClient,
  resource,
} from '../../../tests/support/server/core/sign-in-sample.ts'
import { openMemoryStore } from '../../store/sqlite/sqlite.ts'
import { deviceGrantType } from '../clients/client.ts'
import {
  type AuthorizationRequestResult,
  parseAuthorizationRequest,
  requireOnce,
} from './authorization-request.ts'

const web = publicClient({ id: 'mcpc_web', redirectUris: ['https://client.example/callback?fixed=1'] })
const several = publicClient({
  id: 'mcpc_several',
  redirectUris: ['https://a.example/cb', 'https://b.example/cb'],
})
const { codeChallenge, redirectUri } = authorizationRequest()

type Changes = Record<string, string | readonly string[] | undefined>

/** Returns valid parameters with `changes` applied: undefined omits a parameter, a list repeats it. */
function parametersOf(changes: Changes): URLSearchParams {
  const good = {
    response_type: 'code',
    client_id: 'mcpc_public',
    redirect_uri: redirectUri,
    state: 'a b&c=d',
    scope: 'mcp',
    resource,
    code_challenge: codeChallenge,
    code_challenge_method: 'S256',
  }
  return new URLSearchParams(
    Object.entries({ ...good, ...changes }).flatMap(([name, value]) =>
      value === undefined ? [] : [value].flat().map((single): [string, string] => [name, single]),
    ),
  )
}

async function parse(changes: Changes = {}): Promise<AuthorizationRequestResult> {
  const store = openMemoryStore()
  await Promise.all([publicClient(), web, several].map((client) => store.addClient(client)))
  return parseAuthorizationRequest(parametersOf(changes), {
    clients: store,
    resource,
    scopes: new ScopeCatalogue(),
  })
}

describe('an accepted request', () => {
  it('an accepted authorization request has everything that was requested', async () => {
    expect(await parse()).toEqual({
      kind: 'accepted',
      client: publicClient(),
      loginHint: undefined,
      request: {
        clientId: 'mcpc_public',
        redirectUri,
        state: 'a b&c=d',
        scope: 'mcp',
        resource,
        codeChallenge,
      },
    })
  })

  it.each<[rule: string, changes: Changes, expected: Record<string, unknown>]>([
    ['RFC 6749 4.1.1: state is optional', { state: undefined }, { state: undefined }],
    ['RFC 6749 3.3: scope is optional', { scope: undefined }, { scope: 'mcp' }],
    ['RFC 8707: resource is optional and then ours', { resource: undefined }, { resource }],
    [
      'RFC 6749 3.1.2.3: the only registered URI need not be repeated',
      { client_id: web.id, redirect_uri: undefined },
      { redirectUri: web.redirectUris[0] },
    ],
    [
      'RFC 8252 7.3, RFC 9700 2.1: any loopback port',
      { redirect_uri: 'http://127.0.0.1:1/callback' },
      { redirectUri: 'http://127.0.0.1:1/callback' },
    ],
    [
      'RFC 6749 3.1: unknown parameters are ignored',
      { nonce: 'n', audience: 'x', prompt: 'consent' },
      { state: 'a b&c=d' },
    ],
    [
      'OpenID Connect Core 3.1.2.1: what is of no use here is ignored',
      {
        prompt: 'login consent select_account',
        max_age: '0',
        display: 'popup',
        ui_locales: 'de fr',
        claims: '{"userinfo":{}}',
        acr_values: 'x',
        id_token_hint: 'e30.e30.',
        nonce: 'n',
      },
      { state: 'a b&c=d' },
    ],
    ['a state of 4096 characters', { state: 's'.repeat(4096) }, { state: 's'.repeat(4096) }],
    // RFC 6749 section 3.1: "Parameters sent without a value MUST be treated as if they were omitted".
    [
      'RFC 6749 3.1, OAuth 2.1 3.1: empty optional parameters count as omitted',
      { scope: '', resource: '', response_mode: '', prompt: '', request: '', request_uri: '' },
      { resource },
    ],
    ['RFC 6749 3.1: an empty state is none', { state: '' }, { state: undefined }],
  ])('%s', async (_rule, changes, expected) => {
    expect(await parse(changes)).toMatchObject({ kind: 'accepted', request: expected })
  })

  it('an authorization request cuts a login hint to the length of an address', async () => {
    expect(await parse({ login_hint: 'ada@example.com' })).toMatchObject({ loginHint: 'ada@example.com' })
    expect(await parse({ login_hint: 'x'.repeat(500) })).toMatchObject({ loginHint: 'x'.repeat(320) })
  })
})

describe('RFC 6749 4.1.2.1, RFC 9700 4.11, OAuth 2.1 7.12.2: never a redirect before client and redirect URI are known', () => {
  it.each<[rule: string, changes: Changes, reason: string]>([
    ['no client', { client_id: undefined }, 'client_id_missing'],
    ['an unknown client', { client_id: 'mcpc_nobody' }, 'client_unknown'],
    [
      'no address of a client with several',
      { client_id: several.id, redirect_uri: undefined },
      'redirect_uri_missing',
    ],
    ['the address of another client', { redirect_uri: 'https://a.example/cb' }, 'redirect_uri_mismatch'],
    ['two clients, the first one empty', { client_id: ['', 'mcpc_public'] }, 'parameter_repeated'],
    ['two addresses, the first one empty', { redirect_uri: ['', redirectUri] }, 'parameter_repeated'],
    [
      'a bad address beside every other fault',
      { redirect_uri: 'https://evil.example/', response_type: 'token', prompt: 'none' },
      'redirect_uri_mismatch',
    ],
  ])('%s', async (_rule, changes, reason) => {
    expect(await parse(changes)).toMatchObject({ kind: 'unsafe', reason })
  })

  it('a refused authorization request names the client once it is known, for the page', async () => {
    expect(await parse({ client_id: web.id, redirect_uri: 'https://evil.example/' })).toMatchObject({
      client: web,
    })
  })
})

describe('refusals that go back to the client', () => {
  it.each<[rule: string, changes: Changes, error: string]>([
    ['RFC 6749 3.1.1: response_type is missing', { response_type: undefined }, 'invalid_request'],
    ['RFC 6749 3.1: an empty response_type is a missing one', { response_type: '' }, 'invalid_request'],
    ['OAuth 2.1: no implicit flow', { response_type: 'token' }, 'unsupported_response_type'],
    ['RFC 7636 4.4.1: no code_challenge', { code_challenge: undefined }, 'invalid_request'],
    ['RFC 7636 4.4.1: plain', { code_challenge_method: 'plain' }, 'invalid_request'],
    ['RFC 7636 4.3: an omitted method means plain', { code_challenge_method: undefined }, 'invalid_request'],
    ['RFC 7636 4.3: the method is case-sensitive', { code_challenge_method: 's256' }, 'invalid_request'],
    ['a challenge of 42 characters', { code_challenge: codeChallenge.slice(1) }, 'invalid_request'],
    ['RFC 8707 2: a foreign resource', { resource: 'https://other.example/mcp' }, 'invalid_target'],
    ['another response_mode', { response_mode: 'fragment' }, 'invalid_request'],
    ['RFC 9101: a request object', { request: 'e30.e30.' }, 'request_not_supported'],
    ['RFC 9101: a request_uri', { request_uri: 'https://evil.example/' }, 'request_uri_not_supported'],
    ['RFC 6749 3.3: a quote in scope', { scope: 'mcp "admin"' }, 'invalid_scope'],
    ['OpenID Connect 3.1.2.6: prompt=none', { prompt: 'none' }, 'login_required'],
    ['RFC 6749 3.1: an unknown parameter twice', { x: ['1', '2'] }, 'invalid_request'],
  ])('%s', async (_rule, changes, error) => {
    const refused = await parse(changes)
    expect(refused).toMatchObject({ kind: 'refused', redirectUri, state: 'a b&c=d', error })
  })

  it.each<[rule: string, changes: Changes]>([
    ['a repeated state, which one would be right', { state: ['a', 'b'] }],
    ['a state of more than 4096 characters', { state: 's'.repeat(4097) }],
    ['an empty state', { state: '', response_type: 'token' }],
    ['no state', { state: undefined, response_type: 'token' }],
  ])('a refusal echoes no state for %s', async (_rule, changes) => {
    const refused = await parse(changes)
    expect(refused).toMatchObject({ kind: 'refused', redirectUri })
    expect(refused).toHaveProperty('state', undefined)
  })

  it('RFC 6749 4.1.2.1: a client registered without authorization_code is not authorized', async () => {
    const deviceOnly = publicClient({ id: 'mcpc_device', grantTypes: [deviceGrantType] })
    const store = openMemoryStore()
    await store.addClient(deviceOnly)
    const ports = { clients: store, resource, scopes: new ScopeCatalogue() }
    const refused = await parseAuthorizationRequest(parametersOf({ client_id: deviceOnly.id }), ports)
    expect(refused).toMatchObject({ kind: 'refused', redirectUri, error: 'unauthorized_client' })
  })

  it.each<[what: string, changes: Changes]>([
    ['a hostile parameter name', { '"<script>\\\r\nSet-Cookie: a=b é': ['1', '2'] }],
    ['an unsupported response_type', { response_type: 'token' }],
  ])('RFC 6749 4.1.2.1: the description of %s holds only permitted characters', async (_what, changes) => {
    const refused = await parse(changes)
    expect(refused).toMatchObject({ description: expect.stringMatching(/^[\x20\x21\x23-\x5B\x5D-\x7E]+$/) })
  })
})

it.each<[rule: string, query: string, refused: boolean]>([
  ['none', 'a=1&b=2', false],
  ['RFC 8707 2: resource may be repeated', 'resource=a&resource=b', false],
  ['RFC 6749 3.1', 'a=1&b=2&a=1', true],
  ['encoded names are the same name', 'a=1&%61=2', true],
  ['names of every object', '__proto__=1&constructor=2', false],
])('requireOnce: %s', (_rule, query, refused) => {
  const require = (): void => requireOnce(new URLSearchParams(query))
  if (refused) expect(require).toThrow(expect.objectContaining({ code: 'invalid_request' }))
  else expect(require).not.toThrow()
})
