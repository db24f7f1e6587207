import { audit, event, type LogEvent } from './event-kind.ts'

/** Events about the session provider. */
export const providerEvents: Readonly<Record<string, LogEvent>> = {
  provider_failed: event('error', 'The session provider could not be used for a login page.', {
    fields: ['failure', 'message'],
    detail: 'failure',
    refusal: 'failure',
  }),
  provider_refreshed: event('info', "A grant's provider session was refreshed.", { fields: ['grant_id'] }),
  provider_refresh_failed: event('error', 'A refresh failed and will be retried; the grant continues.', {
    fields: ['grant_id', 'err'],
  }),
  provider_session_ended: audit('The provider ended a session, and its grant with it.', {
    fields: ['grant_id', 'err'],
    level: 'warn',
  }),
  provider_logout: audit(
    'The provider reported that it has signed a user out; the grants of that sign-in ended.',
    { fields: ['sub', 'grants_ended'] },
  ),
  provider_logout_refused: event('warn', 'A logout token was not accepted.', {
    fields: ['failure', 'message'],
    detail: 'failure',
  }),
  provider_refresh_lost: event(
    'error',
    'A session ended after an earlier response of the provider was lost; that response may have held the current token.',
    { fields: ['grant_id', 'err'] },
  ),
  provider_refresh_refused: audit(
    'The provider refused to refresh a session for an hour while it refreshed others, so its grant ended.',
    { fields: ['grant_id', 'err'], level: 'warn' },
  ),
  provider_session_unsaved: event(
    'error',
    'New provider tokens stay in memory until the store can be written.',
    { fields: ['grant_id', 'err'] },
  ),
  provider_sessions_lost: event(
    'error',
    'The process ended with provider sessions that had not been stored.',
  ),
  provider_session_unreadable: event(
    'error',
    'The key that encrypted a provider session is not in the key ring; its client gets 503.',
    {
      fields: ['grant_id', 'err', 'next_step'],
      nextStep:
        'Put the key back at the end of SECRET_KEYS; drawbridge-server doctor names it. If it was the key of a trial, set STORE to a new store: clients then sign in again by themselves.',
    },
  ),
  grant_of_other_provider: event(
    'error',
    'A connection belongs to a provider other than the configured one; its client gets 503.',
    {
      fields: ['grant_id', 'err', 'next_step'],
      nextStep:
        'Correct PROVIDER and PROVIDER_URL. If the provider was changed on purpose, set STORE to a new store: clients then sign in again by themselves.',
    },
  ),
  provider_probe_failed: event('warn', 'The provider could not say whether a session is still valid.', {
    fields: ['err'],
  }),
  provider_signed_out: event('info', 'A session that is no longer used was signed out at the provider.', {
    fields: ['grant_id'],
  }),
  provider_sign_out_skipped: event(
    'info',
    'A connection ended but its session did not: the provider cannot end it, or other connections of the user use it.',
    { fields: ['grant_id'] },
  ),
  provider_sign_out_failed: event('warn', 'Signing out at the provider failed and will be retried.', {
    fields: ['grant_id', 'err'],
  }),
  provider_sign_out_abandoned: event(
    'error',
    'Signing out failed for three days; the session may still be valid at the provider.',
    { fields: ['grant_id', 'err'] },
  ),
}
