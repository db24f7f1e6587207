import { expecting, type Expected, type Fields, type NegativeCase, row, rows } from './negative-case.ts'
import {
  bad,
  badGrant,
  badRequest,
  badTarget,
  clientFails,
  codeForm,
  issued,
  onlyPost,
  otherType,
  redeem,
  refresh,
  token,
  tokenIsDead,
} from './negative-request.ts'
import { describeCases } from './negative-suite.ts'

/** Expects a refusal that leaves the code to its owner. */
const refusedCode = (expected: Expected, table: Record<string, Fields>): NegativeCase[] =>
  rows(
    (changes: Fields) => [
      { request: redeem(changes), expected },
      { request: redeem(), expected: issued },
    ],
    table,
  )

const codes: NegativeCase[] = [
  ...refusedCode(badRequest, {
    'RFC 6749 5.2: no grant_type': { grant_type: undefined },
    'RFC 6749 3.2: an empty grant_type is a missing one': { grant_type: '' },
    'RFC 6749 3.2: grant_type twice': { grant_type: ['authorization_code', 'authorization_code'] },
    'RFC 6749 3.2: a parameter twice that is unknown': { x: ['1', '2'] },
    'RFC 6749 4.1.3: no code': { code: undefined },
    'RFC 7636 4.5: no code_verifier': { code_verifier: undefined },
    'RFC 9700 4.5.3: the code of somebody else, without the verifier': { code_verifier: '' },
  }),
  ...refusedCode(bad('unsupported_grant_type'), {
    'RFC 9700 2.4: the password grant': { grant_type: 'password', username: '{email}', password: 'x' },
    'RFC 8693 2.1: token exchange': { grant_type: 'urn:ietf:params:oauth:grant-type:token-exchange' },
    'RFC 7523 2.1: a JWT as grant': {
      grant_type: 'urn:ietf:params:oauth:grant-type:jwt-bearer',
      assertion: 'e30.e30.',
    },
  }),
  ...refusedCode(badGrant, {
    'RFC 6749 4.1.3: an unknown code': { code: 'unknown' },
    'RFC 6749 4.1.3: an endless code': { code: 'x'.repeat(10_000) },
    'RFC 6749 4.1.3: another redirect_uri': { redirect_uri: '{redirect_uri}/x' },
    'RFC 7636 4.6, RFC 9700 2.1.1: a wrong code_verifier': { code_verifier: 'x'.repeat(43) },
    'RFC 6749 4.1.3: the code of another client': { client_id: '{other}' },
    'RFC 6749 4.1.3: an access token as code': { code: '{access_token}' },
    'RFC 8628 3.4: a device code as authorization code': { code: '{device_code}' },
  }),
  ...refusedCode(badTarget, {
    'RFC 8707 2.2, RFC 9700 2.3: a foreign resource beside ours': {
      resource: ['{resource}', 'https://other.example/mcp'],
    },
    'RFC 8707 2: a resource with a fragment': { resource: '{resource}#' },
  }),
  ...refusedCode(clientFails, {
    'RFC 6749 3.2.1: no client': { client_id: undefined },
    'RFC 6749 5.2: an unknown client': { client_id: 'nobody' },
  }),
  {
    title: 'RFC 6749 4.1.2, RFC 9700 4.3.1: a code a second time, at once',
    steps: [
      { request: redeem(), expected: issued, keep: { first: 'access_token' } },
      { request: redeem(), expected: badGrant },
      {
        request: { path: '/mcp', json: {}, headers: { authorization: 'Bearer {first}' } },
        expected: { status: 400 },
      },
    ],
  },
  {
    title: 'RFC 9700 2.1.1: a code a second time, later: everything it gave is over',
    steps: [
      { request: redeem(), expected: issued, keep: { first: 'access_token', next: 'refresh_token' } },
      { advance: 11 },
      { request: redeem(), expected: badGrant },
      tokenIsDead('first'),
      { request: refresh({ refresh_token: '{next}' }), expected: badGrant },
    ],
  },
  ...rows(
    expecting(bad('unauthorized_client'), (form: Fields) => token({ client_id: '{code_only}', ...form })),
    {
      'RFC 6749 5.2: refresh_token of a client that registered without it': {
        grant_type: 'refresh_token',
        refresh_token: 'mcpr_unknown',
      },
      'RFC 8628 3.4: device_code of a client that registered without it': {
        grant_type: '{device_grant}',
        device_code: 'mcpd_unknown',
      },
    },
  ),
  {
    title: 'RFC 7591 2: a client that registered without refresh_token gets none',
    steps: [
      {
        request: redeem({ client_id: '{code_only}', code: '{code_only_code}' }),
        expected: { status: 200, json: { expires_in: 3590 } },
        keep: { refresh: 'refresh_token' },
      },
      {
        request: refresh({ client_id: '{code_only}', refresh_token: '{refresh}' }),
        expected: bad('unauthorized_client'),
      },
    ],
  },
]

const transport: NegativeCase[] = [
  row(
    'RFC 6749 3.2, OAuth 2.1 3.2: GET, which would put the code into a URL',
    { path: '/oauth/token', query: { ...codeForm } },
    onlyPost,
  ),
  row(
    'RFC 6749 2.3.1: everything in the query instead of the body',
    { path: '/oauth/token', query: { ...codeForm }, form: {} },
    clientFails,
  ),
  row('RFC 6749 3.2: a body of JSON', { path: '/oauth/token', json: codeForm }, otherType),
  row('RFC 6749 3.2: an empty body', { path: '/oauth/token', form: {} }, clientFails),
  row(
    'RFC 9110 15.5.14: an endless body',
    { path: '/oauth/token', form: { ...codeForm, x: 'x'.repeat(70_000) } },
    bad('invalid_request', 413),
  ),
  row('RFC 6749 5.1: a good answer is kept by no cache', redeem(), {
    status: 200,
    headers: { 'cache-control': /^no-store$/, pragma: /^no-cache$/ },
  }),
  row(
    'OAuth 2.1 3.2: every page may ask, and no cookie goes with it',
    token({ ...codeForm, code: 'x' }, { origin: 'https://page.example' }),
    {
      ...badGrant,
      headers: { 'access-control-allow-origin': /^\*$/, 'access-control-allow-credentials': undefined },
    },
  ),
]

describeCases({ 'redeeming a code': codes, 'the request to the token endpoint': transport })
