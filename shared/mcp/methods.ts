/** The requests of clients, and the revisions that have them: `earlier` up to 2025-11-25, `revision_2026` from 2026-07-28. */
const clientRequests: ReadonlyMap<string, 'earlier' | 'revision_2026' | 'every'> = new Map([
  ['initialize', 'earlier'],
  ['ping', 'earlier'],
  ['server/discover', 'revision_2026'],
  ['tools/list', 'every'],
  ['tools/call', 'every'],
  ['prompts/list', 'every'],
  ['prompts/get', 'every'],
  ['resources/list', 'every'],
  ['resources/templates/list', 'every'],
  ['resources/read', 'every'],
  ['resources/subscribe', 'earlier'],
  ['resources/unsubscribe', 'earlier'],
  ['subscriptions/listen', 'revision_2026'],
  ['completion/complete', 'every'],
  ['logging/setLevel', 'earlier'],
])

/** The other methods that clients send, including those of tasks. */
const otherMethods: ReadonlySet<string> = new Set([
  'tasks/get',
  'tasks/list',
  'tasks/result',
  'tasks/update',
  'tasks/cancel',
  'notifications/initialized',
  'notifications/cancelled',
  'notifications/progress',
  'notifications/roots/list_changed',
])

/** Returns whether clients send the method in any revision of MCP. */
export function isClientMethod(method: string): boolean {
  return clientRequests.has(method) || otherMethods.has(method)
}

/** Returns whether a client may send the request at 2026-07-28 (`revision_2026`), or before. */
export function isClientRequest(method: string, revision: 'earlier' | 'revision_2026'): boolean {
  const found = clientRequests.get(method)
  return found === revision || found === 'every'
}

/** Returns whether a request may be sent again after it was executed: every request of a client but a call of a tool. */
export function mayBeSentTwice(method: string): boolean {
  return clientRequests.has(method) && method !== 'tools/call'
}
