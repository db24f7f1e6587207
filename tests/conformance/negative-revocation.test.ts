import { type CaseRequest, type Expected, type NegativeCase, rows, type Step } from './negative-case.ts'
import {
  badGrant,
  badRequest,
  challenged,
  clientFails,
  onlyPost,
  otherType,
  refresh,
  revoke,
  tokenIsDead,
} from './negative-request.ts'
import { describeCases } from './negative-suite.ts'

const accepted: Expected = { status: 200 }

const call = (token: string): CaseRequest => ({
  path: '/mcp',
  json: { jsonrpc: '2.0', id: 1, method: 'tools/list' },
  headers: { authorization: `Bearer {${token}}`, accept: 'application/json, text/event-stream' },
})
const refreshes: Step = { request: refresh(), expected: { status: 200 } }
const doesNotRefresh: Step = { request: refresh(), expected: badGrant }
const isAlive = (token: string): Step => ({ request: call(token), expected: { status: 200 } })

/** Expects a response that leaves the connection alive. */
const harmless = (expected: Expected, table: Record<string, CaseRequest>): NegativeCase[] =>
  rows((request: CaseRequest) => [{ request, expected }, isAlive('access_token'), refreshes], table)

const revocations: NegativeCase[] = [
  ...harmless(badRequest, {
    'RFC 7009 2.1: no token': revoke({ token: undefined }),
    'RFC 7009 2.1: an empty token is a missing one': revoke({ token: '' }),
    'RFC 7009 2.1: token twice': revoke({ token: ['{refresh_token}', '{refresh_token}'] }),
    'RFC 7009 2: the token in the query': { ...revoke({}), query: { token: '{refresh_token}' } },
  }),
  ...harmless(clientFails, {
    'RFC 7009 2.1: no client': revoke({ client_id: undefined, token: '{refresh_token}' }),
    'RFC 7009 2.1: an unknown client': revoke({ client_id: 'nobody', token: '{refresh_token}' }),
    'RFC 7009 2.1: a client with a secret comes without it': revoke({
      client_id: '{web}',
      token: '{refresh_token}',
    }),
  }),
  ...harmless(challenged, {
    'RFC 7009 2.1: a wrong secret': revoke(
      { client_id: undefined, token: '{refresh_token}' },
      { authorization: '{basic_wrong}' },
    ),
  }),
  ...harmless(badGrant, {
    'RFC 7009 2.1: a refresh token of another client': revoke({
      client_id: '{other}',
      token: '{refresh_token}',
    }),
    'RFC 7009 2.1: an access token of another client': revoke({
      client_id: '{other}',
      token: '{access_token}',
    }),
  }),
  ...harmless(accepted, {
    'RFC 7009 2.2: an unknown token is no error': revoke({ token: 'unknown' }),
    'RFC 7009 2.2: an unknown refresh token is no error': revoke({ token: `mcpr_${'x'.repeat(50)}` }),
    'RFC 7009 2.2: an unknown access token is no error': revoke({ token: `mcpa_${'x'.repeat(50)}` }),
    'RFC 7009 2.2.1: no token is of an unsupported type': revoke({
      token: 'e30.e30.e30',
      token_type_hint: 'id_token',
    }),
  }),
  ...harmless(onlyPost, {
    'RFC 7009 2: GET, which a link could do': {
      path: '/oauth/revoke',
      query: { client_id: '{client}', token: '{refresh_token}' },
    },
  }),
  ...harmless(otherType, {
    'RFC 7009 2.1: a body of JSON': {
      path: '/oauth/revoke',
      json: { client_id: '{client}', token: '{refresh_token}' },
    },
  }),
  {
    title: 'RFC 7009 2.1, RFC 6750 3.1: with a refresh token everything of the connection is over',
    steps: [
      isAlive('access_token'),
      {
        request: revoke({ token: '{refresh_token}' }),
        expected: { status: 200, headers: { 'cache-control': /^no-store$/ } },
      },
      tokenIsDead('access_token'),
      doesNotRefresh,
    ],
  },
  {
    title: 'RFC 7009 2.1: a used refresh token ends its connection as well',
    steps: [
      {
        request: refresh(),
        expected: { status: 200 },
        keep: { next: 'refresh_token', newer: 'access_token' },
      },
      { request: revoke({ token: '{refresh_token}' }), expected: accepted },
      tokenIsDead('newer'),
      { request: refresh({ refresh_token: '{next}' }), expected: badGrant },
    ],
  },
  {
    title: 'RFC 7009 2.1: with an access token nothing else is over',
    steps: [
      { request: revoke({ token: '{access_token}' }), expected: accepted },
      tokenIsDead('access_token'),
      refreshes,
    ],
  },
  {
    title: 'RFC 7009 2.1: a wrong hint does no harm',
    steps: [
      { request: revoke({ token: '{refresh_token}', token_type_hint: 'access_token' }), expected: accepted },
      doesNotRefresh,
    ],
  },
  {
    title: 'RFC 7009 2.1: an unknown hint does no harm',
    steps: [
      { request: revoke({ token: '{access_token}', token_type_hint: 'pct' }), expected: accepted },
      tokenIsDead('access_token'),
    ],
  },
  {
    title: 'RFC 7009 2.2: a second time is no error',
    steps: [
      { request: revoke({ token: '{refresh_token}' }), expected: accepted },
      { request: revoke({ token: '{refresh_token}' }), expected: accepted },
    ],
  },
  {
    title: 'RFC 7009 2.3: every page may revoke, and no cookie goes with it',
    steps: [
      {
        request: revoke({ token: '{access_token}' }, { origin: 'https://page.example' }),
        expected: {
          status: 200,
          headers: { 'access-control-allow-origin': /^\*$/, 'access-control-allow-credentials': undefined },
        },
      },
    ],
  },
]

describeCases({ revocation: revocations })
