import { event, type LogEvent } from './event-kind.ts'

/** Events of the upstream, if it is a command. */
export const upstreamEvents: Readonly<Record<string, LogEvent>> = {
  upstream_started: event('info', 'A process of the upstream responded and is ready; `sub` is its user.', {
    fields: ['pid', 'sub', 'revision', 'duration_ms'],
  }),
  upstream_not_started: event(
    'error',
    'A process of the upstream could not be started or did not answer; the client received 502 or 504. `next_step` says what to check.',
    { fields: ['sub', 'reason', 'next_step'], detail: 'reason' },
  ),
  upstream_ended: event(
    'info',
    'A process of the upstream ended. `reason` is `exited`, `not_started`, `idle`, `evicted`, `replaced`, `session_over`, `tried` (at the start of the server) or `closed`; `code` and `signal` are those of its exit.',
    { fields: ['pid', 'sub', 'reason', 'code', 'signal', 'err'], detail: 'reason' },
  ),
  upstream_stderr: event(
    'info',
    'A line of the error output of the upstream, truncated at 2 KB; at most 20 a second per process; `skipped` counts the lines dropped before it.',
    { fields: ['pid', 'sub', 'line', 'skipped'] },
  ),
  upstream_output_skipped: event(
    'warn',
    'A line of the output of the upstream is not a JSON-RPC message, or has an answer that cannot be read: its call got an error. The first 200 characters of at most 20 lines a second are logged.',
    { fields: ['pid', 'sub', 'line'] },
  ),
  upstream_broken: event(
    'error',
    'Three processes died within a minute during calls of one user, whose calls are refused for the rest of it. `stderr` is the last 2 KB of the error output.',
    { fields: ['sub', 'stderr'] },
  ),
  upstream_full: event(
    'warn',
    'There was no room for another process of the upstream; the client received 503.',
    { fields: ['count'] },
  ),
  upstream_unguarded: event(
    'error',
    'The shell that ends the processes of the upstream, should this process be killed, could not be started.',
    { fields: ['err'] },
  ),
}
