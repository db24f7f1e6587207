import { type CaseRequest, expecting, type Fields, type NegativeCase, row, rows } from './negative-case.ts'
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

const ask = (changes: Fields): CaseRequest => ({ path: '/oauth/authorize', query: { ...good, ...changes } })

/** Expects a redirect to the client. */
const refused = (error: string, table: Record<string, Fields>): NegativeCase[] =>
  rows(expecting({ status: 303, redirectError: error }, ask), table)

/** Expects an error page without a redirect. */
const neverRedirected = rows(expecting({ status: 400, page: true }, ask), {
  'RFC 6749 4.1.2.1: without a client_id nobody is redirected': { client_id: undefined },
  'RFC 6749 3.1: an empty client_id is a missing one': { client_id: '' },
  'RFC 6749 4.1.2.1: an unknown client': { client_id: 'nobody' },
  'RFC 9700 4.11.2, MCP auth Open-Redirection: an unknown client with an address of its own': {
    client_id: 'nobody',
    redirect_uri: 'https://evil.example/callback',
  },
  'RFC 6749 3.1: client_id twice': { client_id: ['{client}', '{client}'] },
  'RFC 6749 3.1: redirect_uri twice': { redirect_uri: ['{redirect_uri}', 'https://evil.example/'] },
  'RFC 6749 3.1.2.3, OAuth 2.1 2.3.2: no redirect_uri of a client with several': {
    client_id: '{two_uris}',
    redirect_uri: undefined,
  },
  'RFC 9700 4.11.2: a bad address beside another fault': {
    redirect_uri: 'https://evil.example/',
    response_type: 'token',
  },
  'RFC 6749 A.1: a client_id of control characters': { client_id: '\u0000\u001B[31m' },
  'RFC 6749 A.1: an endless client_id': { client_id: 'x'.repeat(10_000) },
  ...addressed({
    'RFC 9700 4.1.3: another host': 'https://evil.example/callback',
    'RFC 9700 4.1.3: another path': 'http://127.0.0.1:4711/other',
    'RFC 9700 4.1.3, MCP auth Open-Redirection: a path below the registered one': '{redirect_uri}/evil',
    'RFC 9700 4.1.3: a path that climbs back': 'http://127.0.0.1:4711/x/../callback',
    'RFC 9700 4.1.3: an encoded letter in the path': 'http://127.0.0.1:4711/%63allback',
    'RFC 9700 4.1.3, MCP security Confused-Deputy: one parameter more': '{redirect_uri}?next=evil',
    'OAuth 2.1 2.3: a fragment': '{redirect_uri}#evil',
    'RFC 8252 8.3: localhost is not 127.0.0.1': 'http://localhost:4711/callback',
    'RFC 8252 7.3: a port that is none': 'http://127.0.0.1:99999/callback',
    'RFC 8252 7.1: a private-use scheme that is not registered': 'evil:/callback',
    'RFC 9700 4.1.3: a script': 'javascript:alert(1)',
    'RFC 9700 4.1.3: a back-slash': 'http://127.0.0.1\\@evil.example/callback',
    'RFC 9700 4.1.3: a blank in front': ' {redirect_uri}',
  }),
})

function addressed(table: Record<string, string>): Record<string, Fields> {
  return Object.fromEntries(Object.entries(table).map(([title, uri]) => [title, { redirect_uri: uri }]))
}

const wentBack: NegativeCase[] = [
  ...refused('unsupported_response_type', {
    'RFC 9700 2.1.2: the implicit grant': { response_type: 'token' },
    'OAuth 2.1 10.1: the hybrid flow': { response_type: 'code token' },
  }),
  ...refused('invalid_request', {
    'RFC 6749 4.1.2.1: no response_type': { response_type: undefined },
    'RFC 6749 3.1: an empty response_type': { response_type: '' },
    'RFC 6749 3.1: response_type twice': { response_type: ['code', 'code'] },
    'RFC 6749 3.1: scope twice': { scope: ['mcp', 'mcp'] },
    'RFC 6749 3.1: state twice, and none is echoed': { state: ['a', 'b'] },
    'RFC 6749 3.1: a parameter twice that is unknown': { x: ['1', '2'] },
    'RFC 7636 4.4.1, OAuth 2.1 4.1.2.1: no code_challenge': { code_challenge: undefined },
    'RFC 7636 4.4.1: an empty code_challenge': { code_challenge: '' },
    'RFC 9700 2.1.1: plain': { code_challenge_method: 'plain' },
    'RFC 7636 4.3: the method is case-sensitive': { code_challenge_method: 's256' },
    'RFC 7636 4.4.1: an unknown method': { code_challenge_method: 'S512' },
    'RFC 7636 4.2: a challenge that is too short': { code_challenge: challenge.slice(1) },
    'RFC 9700 4.8.2, Spec 5.2, MCP auth Authorization-Code-Protection, RFC 8252 8.1: no PKCE at all': {
      code_challenge: undefined,
      code_challenge_method: undefined,
    },
    'OAuth 2.1 4.1.2: response_mode=fragment': { response_mode: 'fragment' },
    'OAuth 2.1 4.1.1, RFC 9700 4.17: an unknown response_mode': { response_mode: 'web_message' },
    'RFC 6749 A.5: an endless state, which is not echoed': { state: 's'.repeat(4097) },
  }),
  ...refused('invalid_scope', {
    'RFC 6749 3.3: a quote in scope': { scope: 'mcp "' },
    'RFC 6749 A.4: a back-slash in scope': { scope: 'mcp\\' },
    'RFC 6749 A.4: a line end in scope': { scope: 'mcp\nmcp' },
    'RFC 6749 A.4: a letter beyond ASCII in scope': { scope: 'mcp é' },
  }),
  ...refused('invalid_target', {
    'RFC 8707 2: a foreign resource': { resource: 'https://other.example/mcp' },
    'RFC 8707 2.1, MCP auth Token-Audience-Binding: a foreign resource beside ours': {
      resource: ['{resource}', 'https://other.example/mcp'],
    },
    'RFC 8707 2: a fragment': { resource: '{resource}#x' },
    'RFC 8707 2: no absolute URI': { resource: '/mcp' },
    'RFC 8707 2: another scheme': { resource: 'https://localhost:8787/mcp' },
    'RFC 8707 2: another port': { resource: 'http://localhost:8788/mcp' },
    'RFC 8707 2: a path below ours': { resource: '{resource}/deeper' },
  }),
  ...refused('request_not_supported', { 'RFC 9101 5: a request object': { request: 'e30.e30.' } }),
  ...refused('request_uri_not_supported', {
    'RFC 9101 5: a request_uri, which is not fetched': { request_uri: 'https://evil.example/r' },
    'RFC 9126 4: a request_uri of a pushed request': { request_uri: 'urn:ietf:params:oauth:request_uri:x' },
  }),
  ...refused('login_required', { 'OpenID Connect Core 3.1.2.6: prompt=none': { prompt: 'none' } }),
]

/** A posted form with these headers, and the one of a page. */
const posted = (headers: Record<string, string>, fields: Fields): CaseRequest => ({
  path: '/oauth/authorize',
  form: { email: '{email}', password: 'x', ...fields },
  headers: { accept: 'text/html', ...headers },
})

const methods: NegativeCase[] = [
  ...rows(
    expecting({ status: 403, page: true }, (origin: string) => posted({ origin }, { transaction: 'x' })),
    {
      'RFC 9700 4.7.1: a form that another site posts': 'https://evil.example',
      'RFC 9700 4.7.1: a form of a site that hides itself': 'null',
    },
  ),
  row(
    'RFC 9700 4.7.1: a form without the transaction of this browser',
    posted({ origin: '{origin}', 'sec-fetch-site': 'same-origin' }, {}),
    { status: 400, page: true },
  ),
  row(
    'RFC 9110 15.5.6: a method that is none of it',
    { path: '/oauth/authorize', method: 'PUT' },
    { status: 405, error: 'method_not_allowed', headers: { allow: /\bGET\b.*\bPOST\b/ } },
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
  row('RFC 9700 4.16, RFC 6749 10.13: the login page cannot be framed', ask({}), {
    status: 200,
    headers: {
      'content-security-policy': /frame-ancestors 'none'/,
      'x-frame-options': /^DENY$/,
      'cache-control': /^no-store$/,
      'access-control-allow-origin': undefined,
    },
  }),
  row('RFC 9700 4.2.4: no address of the login page goes to another site', ask({}), {
    status: 200,
    headers: { 'referrer-policy': /^(?:same-origin|no-referrer)$/ },
  }),
  row('RFC 9700 4.12: the browser goes on by GET, never with its form', ask({ response_type: 'token' }), {
    status: 303,
    redirectError: 'unsupported_response_type',
    headers: { 'referrer-policy': /^no-referrer$/ },
  }),
]

describeCases({
  'authorization requests that must not be redirected': neverRedirected,
  'authorization requests that are refused at the client': wentBack,
  'the authorization endpoint in the browser': methods,
})
