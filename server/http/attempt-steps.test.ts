import { expect, it } from 'vitest'
import { reportedEvent } from '../../tests/support/server/reported-event.ts'
import { stepsOf as shownSteps } from './attempt-steps.ts'

type Reported = readonly [name: string, fields: Readonly<Record<string, unknown>>]

/** The steps that a request shows, as words; `!` before those that were refused. */
function stepsOf(
  [method, endpoint]: readonly [method: string, endpoint: string],
  status: number,
  events: readonly Reported[],
  more: { clientId?: string; authorization?: string } = {},
): string {
  const { authorization, clientId } = more
  const request = new Request(`https://mcp.example.com/app${endpoint}`, {
    method,
    headers: authorization === undefined ? {} : { authorization },
  })
  const reported = events.map(([name, fields]) => reportedEvent(name, fields))
  const steps = shownSteps({ request, status, events: reported, clientId }, `/app${endpoint}`, '/app')
  return steps
    .map(({ step, ok, detail }) => `${ok ? '' : '!'}${step}${detail === undefined ? '' : ` (${detail})`}`)
    .join(', ')
}

const authorize = '/oauth/authorize'
const device = '/oauth/device'
const token = '/oauth/token'

it.each<
  [
    what: string,
    request: [method: string, endpoint: string],
    status: number,
    events: Reported[],
    steps: string,
  ]
>([
  ['the page', ['GET', authorize], 200, [], 'page'],
  [
    'a page that is refused',
    ['GET', authorize],
    400,
    [['authorization_refused', { error: 'invalid_scope' }]],
    '!page (invalid_scope)',
  ],
  [
    'a document that is away',
    ['GET', authorize],
    503,
    [['authorization_refused', { error: 'client_unavailable' }]],
    '!client (client_unavailable)',
  ],
  ['a password that is right', ['POST', authorize], 302, [['signed_in', { sub: 'ada' }]], 'sign_in, code'],
  [
    'a password that is wrong',
    ['POST', authorize],
    200,
    [['sign_in_failed', { failure: 'wrong_password' }]],
    '!sign_in (wrong_password)',
  ],
  [
    'a mail that is asked for',
    ['POST', authorize],
    200,
    [['email_requested', {}]],
    'sign_in (email_requested)',
  ],
  ['a mailed code that is right', ['POST', authorize], 302, [['signed_in', { sub: 'ada' }]], 'sign_in, code'],
  [
    'a mailed code that is wrong',
    ['POST', authorize],
    200,
    [['sign_in_failed', { failure: 'wrong_code' }]],
    '!sign_in (wrong_code)',
  ],
  [
    'a second factor that is asked for',
    ['POST', authorize],
    200,
    [['second_factor_asked', {}]],
    'sign_in (second_factor_asked)',
  ],
  [
    'a second factor that is wrong',
    ['POST', authorize],
    200,
    [['second_factor_failed', { failure: 'wrong_code' }]],
    '!sign_in (wrong_code)',
  ],
  [
    'a second factor that came too late',
    ['POST', authorize],
    400,
    [['second_factor_over', { reason: 'expired' }]],
    '!sign_in (expired)',
  ],
  ['a click on Google', ['POST', authorize], 303, [], 'sign_in (redirected)'],
  ['the way back from Google', ['GET', '/oauth/callback'], 302, [['signed_in', {}]], 'sign_in, code'],
  [
    'a rule that refuses',
    ['POST', authorize],
    403,
    [['access_denied', { rule: 1 }]],
    '!sign_in (access_denied)',
  ],
  [
    'a person who refuses',
    ['POST', authorize],
    302,
    [['authorization_denied', {}]],
    '!sign_in (authorization_denied)',
  ],
  [
    'a browser without cookies',
    ['POST', authorize],
    403,
    [['sign_in_stranded', { reason: 'foreign_browser' }]],
    '!sign_in (foreign_browser)',
  ],
  [
    'a device that begins',
    ['POST', '/oauth/device_authorization'],
    200,
    [['device_authorization_started', { client_id: 'c' }]],
    'client',
  ],
  [
    'a device beyond its limit',
    ['POST', '/oauth/device_authorization'],
    429,
    [['device_limit_reached', {}]],
    '!client (device_limit_reached)',
  ],
  ['the page for the code of a device', ['GET', device], 200, [], ''],
  ['the code of a device', ['POST', device], 200, [['device_code_taken', {}]], 'page'],
  [
    'a made-up code of a device',
    ['POST', device],
    400,
    [['device_code_unknown', {}]],
    '!sign_in (device_code_unknown)',
  ],
  ['a device that is let in', ['POST', device], 200, [['device_allowed', { sub: 'ada' }]], 'sign_in, code'],
  [
    'a device that waits for a mail',
    ['POST', device],
    200,
    [['email_requested', {}]],
    'sign_in (email_requested)',
  ],
  ['a device that is refused', ['POST', device], 200, [['device_denied', {}]], '!sign_in (device_denied)'],
  ['a device that waits', ['POST', token], 400, [['token_refused', { code: 'authorization_pending' }]], ''],
  ['a device that polls early', ['POST', token], 400, [['token_refused', { code: 'slow_down' }]], ''],
  [
    'a device whose code is over',
    ['POST', token],
    400,
    [['token_refused', { code: 'expired_token' }]],
    '!token (expired_token)',
  ],
  [
    'tokens',
    ['POST', token],
    200,
    [['token_issued', { grant_id: 'g', grant_type: 'authorization_code' }]],
    'token',
  ],
  [
    'tokens of a device',
    ['POST', '/token'],
    200,
    [['token_issued', { grant_id: 'g', grant_type: 'urn:ietf:params:oauth:grant-type:device_code' }]],
    'token',
  ],
  ['a refresh', ['POST', token], 200, [['token_issued', { grant_id: 'g', grant_type: 'refresh_token' }]], ''],
  [
    'a refused refresh',
    ['POST', token],
    400,
    [['token_refused', { code: 'invalid_grant', grant_id: 'g' }]],
    '!token (refresh: invalid_grant)',
  ],
  [
    'a refused code',
    ['POST', token],
    400,
    [['token_refused', { code: 'invalid_grant' }]],
    '!token (invalid_grant)',
  ],
  ['a look at the token endpoint', ['GET', token], 405, [], ''],
  [
    'a registration',
    ['POST', '/oauth/register'],
    201,
    [['client_registered', { client_id: 'c' }]],
    'register',
  ],
  [
    'a registration beyond the limit',
    ['POST', '/register'],
    429,
    [['registration_limited', {}]],
    '!register (registration_limited)',
  ],
  ['a request without a token', ['POST', '/mcp'], 401, [], 'challenge'],
  [
    'a page of another origin',
    ['POST', '/mcp'],
    403,
    [['origin_refused', {}]],
    '!challenge (origin_refused)',
  ],
  [
    'a first call',
    ['POST', '/mcp'],
    200,
    [['mcp_request', { grant_id: 'g', method: 'initialize' }]],
    'first_call',
  ],
  [
    'a list',
    ['POST', '/mcp'],
    200,
    [['mcp_request', { grant_id: 'g', method: 'tools/list' }]],
    'first_call, list',
  ],
  ['a call of a stranger', ['POST', '/mcp'], 200, [['mcp_request', { method: 'tools/call' }]], ''],
  [
    'the metadata of the resource',
    ['GET', '/.well-known/oauth-protected-resource/mcp'],
    200,
    [],
    'resource_metadata',
  ],
  ['the metadata of the server', ['GET', '/.well-known/openid-configuration'], 200, [], 'server_metadata'],
  ['a preflight for metadata', ['OPTIONS', '/.well-known/openid-configuration'], 204, [], ''],
])('the step of a client is read from %s', (_, request, status, events, steps) => {
  expect(stepsOf(request, status, events)).toBe(steps)
})

it('a refused token, which may be an old one, is no step', () => {
  const authorization = 'Bearer x'
  expect(stepsOf(['POST', '/mcp'], 401, [['caller_refused', {}]], { authorization })).toBe('')
  expect(stepsOf(['POST', '/mcp'], 403, [['origin_refused', {}]], { authorization })).toBe('')
})

it('the page of a client whose id is a document shows that it could be used', () => {
  expect(stepsOf(['GET', authorize], 200, [], { clientId: 'https://client.example/id' })).toBe('client, page')
})

it('metadata at an address that is not served is a failed step', () => {
  const request = new Request('https://mcp.example.com/x/.well-known/oauth-authorization-server')
  const steps = shownSteps({ request, status: 404, events: [] }, 'other', '/app')
  expect(steps).toEqual([{ step: 'server_metadata', ok: false }])
})
