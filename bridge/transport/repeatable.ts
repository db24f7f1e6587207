import { NetworkError } from '../http/http-client.ts'
import type { Envelope } from '@drawbridge/shared/mcp/message.ts'

const repeatable: ReadonlySet<string> = new Set([
  'initialize',
  'ping',
  'server/discover',
  'tools/list',
  'prompts/list',
  'prompts/get',
  'resources/list',
  'resources/templates/list',
  'resources/read',
  'resources/subscribe',
  'resources/unsubscribe',
  'completion/complete',
  'logging/setLevel',
  'subscriptions/listen',
])

/** Whether a message may reach the server twice without harm: it only reads, or says the same thing again. */
export function isRepeatable(envelope: Envelope): boolean {
  if (envelope.kind === 'notification') return true
  return envelope.kind === 'request' && repeatable.has(envelope.method)
}

/** Whether what failed so may be sent again: at once when it never left, else only when it may arrive twice. */
export function isWorthRepeating(error: unknown, mayArriveTwice: boolean): error is NetworkError {
  if (!(error instanceof NetworkError) || error.fault === 'aborted') return false
  // These stay as they are however often one asks.
  if (error.fault === 'tls' || error.fault === 'protocol') return false
  return !error.sent || mayArriveTwice
}
