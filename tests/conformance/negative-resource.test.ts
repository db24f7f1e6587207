import { expect } from 'vitest'
import { type CaseRequest, expecting, type Expected, type NegativeCase, row, rows } from './negative-case.ts'
import { describeCases } from './negative-suite.ts'

const server = '/.well-known/oauth-authorization-server'
const resource = '/.well-known/oauth-protected-resource/mcp'
const issuer = 'http://localhost:8787'

const bad = (error: string, status: number): Expected => ({ status, error })
const get = (path: string, headers: Record<string, string> = {}): CaseRequest => ({ path, headers })

const discovery: NegativeCase[] = [
  ...rows(expecting({ status: 404, json: { error: 'not_found' } }, get), {
    'RFC 8414 3: another suffix is not found, as JSON': `${server}/other`,
    'RFC 8414 3: another name is not found, as JSON': '/.well-known/oauth-server',
    'RFC 9728 3.1: a resource that is not here': '/.well-known/oauth-protected-resource/other',
  }),
  row(
    'RFC 8414 3.1: POST',
    { path: server, method: 'POST' },
    { ...bad('method_not_allowed', 405), headers: { allow: /\bGET\b/ } },
  ),
  ...rows(
    expecting({ status: 200 }, (path: string) => get(path, { authorization: 'Bearer wrong' })),
    {
      'RFC 8414 3.1: a bad token does not hide it': server,
      'RFC 9728 3.1: a bad token does not hide it': resource,
    },
  ),
  row(
    'RFC 8414 3.3: forwarding headers do not change the issuer',
    get(server, {
      'x-forwarded-host': 'evil.example',
      'x-forwarded-proto': 'https',
      forwarded: 'host=evil.example',
    }),
    { status: 200, json: { issuer } },
  ),
  row(
    'RFC 9728 3.3: forwarding headers do not change the resource',
    get(resource, { 'x-forwarded-host': 'evil.example' }),
    { status: 200, json: { resource: `${issuer}/mcp`, authorization_servers: [issuer] } },
  ),
  row(
    'RFC 8414 2: the one issuer, without a slash, in the OpenID form too',
    get('/.well-known/openid-configuration'),
    { status: 200, json: { issuer } },
  ),
  row(
    'RFC 9110 7.4: a request for another host, as by DNS rebinding',
    get(server, { host: 'evil.example' }),
    { status: 421, json: { error: 'misdirected_request' } },
  ),
  ...promises(server, {
    'RFC 9700 2.1.2: only codes are offered': {
      response_types_supported: ['code'],
      response_modes_supported: ['query'],
    },
    'RFC 9700 2.1.1: only S256 is offered': { code_challenge_methods_supported: ['S256'] },
    'RFC 8725 3.2: no symmetric algorithm and no unsigned one is offered': {
      token_endpoint_auth_signing_alg_values_supported: ['ES256', 'EdDSA', 'PS256', 'RS256'],
    },
    'RFC 8414 2: introspection is not for public clients': {
      introspection_endpoint_auth_methods_supported: [
        'client_secret_basic',
        'client_secret_post',
        'private_key_jwt',
      ],
    },
    'RFC 9207 3, MCP auth Authorization-Response-Validation: that iss comes is said': {
      authorization_response_iss_parameter_supported: true,
    },
    'MCP auth Client-ID-Metadata-Documents, CIMD 5: said together with the method none': {
      client_id_metadata_document_supported: true,
      token_endpoint_auth_methods_supported: expect.arrayContaining(['none']),
    },
  }),
  ...promises(resource, {
    'RFC 9728 2: a token belongs into the header': { bearer_methods_supported: ['header'] },
    'MCP auth Refresh-Tokens: offline_access is no scope of the resource': { scopes_supported: ['mcp'] },
  }),
]

function promises(path: string, table: Record<string, Record<string, unknown>>): NegativeCase[] {
  return rows((json) => [{ request: get(path), expected: { status: 200, json } }], table)
}

const list = { jsonrpc: '2.0', id: 1, method: 'tools/list' }
const call = (headers: Record<string, string>, changes: Partial<CaseRequest> = {}): CaseRequest => ({
  path: '/mcp',
  json: list,
  headers: { accept: 'application/json, text/event-stream', ...headers },
  ...changes,
})

/** RFC 9728 section 5.1: where to begin, without an error. */
const challenged: Expected = {
  status: 401,
  headers: {
    'www-authenticate':
      /^Bearer (?!.*error=).*resource_metadata="http:\/\/localhost:8787\/\.well-known\/oauth-protected-resource\/mcp"/,
    'cache-control': /^no-store$/,
  },
}
const refused: Expected = {
  status: 401,
  headers: { 'www-authenticate': /^Bearer .*error="invalid_token"/, 'cache-control': /^no-store$/ },
}

const bearers: NegativeCase[] = [
  ...rows(
    expecting(challenged, (request: CaseRequest) => request),
    {
      'RFC 9728 5.1, MCP auth Protected-Resource-Metadata, OAuth 2.1 5.3.2: no credential at all': call({}),
      'RFC 9728 5.1: GET without a credential': { path: '/mcp' },
      'RFC 9728 5.1: DELETE without a credential': { path: '/mcp', method: 'DELETE' },
      'MCP auth Token-Handling: the token is looked at before the message': call(
        {},
        { json: { nonsense: true } },
      ),
      'RFC 6750 2.3, MCP auth Access-Token-Usage, RFC 9700 4.3.2, OAuth 2.1 5.1: a token in the query': call(
        {},
        { query: { access_token: '{access_token}' } },
      ),
      'RFC 6750 2.2: a token in a form': { path: '/mcp', form: { access_token: '{access_token}' } },
    },
  ),
  row(
    'RFC 9728 5.1: HEAD without a credential',
    { path: '/mcp', method: 'HEAD' },
    { status: 401, headers: { 'www-authenticate': /resource_metadata=/ } },
  ),
  row('MCP auth Scope-Selection-Strategy: the challenge names a scope, and not offline_access', call({}), {
    status: 401,
    headers: { 'www-authenticate': /scope="mcp"/ },
  }),
  ...rows(
    expecting(refused, (authorization: string) => call({ authorization })),
    {
      'RFC 6750 3.1: an unknown token': `Bearer mcpa_${'x'.repeat(50)}`,
      'RFC 6750 3.1: what no token is': 'Bearer {client}',
      'RFC 6750 2.1: no token after the scheme': 'Bearer',
      'RFC 6750 2.1: two tokens': 'Bearer {access_token} {access_token}',
      'RFC 6750 2.1: a comma between two tokens': 'Bearer {access_token}, Bearer x',
      'RFC 6750 2.1: another scheme': 'Basic {access_token}',
      'RFC 6750 2.1: the token without a scheme': '{access_token}',
      'RFC 9700 4.14: a refresh token is not an access token': 'Bearer {refresh_token}',
      'OAuth 2.1 5.2: an authorization code is not an access token': 'Bearer {code}',
      'RFC 8628 3.4: a device code is not an access token': 'Bearer {device_code}',
      'OAuth 2.1 5.2: an access token in another letter case': 'Bearer MCPA{access_token}',
      'OAuth 2.1 5.2: an access token with one character more': 'Bearer {access_token}x',
      'RFC 8725 3.2: a JWT without a signature':
        'Bearer eyJhbGciOiJub25lIn0.eyJzdWIiOiJ4IiwiZXhwIjo5OTk5OTk5OTk5fQ.',
      'RFC 8725 3.2: a JWT signed with a text':
        'Bearer eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJ4IiwiZXhwIjo5OTk5OTk5OTk5fQ.AAAA',
      'RFC 6750 2.1: an endless token': `Bearer ${'x'.repeat(20_000)}`,
    },
  ),
  {
    title: 'MCP auth Access-Token-Usage: a bad header does not fall back to a cookie',
    steps: [
      { request: call({ cookie: '{session_cookie}' }), expected: { status: 200 } },
      {
        request: call({ authorization: 'Bearer wrong', cookie: '{session_cookie}' }),
        expected: refused,
      },
    ],
  },
  {
    title: 'RFC 6750 3.1, MCP auth Token-Handling, OAuth 2.1 5.2: an access token after its hour',
    steps: [
      { request: call({ authorization: 'Bearer {access_token}' }), expected: { status: 200 } },
      { advance: 3600 },
      { request: call({ authorization: 'Bearer {access_token}' }), expected: refused },
    ],
  },
  ...rows(
    expecting({ status: 403 }, (origin: string) => call({ authorization: 'Bearer {access_token}', origin })),
    {
      'MCP transport Security-Warning: a page of an unknown origin, whatever it carries':
        'https://evil.example',
      'MCP transport Security-Warning: a page without an origin': 'null',
    },
  ),
  row(
    'RFC 9110 7.4, MCP security Local-Server: a call for another host',
    call({ authorization: 'Bearer {access_token}', host: 'evil.example' }),
    { status: 421 },
  ),
]

describeCases({
  discovery: discovery,
  'bearer tokens at /mcp': bearers,
})
