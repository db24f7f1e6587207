import { type Expected, type Fields, type NegativeCase, rows } from './negative-case.ts'
import {
  badGrant,
  badRequest,
  badScope,
  badTarget,
  clientFails,
  issued,
  refresh,
  tokenIsDead,
} from './negative-request.ts'
import { describeCases } from './negative-suite.ts'

/** Expects a refusal without rotation. */
const refused = (expected: Expected, table: Record<string, Fields>): NegativeCase[] =>
  rows(
    (changes: Fields) => [
      { request: refresh(changes), expected },
      { request: refresh(), expected: issued },
    ],
    table,
  )

const refreshes: NegativeCase[] = [
  ...refused(badRequest, {
    'RFC 6749 6: no refresh_token': { refresh_token: undefined },
    'RFC 6749 3.2: refresh_token twice': { refresh_token: ['{refresh_token}', '{refresh_token}'] },
  }),
  ...refused(badGrant, {
    'RFC 6749 6: an unknown refresh token': { refresh_token: 'mcpr_unknown' },
    'RFC 6749 10.4, RFC 9700 4.14.2, OAuth 2.1 4.3: the refresh token of another client': {
      client_id: '{other}',
    },
  }),
  ...refused(clientFails, {
    'RFC 9700 4.14.2: the refresh token without its client': { client_id: undefined },
  }),
  ...refused(badScope, { 'RFC 6749 3.3: a scope that none can be': { scope: 'mcp "admin"' } }),
  ...refused(badTarget, {
    'RFC 8707 2.2, OAuth 2.1 3.2.3: a foreign resource, before anything is rotated': {
      resource: 'https://other.example/',
    },
    'RFC 8707 2.2: a resource with a fragment': { resource: '{resource}#x' },
  }),
  {
    title: 'RFC 6749 6: no scope beyond what was granted',
    steps: [
      {
        request: refresh({ scope: 'mcp offline_access admin' }),
        expected: { status: 200, json: { scope: 'mcp' } },
      },
    ],
  },
  {
    title: 'RFC 9700 4.14.2: a used refresh token, later: everything of the connection is over',
    steps: [
      { request: refresh(), expected: issued, keep: { first: 'access_token', next: 'refresh_token' } },
      { advance: 121 },
      { request: refresh(), expected: badGrant },
      tokenIsDead('first'),
      tokenIsDead('access_token'),
      { request: refresh({ refresh_token: '{next}' }), expected: badGrant },
    ],
  },
  {
    title: 'RFC 9700 4.14.2: a refresh token after 30 days, however often it was renewed',
    steps: [
      { request: refresh(), expected: issued, keep: { next: 'refresh_token' } },
      { advance: 30 * 86_400 },
      { request: refresh({ refresh_token: '{next}' }), expected: badGrant },
    ],
  },
]

describeCases({ refreshing: refreshes })
