/** What the log says about one kind of event. */
export interface LogEvent {
  /** Per-request events are `debug`, so that the hot path writes nothing by default. */
  level: 'debug' | 'info' | 'warn' | 'error'
  /** Belongs to the record of who was let in to what: its lines carry `"audit": true`, and the client's address where it is known. */
  audit: boolean
  /** Beside `time`, `level`, `event` and `request_id`. `err` is an error with its message, code, stack and cause. */
  fields: readonly string[]
  meaning: string
  /** The field whose value the metric has as `detail`: one of a closed set of words. */
  detail?: string
}

type Options = Partial<Pick<LogEvent, 'fields' | 'detail' | 'level'>>

const audit = (meaning: string, options: Options = {}): LogEvent => ({
  level: 'info',
  fields: [],
  ...options,
  audit: true,
  meaning,
})

const event = (level: LogEvent['level'], meaning: string, options: Options = {}): LogEvent => ({
  fields: [],
  ...options,
  level,
  audit: false,
  meaning,
})

const grant = ['grant_id', 'client_id', 'sub']

/** Every event there is, by name. Level and audit mark of a line, the metric and docs/observability.md come from here. */
export const logEvents: Readonly<Record<string, LogEvent>> = {
  // Signing in
  signed_in: audit('Somebody signed in and allowed a client.', { fields: ['client_id', 'sub'] }),
  sign_in_failed: audit('The session provider refused a sign-in, or a limit did.', {
    fields: ['failure', 'message'],
    detail: 'failure',
  }),
  second_factor_asked: event('info', 'The password or social sign-in was good; the second factor is next.', {
    fields: ['client_id'],
  }),
  second_factor_failed: audit('A code of the second factor was not accepted.', {
    fields: ['failure', 'message'],
    detail: 'failure',
  }),
  second_factor_over: audit('A sign-in ended for want of its second factor.', {
    fields: ['reason', 'message'],
    detail: 'reason',
  }),
  sign_in_stranded: event(
    'info',
    'Somebody got a page that goes no further; docs/errors.md has the reasons.',
    {
      fields: ['reason'],
      detail: 'reason',
    },
  ),
  authorization_denied: audit('Somebody refused to allow a client.', { fields: ['client_id'] }),
  account_signed_in: audit('Somebody signed in to see their connections.', { fields: ['sub'] }),
  device_allowed: audit('Somebody signed in and allowed a device.', { fields: ['client_id', 'sub'] }),
  device_denied: audit('Somebody refused to allow a device.', { fields: ['client_id'] }),
  device_code_taken: event('info', 'Somebody entered the code of a device; signing in is next.', {
    fields: ['client_id'],
  }),
  device_code_unknown: event('info', 'Somebody entered a code that no device waits with.'),
  device_code_limited: audit('Too many codes of devices were tried.'),
  authorization_refused: event('info', 'An authorization request was faulty, and the client was told.', {
    fields: ['err'],
  }),

  // Clients
  client_registered: audit('A client registered itself.', { fields: ['client_id'] }),
  client_updated: audit('A client changed its registration.', { fields: ['client_id'] }),
  client_removed: audit('A client removed its registration, and its grants ended with it.', {
    fields: ['client_id', 'grants_ended'],
  }),
  registration_limited: audit('Somebody reached the limit of registrations.'),
  client_document_unavailable: event('info', 'The metadata document of a client could not be used.', {
    fields: ['client_id', 'reason'],
  }),
  client_not_kept: event(
    'error',
    'Somebody signed in with a client, but its registration was not prolonged.',
    {
      fields: ['client_id', 'err'],
    },
  ),

  // Grants and tokens
  token_issued: audit('A client got tokens; with any other grant type than refresh_token a grant began.', {
    fields: ['client_id', 'grant_type', 'grant_id'],
    detail: 'grant_type',
  }),
  refresh_token_replayed: audit(
    'A used refresh token came again, soon enough to be answered with its successor: a race, a lost answer, or a thief. `source` is `same_address`, `other_address` or `unknown_address`.',
    { fields: ['client_id', 'grant_id', 'first_address', 'source'], detail: 'source' },
  ),
  token_refused: audit('A client asked for tokens and got an OAuth error.', {
    fields: ['code', 'description', 'err'],
    detail: 'code',
  }),
  token_revoked: audit('A client gave a token back.', { fields: ['client_id'] }),
  connection_revoked: audit('Somebody ended a grant on the page of their connections.', { fields: grant }),
  device_authorization_started: event('info', 'A device asks to be allowed.', { fields: ['client_id'] }),
  device_limit_reached: audit('Too many devices asked from one address, or altogether.', {
    fields: ['client_id'],
  }),
  grant_ended: audit('A grant was ended before its time: reuse of a code or token, or somebody revoked it.', {
    fields: [...grant, 'reason'],
    detail: 'reason',
    level: 'warn',
  }),
  key_ring_changed: audit('The key file was changed, and its keys are in force.', { fields: ['kids'] }),

  // Requests
  request_refused: event('debug', 'A client got an OAuth error.', {
    fields: ['code', 'description', 'err'],
    detail: 'code',
  }),
  requests_shed: audit('Requests were refused without a look, because there were too many of them.', {
    fields: ['count', 'address'],
    level: 'warn',
  }),
  address_unknown: event(
    'warn',
    'Nobody says where requests come from, so no limit per address holds: pass the address to fetch, or name the proxy in TRUSTED_PROXIES.',
  ),
  connections_refused: event('warn', 'There are as many connections as there may be; more are refused.', {
    fields: ['most'],
  }),
  request_aborted: event('debug', 'The client hung up in the middle of its request.'),
  request_failed: event('error', 'A fault of this server: the client got 500.', { fields: ['err'] }),
  store_unavailable: event('error', 'The store could not be used: the client got 503.', { fields: ['err'] }),
  origin_refused: event('info', 'A page of an origin that is not allowed called /mcp.'),
  cookie_refused: event('info', 'A session cookie came from a place that may not use it.'),
  caller_refused: event('debug', 'A credential at /mcp was not accepted.', { fields: ['description'] }),
  mcp_request: event('debug', 'A proven caller sent a message to /mcp.', {
    fields: ['credential'],
    detail: 'credential',
  }),
  mcp_rejected: event('debug', 'A message to /mcp was no valid one.', { fields: ['err'] }),
  tool_failed: event('error', 'A tool threw; the client got a failed result.', { fields: ['tool', 'err'] }),
  tools_not_started: event('error', 'What the tools do at the start failed.', { fields: ['err'] }),
  tools_not_stopped: event('error', 'What the tools do at the end failed.', { fields: ['err'] }),

  // The session provider
  provider_failed: event('error', 'The session provider could not be used for a login page.', {
    fields: ['failure', 'message'],
    detail: 'failure',
  }),
  provider_refreshed: event('info', 'The provider session of a grant got new tokens.', {
    fields: ['grant_id'],
  }),
  provider_refresh_failed: event('error', 'A refresh failed and is tried again; the grant goes on.', {
    fields: ['grant_id', 'err'],
  }),
  provider_session_ended: audit('The provider ended a session, and its grant with it.', {
    fields: ['grant_id', 'err'],
    level: 'warn',
  }),
  provider_refresh_lost: event(
    'error',
    'A session is over after an earlier answer of the provider got lost: it may have held the token that counts.',
    { fields: ['grant_id', 'err'] },
  ),
  provider_refresh_refused: audit(
    'The provider refused to renew a session for an hour while it renewed others, so its grant is over.',
    { fields: ['grant_id', 'err'], level: 'warn' },
  ),
  provider_session_unsaved: event(
    'error',
    'New tokens of the provider are kept in this process until the store can be written.',
    { fields: ['grant_id', 'err'] },
  ),
  provider_sessions_lost: event('error', 'The process ended with provider sessions that were never stored.'),
  provider_session_unreadable: event(
    'error',
    'The key that sealed a provider session is not in the ring. Put it back.',
    { fields: ['grant_id', 'err'] },
  ),
  grant_of_other_provider: event('error', 'A grant belongs to another provider than the configured one.', {
    fields: ['grant_id', 'err'],
  }),
  provider_probe_failed: event('warn', 'The provider could not say whether a session still lives.', {
    fields: ['err'],
  }),
  provider_signed_out: event('info', 'A session that nobody uses any more is over at the provider.', {
    fields: ['grant_id'],
  }),
  provider_sign_out_skipped: event(
    'info',
    'A connection ended and its session did not: the provider has no way to end it, or other connections of the person use it.',
    { fields: ['grant_id'] },
  ),
  provider_sign_out_failed: event('warn', 'Signing out at the provider failed and is tried again.', {
    fields: ['grant_id', 'err'],
  }),
  provider_sign_out_abandoned: event(
    'error',
    'Signing out failed for three days: the session may live on at the provider.',
    { fields: ['grant_id', 'err'] },
  ),

  // The process
  key_file_unusable: event(
    'error',
    'The key file was changed to something that is no ring; the last one stays in force.',
    {
      fields: ['path', 'reason'],
    },
  ),
  upkeep_failed: event('error', 'Work beside the requests failed and is tried again.', { fields: ['err'] }),
  stopping: event('info', 'The process was told to end.', { fields: ['signal'] }),
}
