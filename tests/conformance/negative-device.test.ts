import {
  type CaseRequest,
  expecting,
  type Expected,
  type Fields,
  type NegativeCase,
  row,
  rows,
} from './negative-case.ts'
import {
  bad,
  badGrant,
  badRequest,
  badScope,
  badTarget,
  challenged,
  clientFails,
  onlyPost,
  otherType,
} from './negative-request.ts'
import { describeCases } from './negative-suite.ts'

const path = '/oauth/device_authorization'
const start = (changes: Fields = {}): CaseRequest => ({ path, form: { client_id: '{device}', ...changes } })

const poll = (changes: Fields = {}): CaseRequest => ({
  path: '/oauth/token',
  form: { grant_type: '{device_grant}', client_id: '{device}', device_code: '{device_code}', ...changes },
})

const started: Expected = { status: 200, json: { expires_in: 900, interval: 5 } }

const starts: NegativeCase[] = [
  ...rows(expecting(clientFails, start), {
    'RFC 8628 3.1: no client': { client_id: undefined },
    'RFC 8628 3.1: an unknown client': { client_id: 'nobody' },
    'RFC 8628 3.1: a client with a secret comes without it': { client_id: '{web}' },
  }),
  ...rows(expecting(badTarget, start), {
    'RFC 8707 2: a foreign resource': { resource: 'https://other.example/mcp' },
    'RFC 8707 2: a foreign resource beside ours': { resource: ['{resource}', 'https://other.example/'] },
  }),
  row(
    'RFC 8628 3.1: a wrong secret',
    { ...start({ client_id: undefined }), headers: { authorization: '{basic_wrong}' } },
    challenged,
  ),
  row(
    'RFC 8628 3.1: a client that registered without this grant',
    start({ client_id: '{code_only}' }),
    bad('unauthorized_client'),
  ),
  row('RFC 6749 3.3: a scope that none can be', start({ scope: 'mcp "' }), badScope),
  row('RFC 6749 3.1: client_id twice', start({ client_id: ['{device}', '{device}'] }), badRequest),
  row('RFC 8628 3.1: GET', { path, query: { client_id: '{device}' } }, onlyPost),
  row(
    'RFC 8628 3.1: parameters in the query',
    { ...start({ client_id: undefined }), query: { client_id: '{device}' } },
    clientFails,
  ),
  row('RFC 8628 3.1: a body of JSON', { path, json: { client_id: '{device}' } }, otherType),
  row('RFC 8628 3.2: the answer is kept by no cache, and has codes that cannot be guessed', start(), {
    status: 200,
    headers: { 'cache-control': /^no-store$/ },
    json: { verification_uri: 'http://localhost:8787/oauth/device' },
  }),
]

const polls: NegativeCase[] = [
  row('RFC 8628 3.5: nobody has decided', poll(), bad('authorization_pending')),
  ...rows(expecting(badRequest, poll), {
    'RFC 8628 3.4: no device_code': { device_code: undefined },
    'RFC 8628 3.4: a device_code twice': { device_code: ['{device_code}', '{device_code}'] },
  }),
  ...rows(expecting(badGrant, poll), {
    'RFC 8628 3.4: an unknown device_code': { device_code: 'mcpd_unknown' },
    'RFC 8628 3.4: a user code as device_code': { device_code: '{user_code}' },
  }),
  row('RFC 8628 3.4: the device_code without its client', poll({ client_id: undefined }), clientFails),
  row(
    'RFC 8628 3.4: the grant type by a short name',
    poll({ grant_type: 'device_code' }),
    bad('unsupported_grant_type'),
  ),
  {
    title: 'RFC 8628 3.4: the device_code of another client, whose polls do not count for the owner',
    steps: [
      { request: poll({ client_id: '{other_device}' }), expected: badGrant },
      { request: poll({ client_id: '{other_device}' }), expected: badGrant },
      { request: poll(), expected: bad('authorization_pending') },
    ],
  },
  {
    title: 'RFC 8628 3.5: a device that asks too fast is slowed down, and is in time at its interval',
    steps: [
      { request: poll(), expected: bad('authorization_pending') },
      { advance: 3 },
      { request: poll(), expected: bad('slow_down') },
      { advance: 1 },
      { request: poll(), expected: bad('slow_down') },
      { advance: 5 },
      { request: poll(), expected: bad('authorization_pending') },
    ],
  },
  {
    title: 'RFC 8628 3.5: nobody decided in time',
    steps: [
      { request: poll(), expected: bad('authorization_pending') },
      { advance: 900 },
      { request: poll(), expected: bad('expired_token') },
    ],
  },
  {
    title: 'RFC 8628 3.2: every start has codes of its own',
    steps: [
      { request: start(), expected: started, keep: { first: 'device_code' } },
      { request: start(), expected: started, keep: { second: 'device_code' } },
      { request: poll({ device_code: '{first}' }), expected: bad('authorization_pending') },
      { request: poll({ device_code: '{second}' }), expected: bad('authorization_pending') },
    ],
  },
]

describeCases({
  'starting a device': starts,
  polling: polls,
})
