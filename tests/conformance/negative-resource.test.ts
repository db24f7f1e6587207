import { expect } from 'vitest'
import { type CaseRequest, type Expected, type NegativeCase, row } from './negative-case.ts'
import { describeCases } from './negative-suite.ts'

const server = '/.well-known/oauth-authorization-server'
const resource = '/.well-known/oauth-protected-resource/mcp'
const issuer = 'http://localhost:8787'

const bad = (error: string, status: number): Expected => ({ status, error })
const get = (path: string, headers: Record<string, string> = {}): CaseRequest => ({ path, headers })

const discovery: NegativeCase[] = [
  row(
    'RFC 8414 3: another suffix is not found, as JSON',
    get('/.well-known/oauth-authorization-server/other'),
    { status: 404, json: { error: 'not_found' } },
  ),
  row('RFC 8414 3: another name is not found, as JSON', get('/.well-known/oauth-server'), {
    status: 404,
    json: { error: 'not_found' },
  }),
  row('RFC 9728 3.1: a resource that is not here', get('/.well-known/oauth-protected-resource/other'), {
    status: 404,
    json: { error: 'not_found' },
  }),
  row(
    'RFC 8414 3.1: POST',
    { path: server, method: 'POST' },
    { ...bad('method_not_allowed', 405), headers: { allow: /\bGET\b/ } },
  ),
  row('RFC 8414 3.1: a bad token does not hide it', get(server, { authorization: 'Bearer wrong' }), {
    status: 200,
  }),
  row('RFC 9728 3.1: a bad token does not hide it', get(resource, { authorization: 'Bearer wrong' }), {
    status: 200,
  }),
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
  row('RFC 9700 2.1.2: only codes are offered', get(server), {
    status: 200,
    json: { response_types_supported: ['code'], response_modes_supported: ['query'] },
  }),
  row('RFC 9700 2.1.1: only S256 is offered', get(server), {
    status: 200,
    json: { code_challenge_methods_supported: ['S256'] },
  }),
  row('RFC 8725 3.2: no symmetric algorithm and no unsigned one is offered', get(server), {
    status: 200,
    json: { token_endpoint_auth_signing_alg_values_supported: ['ES256', 'EdDSA', 'PS256', 'RS256'] },
  }),
  row('RFC 8414 2: introspection is not for public clients', get(server), {
    status: 200,
    json: {
      introspection_endpoint_auth_methods_supported: [
        'client_secret_basic',
        'client_secret_post',
        'private_key_jwt',
      ],
    },
  }),
  row('RFC 9207 3, MCP auth Authorization-Response-Validation: that iss comes is said', get(server), {
    status: 200,
    json: { authorization_response_iss_parameter_supported: true },
  }),
  row('RFC 9728 2: a token belongs into the header', get(resource), {
    status: 200,
    json: { bearer_methods_supported: ['header'] },
  }),
  row('MCP auth Refresh-Tokens: offline_access is no scope of the resource', get(resource), {
    status: 200,
    json: { scopes_supported: ['mcp'] },
  }),
  row('MCP auth Client-ID-Metadata-Documents, CIMD 5: said together with the method none', get(server), {
    status: 200,
    json: {
      client_id_metadata_document_supported: true,
      token_endpoint_auth_methods_supported: expect.arrayContaining(['none']),
    },
  }),
]

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
  row(
    'RFC 9728 5.1, MCP auth Protected-Resource-Metadata, OAuth 2.1 5.3.2: no credential at all',
    call({}),
    challenged,
  ),
  row('RFC 9728 5.1: GET without a credential', { path: '/mcp' }, challenged),
  row('RFC 9728 5.1: DELETE without a credential', { path: '/mcp', method: 'DELETE' }, challenged),
  row(
    'RFC 9728 5.1: HEAD without a credential',
    { path: '/mcp', method: 'HEAD' },
    { status: 401, headers: { 'www-authenticate': /resource_metadata=/ } },
  ),
  row(
    'MCP auth Token-Handling: the token is looked at before the message',
    call({}, { json: { nonsense: true } }),
    challenged,
  ),
  row('MCP auth Scope-Selection-Strategy: the challenge names a scope, and not offline_access', call({}), {
    status: 401,
    headers: { 'www-authenticate': /scope="mcp"/ },
  }),
  row(
    'RFC 6750 2.3, MCP auth Access-Token-Usage, RFC 9700 4.3.2, OAuth 2.1 5.1: a token in the query',
    call({}, { query: { access_token: '{access_token}' } }),
    challenged,
  ),
  row(
    'RFC 6750 2.2: a token in a form',
    { path: '/mcp', form: { access_token: '{access_token}' } },
    challenged,
  ),
  row('RFC 6750 3.1: an unknown token', call({ authorization: `Bearer mcpa_${'x'.repeat(50)}` }), refused),
  row('RFC 6750 3.1: what no token is', call({ authorization: 'Bearer {client}' }), refused),
  row('RFC 6750 2.1: no token after the scheme', call({ authorization: 'Bearer' }), refused),
  row('RFC 6750 2.1: two tokens', call({ authorization: 'Bearer {access_token} {access_token}' }), refused),
  row(
    'RFC 6750 2.1: a comma between two tokens',
    call({ authorization: 'Bearer {access_token}, Bearer x' }),
    refused,
  ),
  row('RFC 6750 2.1: another scheme', call({ authorization: 'Basic {access_token}' }), refused),
  row('RFC 6750 2.1: the token without a scheme', call({ authorization: '{access_token}' }), refused),
  row(
    'RFC 9700 4.14: a refresh token is no access token',
    call({ authorization: 'Bearer {refresh_token}' }),
    refused,
  ),
  row(
    'OAuth 2.1 5.2: an authorization code is no access token',
    call({ authorization: 'Bearer {code}' }),
    refused,
  ),
  row(
    'RFC 8628 3.4: a device code is no access token',
    call({ authorization: 'Bearer {device_code}' }),
    refused,
  ),
  row(
    'OAuth 2.1 5.2: an access token in another letter case',
    call({ authorization: 'Bearer MCPA{access_token}' }),
    refused,
  ),
  row(
    'OAuth 2.1 5.2: an access token with one character more',
    call({ authorization: 'Bearer {access_token}x' }),
    refused,
  ),
  row(
    'RFC 8725 3.2: a JWT without a signature',
    call({ authorization: 'Bearer eyJhbGciOiJub25lIn0.eyJzdWIiOiJ4IiwiZXhwIjo5OTk5OTk5OTk5fQ.' }),
    refused,
  ),
  row(
    'RFC 8725 3.2: a JWT signed with a text',
    call({ authorization: 'Bearer eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJ4IiwiZXhwIjo5OTk5OTk5OTk5fQ.AAAA' }),
    refused,
  ),
  row('RFC 6750 2.1: an endless token', call({ authorization: `Bearer ${'x'.repeat(20_000)}` }), refused),
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
  row(
    'MCP transport Security-Warning: a page of an unknown origin, whatever it carries',
    call({ authorization: 'Bearer {access_token}', origin: 'https://evil.example' }),
    { status: 403 },
  ),
  row(
    'MCP transport Security-Warning: a page without an origin',
    call({ authorization: 'Bearer {access_token}', origin: 'null' }),
    { status: 403 },
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
