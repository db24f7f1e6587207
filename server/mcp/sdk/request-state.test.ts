import { describe, expect, it } from 'vitest'
import { sealerSample } from '../../../tests/support/server/core/grant-sample.ts'
import { createFakeRuntime } from '../../../tests/support/server/fake-runtime.ts'
import { callerSample, callsSample } from '../../../tests/support/server/mcp/tool-fixture.ts'
import type { Incoming } from '../incoming.ts'
import { RequestStateCodec } from './request-state.ts'

const runtime = createFakeRuntime(1_000_000)
const sealer = sealerSample()
const codec = new RequestStateCodec(sealer, runtime)

function call(params: Record<string, unknown> = {}, method = 'tools/call'): Incoming {
  return {
    caller: callerSample,
    calls: callsSample(),
    body: {
      jsonrpc: '2.0',
      id: 1,
      method,
      params: { name: 'tool', arguments: { a: 1, b: [{ c: 2 }] }, ...params },
    },
  }
}

describe('the state of a request that waits for input (MCP 2026-07-28 multi round-trip requests)', () => {
  it('the state of a request comes back, with another id, the answers and itself in the request, and members in any order', () => {
    const state = { step: 2, secret: 'kept' }
    const sealed = codec.seal(state, call())
    expect(sealed).not.toContain('kept')
    const retry = call({ inputResponses: { a: {} }, requestState: sealed, _meta: { progressToken: 7 } })
    expect(codec.open(sealed, { ...retry, body: { ...(retry.body as object), id: 'two' } })).toEqual(state)
    expect(codec.open(sealed, call({ arguments: { b: [{ c: 2 }], a: 1 } }))).toEqual(state)
  })

  it.each<[string, Incoming]>([
    [
      'another user',
      { ...call(), caller: { ...callerSample, user: { ...callerSample.user, id: 'https://provider#eve' } } },
    ],
    ['another client', { ...call(), caller: { ...callerSample, clientId: 'other' } }],
    ['another workspace', { ...call(), caller: { ...callerSample, workspace: { id: 'b', name: 'B' } } }],
    ['another tool', call({ name: 'other' })],
    ['other arguments', call({ arguments: { a: 2, b: [{ c: 2 }] } })],
    ['another method', call({}, 'prompts/get')],
    ['no request', { ...call(), body: undefined }],
  ])('MCP transport MRTR: the state of a request is refused from %s', (_from, incoming) => {
    const sealed = codec.seal('state', call())
    expect(() => codec.open(sealed, incoming)).toThrow(RangeError)
  })

  it.each([
    ['appended', (sealed: string) => `${sealed}A`],
    ['changed', (sealed: string) => sealed.replace(/.$/, (last) => (last === 'A' ? 'B' : 'A'))],
    ['empty', () => ''],
    ['made up', () => 'a.AAAA'],
    ['sealed for another use', () => sealer.seal('{"state":1,"until":2000000}', 'another use')],
  ])('MCP transport MRTR: the state of a request is refused when it is %s', (_how, change) => {
    const sealed = codec.seal('state', call())
    expect(() => codec.open(change(sealed), call())).toThrow(RangeError)
  })

  it('the state of a request is refused after ten minutes', () => {
    const later = createFakeRuntime(1_000_000)
    const codec = new RequestStateCodec(sealer, later)
    const sealed = codec.seal('state', call())
    later.advance(599)
    expect(codec.open(sealed, call())).toBe('state')
    later.advance(1)
    expect(() => codec.open(sealed, call())).toThrow(RangeError)
  })
})
