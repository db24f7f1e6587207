import { describe, expect, it } from 'vitest'
import { createDirectRouter, type DirectRules } from './direct-route.ts'

const fixed: DirectRules = { hasFixedCatalogue: true, hasSessions: false }
const accept = { accept: 'application/json, text/event-stream' }
const envelope = {
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientCapabilities': {},
}
const modern = (method: string, more = {}): Record<string, string> => ({
  ...accept,
  'mcp-protocol-version': '2026-07-28',
  'mcp-method': method,
  ...more,
})
const opening = {
  protocolVersion: '2025-11-25',
  capabilities: {},
  clientInfo: { name: 'c', version: '1' },
}

function kindOf(
  message: object,
  headers: Record<string, string> = accept,
  rules: DirectRules = fixed,
): string {
  const route = createDirectRouter(rules)(new Headers(headers), { jsonrpc: '2.0', ...message })
  return route.kind === 'kept' ? route.key : route.kind
}

describe('what needs no SDK', () => {
  it.each<[string, object, Record<string, string>, string]>([
    ['a bare list', { id: 1, method: 'tools/list' }, {}, 'legacy tools/list'],
    ['a list of an earlier client', { id: 1, method: 'tools/list', params: {} }, accept, 'legacy tools/list'],
    ['a ping', { id: 1, method: 'ping' }, accept, 'legacy ping'],
    ['an opening', { id: 1, method: 'initialize', params: opening }, accept, 'legacy initialize 2025-11-25'],
    ['a notification', { method: 'notifications/initialized' }, accept, 'accepted'],
    ['a call', { id: 1, method: 'tools/call', params: { name: 'a' } }, accept, 'call'],
    [
      'a list at 2026-07-28',
      { id: 1, method: 'tools/list', params: { _meta: envelope } },
      modern('tools/list'),
      'modern tools/list',
    ],
    [
      'discovery',
      { id: 1, method: 'server/discover', params: { _meta: envelope } },
      modern('server/discover'),
      'modern server/discover',
    ],
    [
      'a call at 2026-07-28',
      { id: 1, method: 'tools/call', params: { name: 'ü', arguments: {}, _meta: envelope } },
      modern('tools/call', { 'mcp-name': '=?base64?w7w=?=' }),
      'call',
    ],
  ])('%s', (_name, message, headers, kind) => {
    expect(kindOf(message, headers)).toBe(kind)
  })
})

describe('what is left to the SDK', () => {
  const call = { id: 1, method: 'tools/call', params: { name: 'a', _meta: envelope } }
  it.each<[string, object, Record<string, string>, Partial<DirectRules>]>([
    [
      'a call with progress',
      { id: 1, method: 'tools/call', params: { name: 'a', _meta: { progressToken: 1 } } },
      accept,
      {},
    ],
    [
      'a call with log messages',
      {
        ...call,
        params: { ...call.params, _meta: { ...envelope, 'io.modelcontextprotocol/logLevel': 'info' } },
      },
      modern('tools/call', { 'mcp-name': 'a' }),
      {},
    ],
    [
      'a call with a retry of its input',
      { ...call, params: { ...call.params, requestState: 's' } },
      modern('tools/call', { 'mcp-name': 'a' }),
      {},
    ],
    [
      'a subscription',
      { id: 1, method: 'subscriptions/listen', params: { _meta: envelope } },
      modern('subscriptions/listen'),
      {},
    ],
    ['a missing name', call, modern('tools/call'), {}],
    ['another name', call, modern('tools/call', { 'mcp-name': 'b' }), {}],
    ['another method', call, modern('tools/list', { 'mcp-name': 'a' }), {}],
    [
      'a list that depends on the caller',
      { id: 1, method: 'tools/list' },
      accept,
      { hasFixedCatalogue: false },
    ],
    [
      'an opening whose answer does',
      { id: 1, method: 'initialize', params: opening },
      accept,
      { hasFixedCatalogue: false },
    ],
    [
      'an opening of a session',
      { id: 1, method: 'initialize', params: opening },
      accept,
      { hasSessions: true },
    ],
    [
      'a call in a session',
      { id: 1, method: 'tools/call', params: { name: 'a' } },
      { ...accept, 'mcp-session-id': 's' },
      { hasSessions: true },
    ],
    ['a response', { id: 1, result: {} }, accept, {}],
    ['an unknown method', { id: 1, method: 'x' }, accept, {}],
    ['a client that reads no JSON', { id: 1, method: 'ping' }, { accept: 'text/html' }, {}],
    [
      'an unknown version',
      { id: 1, method: 'ping' },
      { ...accept, 'mcp-protocol-version': '2030-01-01' },
      {},
    ],
  ])('%s', (_name, message, headers, rules) => {
    expect(kindOf(message, headers, { ...fixed, ...rules })).toBe('other')
  })

  it('a batch (MCP 2025-03-26)', () => {
    const route = createDirectRouter(fixed)
    expect(route(new Headers(accept), [{ jsonrpc: '2.0', id: 1, method: 'ping' }])).toEqual({ kind: 'other' })
  })

  it('a client that says something else about itself than one that was good (MCP 2026-07-28 basic)', () => {
    const route = createDirectRouter(fixed)
    const list = (capabilities: unknown): string =>
      route(new Headers(modern('tools/list')), {
        jsonrpc: '2.0',
        id: 1,
        method: 'tools/list',
        params: { _meta: { ...envelope, 'io.modelcontextprotocol/clientCapabilities': capabilities } },
      }).kind
    expect([list({}), list({}), list({ roots: 1 }), list('all'), list({})]).toEqual([
      'kept',
      'kept',
      'other',
      'other',
      'kept',
    ])
  })
})
