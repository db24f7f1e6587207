import { describe, expect, it } from 'vitest'
import type { JsonObject } from '@drawbridge/shared/json-object.ts'
import { greet, type GreetedProcess, type GreetingTerms } from './handshake.ts'
import { ProcessConnection } from './process-connection.ts'

const discovery = {
  supportedVersions: ['2026-07-28'],
  capabilities: { tools: {} },
  _meta: { 'io.modelcontextprotocol/serverInfo': { name: 'new', version: '2' } },
}
const initialized = {
  protocolVersion: '2025-06-18',
  capabilities: { tools: {} },
  serverInfo: { name: 'old', version: '1', title: 'Old' },
}

/** Greets a process that answers these methods with results, and every other with an error; `null` never. */
async function meet(
  results: Record<string, unknown>,
  first: GreetingTerms['first'],
): Promise<{ found: GreetedProcess; sent: string[]; params: Record<string, JsonObject> }> {
  const sent: string[] = []
  const params: Record<string, JsonObject> = {}
  const connection: ProcessConnection = new ProcessConnection((message) => {
    const {
      id,
      method = '',
      params: given,
    } = message as { id?: number; method?: string; params?: JsonObject }
    sent.push(method)
    params[method] = given ?? {}
    const result = results[method]
    if (id === undefined || result === null) return
    const answer = result === undefined ? { error: { code: -32_601, message: 'No.' } } : { result }
    connection.receive({ jsonrpc: '2.0', id, ...answer })
  }, undefined)
  const clientInfo = { name: 'drawbridge', version: '0' }
  const found = await greet(connection, { clientInfo, capabilities: { roots: {} }, first, patienceMs: 20 })
  return { found, sent, params }
}

describe('a process is known', () => {
  it('a process that answers server/discover, tried first, is used by it', async () => {
    const { found, sent, params } = await meet(
      { 'server/discover': discovery, initialize: initialized },
      'modern',
    )
    expect(sent).toEqual(['server/discover'])
    expect(found).toMatchObject({
      era: 'modern',
      revision: '2026-07-28',
      serverInfo: { name: 'new', version: '2' },
    })
    expect(found.presentation['capabilities']).toEqual({ tools: {} })
    expect(params['server/discover']).toEqual({ _meta: found.envelope })
    expect(found.envelope).toMatchObject({
      'io.modelcontextprotocol/protocolVersion': '2026-07-28',
      'io.modelcontextprotocol/clientInfo': { name: 'drawbridge', version: '0' },
      'io.modelcontextprotocol/clientCapabilities': { roots: {} },
    })
  })

  it.each<[what: string, answer: unknown]>([
    ['refuses', undefined],
    ['does not answer', null],
    ['answers with something else', { tools: [] }],
  ])('a process that %s server/discover is used by initialize', async (_what, answer) => {
    const { found, sent, params } = await meet(
      { 'server/discover': answer, initialize: initialized },
      'modern',
    )
    expect(sent).toEqual(['server/discover', 'initialize', 'notifications/initialized'])
    expect(params['initialize']).toEqual({
      protocolVersion: '2025-11-25',
      capabilities: { roots: {} },
      clientInfo: { name: 'drawbridge', version: '0' },
    })
    expect(found).toMatchObject({ era: 'legacy', revision: '2025-06-18', presentation: initialized })
    expect(found.serverInfo).toEqual(initialized.serverInfo)
  })

  it('a process that answers initialize, tried first, is used by it', async () => {
    const { found, sent } = await meet({ 'server/discover': discovery, initialize: initialized }, 'legacy')
    expect(sent).toEqual(['initialize', 'notifications/initialized'])
    expect(found.era).toBe('legacy')
  })

  it('a process that does not answer initialize, tried first, is used by server/discover', async () => {
    const { found, sent } = await meet({ initialize: null, 'server/discover': discovery }, 'legacy')
    expect(sent).toEqual(['initialize', 'server/discover'])
    expect(found.era).toBe('modern')
  })

  it('a process that refuses initialize is used by server/discover', async () => {
    const { found, sent } = await meet({ 'server/discover': discovery }, 'legacy')
    expect(sent).toEqual(['initialize', 'server/discover'])
    expect(found.era).toBe('modern')
  })

  it.each<[what: string, serverInfo: unknown, shown: object]>([
    ['does not say its name', undefined, { name: 'unknown', version: '0' }],
    [
      'says no name that is a text',
      { name: 7, version: 1, title: 'T' },
      { name: 'unknown', version: '0', title: 'T' },
    ],
  ])('a process is used although it %s', async (_what, serverInfo, shown) => {
    const { found } = await meet({ initialize: { ...initialized, serverInfo } }, 'legacy')
    expect(found.serverInfo).toEqual(shown)
    expect(found.presentation['serverInfo']).toEqual(shown)
  })
})

it.each<[what: string, results: Record<string, unknown>, reason: RegExp]>([
  ['knows neither', {}, /No\./],
  ['names no revision', { initialize: { capabilities: {} } }, /protocol version that is not supported/],
  ['names a revision that is none', { initialize: { protocolVersion: '1999-01-01' } }, /not supported/],
  ['names a number', { initialize: { protocolVersion: 2025 } }, /not supported/],
  ['answers with a list', { initialize: [] }, /not supported/],
])('a process that %s is refused, whatever is tried first', async (_what, results, reason) => {
  for (const first of ['modern', 'legacy'] as const)
    await expect(meet(results, first)).rejects.toThrow(reason)
})
