import { audit, event, type LogEvent } from './event-kind.ts'
import { providerEvents } from './provider-events.ts'
import { upstreamEvents } from './upstream-events.ts'

const grant = ['grant_id', 'client_id', 'sub']
const callFields = [
  'unknown',
  'unlisted',
  'revision',
  'outcome',
  'duration_ms',
  'request_bytes',
  'response_bytes',
]

/** Every event by name. Log levels, audit marks, the metric and docs/observability.md are derived from this table. */
export const logEvents: Readonly<Record<string, LogEvent>> = {
  // Signing in
  signed_in: audit('A user signed in and allowed a client.', {
    fields: ['client_id', 'sub'],
    shows: 'signed_in',
  }),
  sign_in_failed: audit('The session provider or a limit refused a sign-in.', {
    fields: ['failure', 'message'],
    detail: 'failure',
    refusal: 'failure',
  }),
  email_requested: event(
    'info',
    'A mail for signing in was asked for; it is sent if the address has an account.',
    {
      fields: ['client_id'],
      shows: 'waits',
    },
  ),
  email_not_sent: event(
    'warn',
    'The session provider sent no mail that was asked for: its quota, its mail server or its settings. Nobody is told who has an account, so people wait for it.',
    { fields: ['failure', 'message'], detail: 'failure', refusal: 'failure' },
  ),
  email_link_lost: event('error', 'A mail was sent, but its link cannot be used: the store failed.', {
    fields: ['err'],
  }),
  second_factor_asked: event(
    'info',
    'The password or social sign-in was accepted; the second factor is next.',
    { fields: ['client_id'], shows: 'waits' },
  ),
  second_factor_failed: audit('A second-factor code was not accepted.', {
    fields: ['failure', 'message'],
    detail: 'failure',
    refusal: 'failure',
  }),
  second_factor_over: audit('A sign-in ended because its second factor never came.', {
    fields: ['reason', 'message'],
    detail: 'reason',
    refusal: 'reason',
  }),
  sign_in_stranded: event('info', 'A user was shown an error page; docs/errors.md lists the reasons.', {
    fields: ['reason'],
    detail: 'reason',
    refusal: 'reason',
  }),
  upstream_refused: audit(
    'The upstream responded with 401 or 403: it does not accept what it is told about the caller.',
    { fields: ['status'], refusal: true },
  ),
  upstream_failed: event('warn', 'The upstream sent no response, or one that cannot be passed on.', {
    fields: ['reason', 'status', 'err'],
    detail: 'reason',
  }),
  access_denied: audit(
    'The access rules refuse a user, at sign-in or with a credential of the provider at /mcp. `reason` is `deny_rule`, `no_rule` (none matches) or `address_not_verified` (one would match if the address were verified); `rule` is the number of the deny rule.',
    { fields: ['client_id', 'sub', 'rule', 'reason'], detail: 'reason', refusal: true },
  ),
  personal_token_made: audit('A user made a personal token.', { fields: ['client_id', 'sub'] }),
  choice_refused: audit(
    "A form named a scope that was not asked for, or a workspace that is not the user's. `field` is `scope` or `workspace`.",
    { fields: ['client_id', 'field'], refusal: true },
  ),
  workspaces_failed: event('warn', 'The web app did not list the workspaces of a user.', {
    fields: ['message'],
  }),
  authorization_denied: audit('A user refused to allow a client.', { fields: ['client_id'], refusal: true }),
  account_signed_in: audit('A user signed in to see their connections.', { fields: ['sub'] }),
  device_allowed: audit('A user signed in and allowed a device.', {
    fields: ['client_id', 'sub'],
    shows: 'signed_in',
  }),
  device_denied: audit('A user refused to allow a device.', { fields: ['client_id'], refusal: true }),
  device_code_taken: event('info', 'A user entered the code of a device; signing in is next.', {
    fields: ['client_id'],
    shows: 'code_entered',
  }),
  device_code_unknown: event('info', 'A user entered a code that no waiting device has.', { refusal: true }),
  device_code_limited: audit('Too many device codes were tried.'),
  authorization_refused: event(
    'info',
    'An authorization request was invalid; the client received the error.',
    { fields: ['err'], refusal: 'error' },
  ),

  // Clients
  client_registered: audit('A client registered itself.', { fields: ['client_id'], shows: 'client' }),
  client_updated: audit('A client changed its registration.', { fields: ['client_id'] }),
  client_removed: audit('A client removed its registration, which ended its grants.', {
    fields: ['client_id', 'grants_ended'],
  }),
  registration_limited: audit('The registration limit was reached.', { refusal: true }),
  client_document_unavailable: event('info', "A client's metadata document could not be used.", {
    fields: ['client_id', 'host', 'reason', 'next_step'],
  }),
  client_not_kept: event(
    'error',
    'A user signed in with a client, but its registration could not be extended.',
    { fields: ['client_id', 'err'] },
  ),

  // Grants and tokens
  token_issued: audit(
    'A client received tokens. With any grant type other than refresh_token, this started a grant.',
    {
      fields: ['client_id', 'grant_type', 'grant_id'],
      detail: 'grant_type',
      shows: 'token',
    },
  ),
  refresh_token_replayed: audit(
    'A used refresh token was presented again in time to get its successor: a race, a lost response, or a thief. `source` is `same_address`, `other_address` or `unknown_address`.',
    { fields: ['client_id', 'grant_id', 'first_address', 'source'], detail: 'source' },
  ),
  token_refused: audit(
    'A token request failed with an OAuth error. For a refresh, the fields include its grant.',
    {
      fields: ['code', 'description', 'err', 'client_id', 'grant_id'],
      detail: 'code',
      refusal: 'code',
    },
  ),
  token_revoked: audit('A client revoked a token.', { fields: ['client_id'] }),
  grant_changed: audit('A user narrowed a grant, or chose another workspace for it.', {
    fields: [...grant, 'scope', 'workspace'],
  }),
  workspace_lost: audit('A call was refused: its user is no longer in the workspace of the grant.', {
    fields: [...grant, 'workspace'],
    refusal: true,
  }),
  connection_revoked: audit('A user ended a grant on their connections page.', { fields: grant }),
  device_authorization_started: event('info', 'A device asked for authorization.', {
    fields: ['client_id'],
    shows: 'client',
  }),
  device_limit_reached: audit('Too many devices asked for authorization, from one address or in total.', {
    fields: ['client_id'],
    refusal: true,
  }),
  grant_ended: audit(
    'A grant ended early: a code or token was reused, the grant was revoked or replaced after a step-up, or the access rules no longer allow its user.',
    {
      fields: [...grant, 'reason'],
      detail: 'reason',
      level: 'warn',
    },
  ),
  access_rules_changed: audit('The access file changed, and its rules are in use.', { fields: ['rules'] }),
  access_file_unusable: event(
    'error',
    'The access file changed to something that cannot be used; the previous rules stay in use.',
    { fields: ['path', 'faults'] },
  ),
  key_ring_changed: audit('The key file changed, and its keys are in use.', { fields: ['kids'] }),

  // Requests
  request_refused: event('debug', 'A client received an OAuth error.', {
    fields: ['code', 'description', 'err'],
    detail: 'code',
    refusal: 'code',
  }),
  requests_shed: audit('Requests were refused unread because there were too many.', {
    fields: ['count', 'address'],
    level: 'warn',
  }),
  address_unknown: event(
    'warn',
    'The address of requests is unknown, so limits per address do not apply. Pass the address to fetch, or name the proxy in TRUSTED_PROXIES.',
  ),
  connections_refused: event('warn', 'The connection limit is reached; further connections are refused.', {
    fields: ['limit'],
  }),
  request_aborted: event('debug', 'The client disconnected in the middle of its request.'),
  request_failed: event('error', 'An internal error; the client received 500.', { fields: ['err'] }),
  store_unavailable: event('error', 'The store could not be used; the client received 503.', {
    fields: ['err'],
  }),
  origin_refused: event('info', 'A page of a disallowed origin called /mcp.', { refusal: true }),
  cookie_refused: event('info', 'A session cookie was sent by a request that may not use it.', {
    refusal: true,
  }),
  caller_refused: event('debug', 'A credential at /mcp was not accepted.', {
    fields: ['description'],
    refusal: true,
  }),
  mcp_request: event('debug', 'An authenticated caller sent a message to /mcp.', {
    fields: ['credential', 'grant_id', 'method'],
    detail: 'credential',
    shows: 'call',
  }),
  tool_called: audit(
    'A tool was called. `outcome` is `ok`, `tool_error`, `refused_scope`, `refused_rule`, `refused_limit`, `cancelled` or `failed`; `unknown` marks names that the server does not have, `unlisted` those of an upstream that has not listed its tools yet. Arguments and results are never logged.',
    {
      fields: ['sub', 'client_id', 'grant_id', 'workspace', 'credential', 'tool', ...callFields],
      detail: 'outcome',
    },
  ),
  resource_read: audit(
    'A resource was read; fields as in `tool_called`. Of its URI the part before `?` and `#` is logged.',
    {
      fields: ['sub', 'client_id', 'grant_id', 'workspace', 'credential', 'resource', ...callFields],
      detail: 'outcome',
    },
  ),
  prompt_got: audit('A prompt was fetched; fields as in `tool_called`.', {
    fields: ['sub', 'client_id', 'grant_id', 'workspace', 'credential', 'prompt', ...callFields],
    detail: 'outcome',
  }),
  mcp_rejected: event('debug', 'A message to /mcp was invalid.', { fields: ['err'] }),
  tool_failed: event('error', 'A tool threw; the client received a failed result.', {
    fields: ['tool', 'err'],
  }),
  tools_not_started: event('error', 'The start function of the tools module failed.', { fields: ['err'] }),
  tools_not_stopped: event('error', 'The stop function of the tools module failed.', { fields: ['err'] }),

  ...upstreamEvents,

  // The admin API
  admin_refused: audit('A request to the admin API had no token, or a wrong one.', {
    fields: ['reason', 'method'],
    detail: 'reason',
    level: 'warn',
  }),
  admin_grant_revoked: audit('The admin API ended a grant.', { fields: grant }),
  admin_client_removed: audit('The admin API removed a client, which ended its grants.', {
    fields: ['client_id', 'removed', 'grants_ended'],
  }),
  admin_keys_rotated: audit(
    'The admin API added a new key at the front of the key file and re-sealed sessions; `resealed`, `unsettled`, `unreadable` and `left` are numbers of sessions.',
    { fields: ['sealing_key', 'added', 'resealed', 'unsettled', 'unreadable', 'left', 'interrupted'] },
  ),
  admin_token_changed: audit('The file of the admin token changed, and its token is in use.'),
  admin_token_unusable: event(
    'error',
    'The file of the admin token changed to something that cannot be used; the previous token stays in use.',
    { fields: ['path', 'reason'] },
  ),

  ...providerEvents,

  // The process
  key_file_unusable: event(
    'error',
    'The key file changed to something that is not a key ring; the previous ring stays in use.',
    { fields: ['path', 'reason'] },
  ),
  audit_file_failed: event(
    'error',
    'The audit file could not be written; `lost` is how many events are missing from it since the last such line. They are in this log too.',
    { fields: ['path', 'lost', 'err'] },
  ),
  telemetry_failed: event(
    'warn',
    'The OpenTelemetry collector did not take a batch of `traces` or `logs`, which is lost; said once until it takes one.',
    { fields: ['signal', 'err'], detail: 'signal' },
  ),
  upkeep_failed: event('error', 'Background work failed and will be retried.', { fields: ['err'] }),
  stopping: event('info', 'The process was asked to stop.', { fields: ['signal'] }),
}
