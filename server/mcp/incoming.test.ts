import { expect, it } from 'vitest'
import { message2026, request } from '../../tests/support/server/mcp/mcp-message.ts'
import { lenientHeaders } from './incoming.ts'

const both = 'application/json, text/event-stream'
const earlier = request('tools/list')
const { message: later } = message2026('tools/list')

it.each<[accept: string | undefined, body: unknown, read: string | null]>([
  [undefined, earlier, both],
  ['*/*', earlier, both],
  ['application/json', earlier, both],
  ['Application/*;q=0.1', earlier, both],
  ['Text/Event-Stream', earlier, 'text/event-stream'],
  ['text/*', undefined, 'text/event-stream'],
  [undefined, undefined, both],
  ['text/html', earlier, 'text/html'],
  ['application/json;q=0, text/event-stream', earlier, 'text/event-stream'],
  [both, earlier, both],
  // Clients of 2026-07-28 get the type that they accept.
  ['application/json', later, 'application/json'],
  ['APPLICATION/*', later, 'application/json'],
  ['*/*', later, both],
  [undefined, later, both],
])('an Accept of %j is read, of %j, as %j', (accept, body, read) => {
  const headers = new Headers(accept === undefined ? {} : { accept })
  expect(lenientHeaders(headers, body).get('accept')).toBe(read)
})

it('the version of 2026-07-28 is removed from a message of an earlier revision, and from no other', () => {
  const headers = new Headers({ accept: both, 'mcp-protocol-version': '2026-07-28' })
  expect(lenientHeaders(headers, earlier).get('mcp-protocol-version')).toBeNull()
  expect(lenientHeaders(headers, later)).toBe(headers)
})
