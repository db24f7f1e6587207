import {
  type CaseRequest,
  expecting,
  type Expected,
  type Fields,
  type NegativeCase,
  row,
  rows,
} from './negative-case.ts'
import { badRequest, challenged, clientFails, onlyPost, otherType, revoke } from './negative-request.ts'
import { describeCases } from './negative-suite.ts'

const path = '/oauth/introspect'
const headers = { authorization: '{basic}' }
const ask = (form: Fields): CaseRequest => ({ path, form, headers })
const introspect = (token: string): CaseRequest => ask({ token })

const inactive: Expected = {
  status: 200,
  exactly: { active: false },
  headers: { 'cache-control': /^no-store$/ },
}
const active: Expected = { status: 200, json: { active: true } }

const introspections: NegativeCase[] = [
  row('RFC 7662 2.1: no client', { path, form: { token: '{web_access_token}' } }, clientFails),
  row(
    'RFC 7662 2.1: a public client proves nothing',
    { path, form: { client_id: '{client}', token: '{access_token}' } },
    clientFails,
  ),
  row(
    'RFC 7662 2.1: the token itself does not authenticate a client',
    { ...introspect('{web_access_token}'), headers: { authorization: 'Bearer {web_access_token}' } },
    clientFails,
  ),
  ...rows(
    expecting(challenged, (authorization: string) => ({
      ...introspect('{access_token}'),
      headers: { authorization },
    })),
    {
      'RFC 7662 2.1: a public client by Basic': '{basic_public}',
      'RFC 7662 2.3: a wrong secret': '{basic_wrong}',
    },
  ),
  row('RFC 7662 2.1: no token', ask({}), badRequest),
  row('RFC 7662 2.1: token twice', ask({ token: ['x', 'y'] }), badRequest),
  row(
    'RFC 7662 4: GET, which would put the token into a log',
    { path, query: { token: '{web_access_token}' }, headers },
    onlyPost,
  ),
  row(
    'RFC 7662 2.1: the token in the query',
    { ...ask({ x: '1' }), query: { token: '{web_access_token}' } },
    badRequest,
  ),
  row('RFC 7662 2.1: a body of JSON', { path, json: { token: 'x' }, headers }, otherType),
  ...rows(expecting(inactive, introspect), {
    'RFC 7662 2.2: an unknown token': 'unknown',
    'RFC 7662 2.2: an access token of another client, and not a word more': '{access_token}',
    'RFC 7662 2.2: a refresh token of another client, and not a word more': '{refresh_token}',
    'RFC 7662 2.2: an authorization code is not a token': '{web_code}',
    'RFC 7662 2.2: a device code is not a token': '{device_code}',
    'RFC 7662 2.2: a token of the provider is none of ours': 'eyJhbGciOiJub25lIn0.eyJzdWIiOiJ4In0.',
  }),
  row(
    'RFC 7662 2.2, RFC 7662 2.1: a wrong hint does not hide a token',
    ask({ token: '{web_access_token}', token_type_hint: 'refresh_token' }),
    {
      status: 200,
      json: {
        active: true,
        iss: 'http://localhost:8787',
        aud: 'http://localhost:8787/mcp',
        token_type: 'Bearer',
      },
      headers: { 'cache-control': /^no-store$/, 'access-control-allow-origin': undefined },
    },
  ),
  {
    title: 'RFC 7662 4: an access token after its hour',
    steps: [
      { request: introspect('{web_access_token}'), expected: active },
      { advance: 3600 },
      { request: introspect('{web_access_token}'), expected: inactive },
    ],
  },
  {
    title: 'RFC 7662 4: a token that was revoked',
    steps: [
      { request: introspect('{web_access_token}'), expected: active },
      {
        request: revoke({
          client_id: '{web}',
          client_secret: '{client_secret}',
          token: '{web_refresh_token}',
        }),
        expected: { status: 200 },
      },
      { request: introspect('{web_access_token}'), expected: inactive },
      { request: introspect('{web_refresh_token}'), expected: inactive },
    ],
  },
  {
    title: 'RFC 7662 2.2: a refresh token that was used',
    steps: [
      { request: introspect('{web_refresh_token}'), expected: active },
      {
        request: {
          path: '/oauth/token',
          form: { grant_type: 'refresh_token', refresh_token: '{web_refresh_token}' },
          headers,
        },
        expected: { status: 200 },
      },
      { request: introspect('{web_refresh_token}'), expected: inactive },
    ],
  },
  row(
    'RFC 7662 4: no page may read the answers',
    {
      path,
      method: 'OPTIONS',
      headers: { origin: 'https://page.example', 'access-control-request-method': 'POST' },
    },
    { status: 405, headers: { 'access-control-allow-origin': undefined } },
  ),
]

describeCases({ introspection: introspections })
