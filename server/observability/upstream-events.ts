import { event, type LogEvent } from './event-kind.ts'

/** What happens to the MCP server behind this one, when it is a command. */
export const upstreamEvents: Readonly<Record<string, LogEvent>> = {
  upstream_started: event(
    'info',
    'A process of the upstream answered and serves now; `sub` is whose it is.',
    {
      fields: ['pid', 'sub', 'revision', 'duration_ms'],
    },
  ),
  upstream_not_started: event(
    'error',
    'A process of the upstream could not be started or did not answer; the client received 502 or 504.',
    { fields: ['sub', 'err'] },
  ),
  upstream_ended: event(
    'info',
    'A process of the upstream ended. `reason` is `exited`, `not_started`, `idle`, `evicted`, `replaced`, `session_over` or `closed`; `code` and `signal` are those of its exit.',
    { fields: ['pid', 'sub', 'reason', 'code', 'signal', 'err'], detail: 'reason' },
  ),
  upstream_stderr: event(
    'info',
    'A line of the error output of the upstream, cut at 2 KB; at most 20 a second of each process, and `skipped` is how many were left out before it.',
    { fields: ['pid', 'sub', 'line', 'skipped'] },
  ),
  upstream_output_skipped: event(
    'warn',
    'A line of the output of the upstream is no JSON-RPC message. The first 200 characters of the first 20 lines are logged.',
    { fields: ['pid', 'sub', 'line'] },
  ),
  upstream_broken: event(
    'error',
    'Three processes of one person died within a minute, so their calls are refused for the rest of it. `stderr` is the last 2 KB of the error output.',
    { fields: ['sub', 'stderr'] },
  ),
  upstream_full: event(
    'warn',
    'There was no room for another process of the upstream; the client received 503.',
    {
      fields: ['count'],
    },
  ),
  upstream_unguarded: event(
    'error',
    'The shell that ends the processes of the upstream, should this process be killed, could not be started.',
    { fields: ['err'] },
  ),
}
