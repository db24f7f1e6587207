import { expect } from 'vitest'
import { type CaseRequest, expecting, type Expected, type NegativeCase, row, rows } from './negative-case.ts'
import { bad, badRequest, clientFails, onlyPost, otherType } from './negative-request.ts'
import { describeCases } from './negative-suite.ts'

const good = { redirect_uris: ['{redirect_uri}'], token_endpoint_auth_method: 'none' }
const register = (changes: Record<string, unknown>): CaseRequest => ({
  path: '/oauth/register',
  json: { ...good, ...changes },
})

const uris = rows(
  expecting(bad('invalid_redirect_uri'), (uri: unknown) => register({ redirect_uris: uri })),
  {
    'RFC 7591 2, RFC 8252 8.4: no redirect_uris for the code grant': undefined,
    'RFC 7591 2: an empty list of redirect_uris': [],
    'RFC 7591 3.2.2: one bad address beside a good one': ['{redirect_uri}', 'http://evil.example/'],
    'RFC 7591 5: more addresses than anybody needs': Array.from(
      { length: 21 },
      (_, index) => `https://client.example/${index}`,
    ),
    'OAuth 2.1 2.3.1, MCP auth Communication-Security, RFC 9700 2.6: http beyond loopback': [
      'http://client.example/callback',
    ],
    'OAuth 2.1 2.3: a fragment': ['https://client.example/callback#x'],
    'OAuth 2.1 2.3: an empty fragment': ['https://client.example/callback#'],
    'OAuth 2.1 2.3: no absolute URI': ['/callback'],
    'OAuth 2.1 2.3: without a scheme': ['//client.example/callback'],
    'RFC 9700 4.1.3: a user name': ['https://client.example@evil.example/'],
    'RFC 9700 4.1.3: a script': ['javascript:alert(1)'],
    'RFC 9700 4.1.3: data': ['data:text/html,x'],
    'RFC 9700 4.1.3: a file': ['file:///etc/passwd'],
    'RFC 9700 4.1.3: a back-slash': ['https://client.example\\@evil.example/'],
    'RFC 9700 4.1.3: a line end': ['https://client.example/\r\nSet-Cookie: x=y'],
    'RFC 9700 4.1.3: a blank': ['https://client.example/a b'],
    'RFC 9700 4.1.3: a letter beyond ASCII': ['https://clíent.example/'],
    'RFC 8252 7.1, OAuth 2.1 2.3.1: a private-use scheme that nobody allowed': ['com.evil.app:/callback'],
    'RFC 8252 7.3: a host that only begins like loopback': ['http://127.0.0.1.evil.example/callback'],
    'RFC 8252 8.3: a host that only ends like localhost': ['http://evil-localhost/callback'],
    'RFC 7591 5: an endless address': [`https://client.example/${'x'.repeat(2100)}`],
  },
)

const metadata: NegativeCase[] = [
  ...rows(expecting(bad('invalid_client_metadata'), register), {
    'RFC 7591 2: redirect_uris that are no list': { redirect_uris: 'https://client.example/' },
    'RFC 7591 2: redirect_uris that are no texts': { redirect_uris: [1] },
    'RFC 7591 2: an unknown way to authenticate': { token_endpoint_auth_method: 'tls_client_auth' },
    'RFC 7591 2: a secret that signs, which would have to be kept': {
      token_endpoint_auth_method: 'client_secret_jwt',
    },
    'RFC 7591 2: private_key_jwt without a key': { token_endpoint_auth_method: 'private_key_jwt' },
    'RFC 7591 2: jwks and jwks_uri at once': {
      token_endpoint_auth_method: 'private_key_jwt',
      jwks: { keys: [] },
      jwks_uri: 'https://client.example/jwks',
    },
    'RFC 7591 2: a jwks_uri by http': {
      token_endpoint_auth_method: 'private_key_jwt',
      jwks_uri: 'http://client.example/jwks',
    },
    'RFC 7591 2: a private key among the keys': {
      token_endpoint_auth_method: 'private_key_jwt',
      jwks: {
        keys: [
          {
            kty: 'EC',
            crv: 'P-256',
            x: 'MKBCTNIcKUSDii11ySs3526iDZ8AiTo7Tu6KPAqv7D4',
            y: '4Etl6SRW2YiLUrN5vfvVHuhp7x8PxltmWWlbbM4IFyM',
            d: '870MB6gfuTJ4HtUnUvYMyJpr5eUZNP4Bk43bVdj3eAE',
          },
        ],
      },
    },
    'RFC 7591 2: grant types of which none is known': { grant_types: ['password'] },
    'RFC 7591 2: grant_types that are no list': { grant_types: 'authorization_code' },
    'RFC 7591 2.1: response types of which none is known': { response_types: ['token'] },
    'RFC 7591 2: a name that is no text': { client_name: { evil: true } },
    'RFC 7591 5: an endless name': { client_name: 'x'.repeat(10_000) },
    'RFC 7591 2: a scope that is no text': { scope: ['mcp'] },
  }),
  ...rows(
    expecting(bad('invalid_client_metadata'), (json: unknown) => ({ path: '/oauth/register', json })),
    {
      'RFC 7591 3.1: a list instead of an object': [],
      'RFC 7591 3.1: null instead of an object': null,
    },
  ),
  row(
    'RFC 7591 3.1: no JSON',
    { path: '/oauth/register', body: '{', headers: { 'content-type': 'application/json' } },
    badRequest,
  ),
  row(
    'RFC 7591 3.1: a form',
    { path: '/oauth/register', form: { redirect_uris: 'https://client.example/' } },
    otherType,
  ),
  row('RFC 7591 3.1: GET', { path: '/oauth/register' }, onlyPost),
  row(
    'RFC 7591 3.2.1, RFC 9700 2.6, OAuth 2.1 7.4: the client cannot choose its id',
    register({ client_id: 'mcpc_mine', client_secret: 'mine' }),
    {
      status: 201,
      json: { client_id: expect.stringMatching(/^mcpc_[A-Za-z0-9_-]{22}$/) },
      headers: { 'cache-control': /^no-store$/ },
    },
  ),
  row(
    'RFC 7591 3.2.1: unsupported metadata is not promised',
    register({ grant_types: ['authorization_code', 'implicit'] }),
    {
      status: 201,
      json: { grant_types: ['authorization_code'] },
    },
  ),
]

const manage = (method: string, token: string, client = '{managed}'): CaseRequest => ({
  path: `/oauth/register/${client}`,
  method,
  headers: { authorization: token },
})
const managed = {
  request: register({}),
  expected: { status: 201 },
  keep: { managed: 'client_id', token: 'registration_access_token' },
} as const
const unauthorized: Expected = {
  status: 401,
  error: 'invalid_token',
  headers: { 'www-authenticate': /^Bearer / },
}
const stillThere = { request: manage('GET', 'Bearer {token}'), expected: { status: 200 } } as const

/** Expects a refusal that leaves the registration unchanged. */
const untouched = (expected: Expected, table: Record<string, CaseRequest>): NegativeCase[] =>
  rows((request: CaseRequest) => [managed, { request, expected }, stillThere], table)

const management: NegativeCase[] = [
  ...untouched(unauthorized, {
    'RFC 7592 2.1: reading without a token': { path: '/oauth/register/{managed}' },
    'RFC 7592 2.1: reading with a wrong token': manage('GET', 'Bearer wrong'),
    'RFC 7592 2.1: the token as Basic': manage('GET', 'Basic {token}'),
    'RFC 7592 2.1: the token in the query': {
      path: '/oauth/register/{managed}',
      query: { access_token: '{token}' },
    },
    'RFC 7592 2.1: a client that does not exist is no other answer': manage(
      'GET',
      'Bearer {token}',
      'mcpc_nobody',
    ),
    'RFC 7592 3: the token of one client at another': manage('GET', 'Bearer {token}', '{client}'),
    'RFC 7592 2.1: an access token is no registration token': manage(
      'GET',
      'Bearer {access_token}',
      '{client}',
    ),
    'RFC 7592 2.2: replacing without a token': {
      path: '/oauth/register/{managed}',
      method: 'PUT',
      json: good,
    },
    'RFC 7592 2.3: deleting without a token': { path: '/oauth/register/{managed}', method: 'DELETE' },
    'RFC 7592 2.3: deleting with a wrong token': manage('DELETE', 'Bearer wrong'),
  }),
  ...untouched(bad('invalid_redirect_uri'), {
    'RFC 7592 2.2: replacing with a bad address': {
      ...manage('PUT', 'Bearer {token}'),
      json: { client_id: '{managed}', redirect_uris: ['http://evil.example/'] },
    },
  }),
  ...untouched(bad('invalid_client_metadata'), {
    'RFC 7592 2.2: replacing under another client_id': {
      ...manage('PUT', 'Bearer {token}'),
      json: { ...good, client_id: '{client}' },
    },
  }),
  {
    title: 'RFC 7592 2.3: a client that was deleted is unknown everywhere',
    steps: [
      managed,
      { request: manage('DELETE', 'Bearer {token}'), expected: { status: 204 } },
      { request: manage('GET', 'Bearer {token}'), expected: unauthorized },
      {
        request: {
          path: '/oauth/token',
          form: { grant_type: 'refresh_token', client_id: '{managed}', refresh_token: 'x' },
        },
        expected: clientFails,
      },
      {
        request: { path: '/oauth/authorize', query: { response_type: 'code', client_id: '{managed}' } },
        expected: { status: 400, page: true },
      },
    ],
  },
]

const authorizeAs = (id: string): CaseRequest => ({
  path: '/oauth/authorize',
  query: { response_type: 'code', client_id: id, redirect_uri: '{redirect_uri}' },
})

const documents = rows(expecting({ status: 400, page: true }, authorizeAs), {
  'CIMD 3: a client id by http': 'http://client.example/client.json',
  'CIMD 3: a client id without a path': 'https://client.example',
  'CIMD 3: a client id with a fragment': 'https://client.example/client.json#x',
  'CIMD 3: a client id with a user name': 'https://user@client.example/client.json',
  'CIMD 3: a client id whose path climbs': 'https://client.example/a/../client.json',
  'CIMD 6: a client id on this very link': 'https://[fe80::1]/client.json',
  'CIMD 6: a private address written as IPv6': 'https://[::ffff:192.168.0.1]/client.json',
  'CIMD 6: a client id at the metadata service of a cloud': 'https://169.254.169.254/client.json',
  'CIMD 6: a client id inside a private network': 'https://10.0.0.1/client.json',
})

describeCases({
  'redirect URIs at registration': uris,
  'other client metadata': metadata,
  'managing a registration': management,
  'client id metadata documents': documents,
})
