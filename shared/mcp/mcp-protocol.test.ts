import { expect, test } from 'vitest'

import type { JsonRpcMessage } from './json-rpc.ts'
import { eraOfMessage, isKnownRevision, mcpMetaKey, modernRevision } from './mcp-protocol.ts'

const request = (params?: Record<string, unknown>): JsonRpcMessage => ({
  jsonrpc: '2.0',
  id: 1,
  method: 'tools/list',
  ...(params === undefined ? {} : { params }),
})
const version = (value: unknown): Record<string, unknown> => ({ [mcpMetaKey.protocolVersion]: value })

test.each<[string, JsonRpcMessage, string]>([
  ['a claim makes a request modern', request({ _meta: version(modernRevision) }), 'modern'],
  ['so does a claim of an unknown revision', request({ _meta: version('2027-01-01') }), 'modern'],
  ['so does a claim of the wrong type, to be refused as modern', request({ _meta: version(7) }), 'modern'],
  ['no params', request(), 'legacy'],
  ['_meta without the claim', request({ _meta: { progressToken: 1 } }), 'legacy'],
  ['other reserved keys do not count', request({ _meta: { [mcpMetaKey.clientInfo]: {} } }), 'legacy'],
  ['an unprefixed protocolVersion, as in initialize', request({ protocolVersion: '2025-11-25' }), 'legacy'],
  ['the claim outside of _meta', request(version(modernRevision)), 'legacy'],
  ['_meta is null', request({ _meta: null }), 'legacy'],
  ['_meta is a list', request({ _meta: [mcpMetaKey.protocolVersion] }), 'legacy'],
  ['an inherited claim', request({ _meta: Object.create(version(modernRevision)) }), 'legacy'],
  [
    'a notification may claim as well',
    { jsonrpc: '2.0', method: 'notifications/cancelled', params: { _meta: version(modernRevision) } },
    'modern',
  ],
  ['a response claims nothing', { jsonrpc: '2.0', id: 1, result: { _meta: version('x') } }, 'legacy'],
])('MCP transport Versioning: eraOfMessage: %s', (_rule, message, era) => {
  expect(eraOfMessage(message)).toBe(era)
})

test.each([
  ['2026-07-28', true],
  ['2024-11-05', true],
  ['2024-10-07', false],
  ['2026-07-28 ', false],
  ['constructor', false],
])('isKnownRevision(%j) is %j', (revision, known) => {
  expect(isKnownRevision(revision)).toBe(known)
})
