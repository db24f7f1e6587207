import { type Fields, type Expected, type NegativeCase, row } from './negative-case.ts'
import { describeCases } from './negative-suite.ts'

const challenge = 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM'

/** A valid authorization request; a row changes some of it. */
const good = {
  response_type: 'code',
  client_id: '{client}',
  redirect_uri: '{redirect_uri}',
  state: 'state-1',
  scope: 'mcp',
  resource: '{resource}',
  code_challenge: challenge,
  code_challenge_method: 'S256',
}

const ask = (title: string, changes: Fields, expected: Expected): NegativeCase =>
  row(title, { path: '/oauth/authorize', query: { ...good, ...changes } }, expected)

/** Expects a redirect to the client. */
const refused = (title: string, changes: Fields, error: string): NegativeCase =>
  ask(title, changes, { status: 303, redirectError: error })

/** Expects an error page without a redirect. */
const stranded = (title: string, changes: Fields): NegativeCase =>
  ask(title, changes, { status: 400, page: true })

const neverRedirected: NegativeCase[] = [
  stranded('RFC 6749 4.1.2.1: without a client_id nobody is redirected', { client_id: undefined }),
  stranded('RFC 6749 3.1: an empty client_id is a missing one', { client_id: '' }),
  stranded('RFC 6749 4.1.2.1: an unknown client', { client_id: 'nobody' }),
  stranded('RFC 9700 4.11.2, MCP auth Open-Redirection: an unknown client with an address of its own', {
    client_id: 'nobody',
    redirect_uri: 'https://evil.example/callback',
  }),
  stranded('RFC 6749 3.1: client_id twice', { client_id: ['{client}', '{client}'] }),
  stranded('RFC 6749 3.1: redirect_uri twice', {
    redirect_uri: ['{redirect_uri}', 'https://evil.example/'],
  }),
  stranded('RFC 6749 3.1.2.3, OAuth 2.1 2.3.2: no redirect_uri of a client with several', {
    client_id: '{two_uris}',
    redirect_uri: undefined,
  }),
  stranded('RFC 9700 4.1.3: another host', { redirect_uri: 'https://evil.example/callback' }),
  stranded('RFC 9700 4.1.3: another path', { redirect_uri: 'http://127.0.0.1:4711/other' }),
  stranded('RFC 9700 4.1.3, MCP auth Open-Redirection: a path below the registered one', {
    redirect_uri: '{redirect_uri}/evil',
  }),
  stranded('RFC 9700 4.1.3: a path that climbs back', {
    redirect_uri: 'http://127.0.0.1:4711/x/../callback',
  }),
  stranded('RFC 9700 4.1.3: an encoded letter in the path', {
    redirect_uri: 'http://127.0.0.1:4711/%63allback',
  }),
  stranded('RFC 9700 4.1.3, MCP security Confused-Deputy: one parameter more', {
    redirect_uri: '{redirect_uri}?next=evil',
  }),
  stranded('OAuth 2.1 2.3: a fragment', { redirect_uri: '{redirect_uri}#evil' }),
  stranded('RFC 8252 8.3: localhost is not 127.0.0.1', { redirect_uri: 'http://localhost:4711/callback' }),
  stranded('RFC 8252 7.3: a port that is none', { redirect_uri: 'http://127.0.0.1:99999/callback' }),
  stranded('RFC 8252 7.1: a private-use scheme that is not registered', { redirect_uri: 'evil:/callback' }),
  stranded('RFC 9700 4.1.3: a script', { redirect_uri: 'javascript:alert(1)' }),
  stranded('RFC 9700 4.1.3: a back-slash', { redirect_uri: 'http://127.0.0.1\\@evil.example/callback' }),
  stranded('RFC 9700 4.1.3: a blank in front', { redirect_uri: ' {redirect_uri}' }),
  stranded('RFC 9700 4.11.2: a bad address beside another fault', {
    redirect_uri: 'https://evil.example/',
    response_type: 'token',
  }),
  stranded('RFC 6749 A.1: a client_id of control characters', { client_id: '\u0000\u001B[31m' }),
  stranded('RFC 6749 A.1: an endless client_id', { client_id: 'x'.repeat(10_000) }),
]

const wentBack: NegativeCase[] = [
  refused('RFC 6749 4.1.2.1: no response_type', { response_type: undefined }, 'invalid_request'),
  refused('RFC 6749 3.1: an empty response_type', { response_type: '' }, 'invalid_request'),
  refused('RFC 9700 2.1.2: the implicit grant', { response_type: 'token' }, 'unsupported_response_type'),
  refused('OAuth 2.1 10.1: the hybrid flow', { response_type: 'code token' }, 'unsupported_response_type'),
  refused('RFC 6749 3.1: response_type twice', { response_type: ['code', 'code'] }, 'invalid_request'),
  refused('RFC 6749 3.1: scope twice', { scope: ['mcp', 'mcp'] }, 'invalid_request'),
  refused('RFC 6749 3.1: state twice, and none is echoed', { state: ['a', 'b'] }, 'invalid_request'),
  refused('RFC 6749 3.1: a parameter twice that is unknown', { x: ['1', '2'] }, 'invalid_request'),
  refused('RFC 6749 3.3: a quote in scope', { scope: 'mcp "' }, 'invalid_scope'),
  refused('RFC 6749 A.4: a back-slash in scope', { scope: 'mcp\\' }, 'invalid_scope'),
  refused('RFC 6749 A.4: a line end in scope', { scope: 'mcp\nmcp' }, 'invalid_scope'),
  refused('RFC 6749 A.4: a letter beyond ASCII in scope', { scope: 'mcp é' }, 'invalid_scope'),
  refused(
    'RFC 7636 4.4.1, OAuth 2.1 4.1.2.1: no code_challenge',
    { code_challenge: undefined },
    'invalid_request',
  ),
  refused('RFC 7636 4.4.1: an empty code_challenge', { code_challenge: '' }, 'invalid_request'),
  refused('RFC 9700 2.1.1: plain', { code_challenge_method: 'plain' }, 'invalid_request'),
  refused('RFC 7636 4.3: the method is case-sensitive', { code_challenge_method: 's256' }, 'invalid_request'),
  refused('RFC 7636 4.4.1: an unknown method', { code_challenge_method: 'S512' }, 'invalid_request'),
  refused(
    'RFC 7636 4.2: a challenge that is too short',
    { code_challenge: challenge.slice(1) },
    'invalid_request',
  ),
  refused(
    'RFC 9700 4.8.2, Spec 5.2, MCP auth Authorization-Code-Protection, RFC 8252 8.1: no PKCE at all',
    { code_challenge: undefined, code_challenge_method: undefined },
    'invalid_request',
  ),
  refused('RFC 8707 2: a foreign resource', { resource: 'https://other.example/mcp' }, 'invalid_target'),
  refused(
    'RFC 8707 2.1, MCP auth Token-Audience-Binding: a foreign resource beside ours',
    { resource: ['{resource}', 'https://other.example/mcp'] },
    'invalid_target',
  ),
  refused('RFC 8707 2: a fragment', { resource: '{resource}#x' }, 'invalid_target'),
  refused('RFC 8707 2: no absolute URI', { resource: '/mcp' }, 'invalid_target'),
  refused('RFC 8707 2: another scheme', { resource: 'https://localhost:8787/mcp' }, 'invalid_target'),
  refused('RFC 8707 2: another port', { resource: 'http://localhost:8788/mcp' }, 'invalid_target'),
  refused('RFC 8707 2: a path below ours', { resource: '{resource}/deeper' }, 'invalid_target'),
  refused('RFC 9101 5: a request object', { request: 'e30.e30.' }, 'request_not_supported'),
  refused(
    'RFC 9101 5: a request_uri, which is not fetched',
    { request_uri: 'https://evil.example/r' },
    'request_uri_not_supported',
  ),
  refused(
    'RFC 9126 4: a request_uri of a pushed request',
    { request_uri: 'urn:ietf:params:oauth:request_uri:x' },
    'request_uri_not_supported',
  ),
  refused('OpenID Connect Core 3.1.2.6: prompt=none', { prompt: 'none' }, 'login_required'),
  refused('OAuth 2.1 4.1.2: response_mode=fragment', { response_mode: 'fragment' }, 'invalid_request'),
  refused(
    'OAuth 2.1 4.1.1, RFC 9700 4.17: an unknown response_mode',
    { response_mode: 'web_message' },
    'invalid_request',
  ),
  refused(
    'RFC 6749 A.5: an endless state, which is not echoed',
    { state: 's'.repeat(4097) },
    'invalid_request',
  ),
]

const methods: NegativeCase[] = [
  row(
    'RFC 9700 4.7.1: a form that another site posts',
    {
      path: '/oauth/authorize',
      form: { email: '{email}', password: 'x', transaction: 'x' },
      headers: { origin: 'https://evil.example', accept: 'text/html' },
    },
    { status: 403, page: true },
  ),
  row(
    'RFC 9700 4.7.1: a form of a site that hides itself',
    {
      path: '/oauth/authorize',
      form: { email: '{email}', password: 'x', transaction: 'x' },
      headers: { origin: 'null', accept: 'text/html' },
    },
    { status: 403, page: true },
  ),
  row(
    'RFC 9700 4.7.1: a form without the transaction of this browser',
    {
      path: '/oauth/authorize',
      form: { email: '{email}', password: 'x' },
      headers: { origin: '{origin}', 'sec-fetch-site': 'same-origin', accept: 'text/html' },
    },
    { status: 400, page: true },
  ),
  row(
    'RFC 9110 15.5.6: a method that is none of it',
    { path: '/oauth/authorize', method: 'PUT' },
    {
      status: 405,
      error: 'method_not_allowed',
      headers: { allow: /\bGET\b.*\bPOST\b/ },
    },
  ),
  row(
    'RFC 9700 2.6: no page may read an answer',
    {
      path: '/oauth/authorize',
      method: 'OPTIONS',
      headers: { origin: 'https://evil.example', 'access-control-request-method': 'GET' },
    },
    { status: 405, error: 'method_not_allowed', headers: { 'access-control-allow-origin': undefined } },
  ),
  row(
    'RFC 9700 4.16, RFC 6749 10.13: the login page cannot be framed',
    { path: '/oauth/authorize', query: good },
    {
      status: 200,
      headers: {
        'content-security-policy': /frame-ancestors 'none'/,
        'x-frame-options': /^DENY$/,
        'cache-control': /^no-store$/,
        'access-control-allow-origin': undefined,
      },
    },
  ),
  row(
    'RFC 9700 4.2.4: no address of the login page goes to another site',
    { path: '/oauth/authorize', query: good },
    {
      status: 200,
      headers: { 'referrer-policy': /^(?:same-origin|no-referrer)$/ },
    },
  ),
  row(
    'RFC 9700 4.12: the browser goes on by GET, never with its form',
    { path: '/oauth/authorize', query: { ...good, response_type: 'token' } },
    {
      status: 303,
      redirectError: 'unsupported_response_type',
      headers: { 'referrer-policy': /^no-referrer$/ },
    },
  ),
]

describeCases({
  'authorization requests that must not be redirected': neverRedirected,
  'authorization requests that are refused at the client': wentBack,
  'the authorization endpoint in the browser': methods,
})
