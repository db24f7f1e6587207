import { toWireMessage, type WireMessage } from '@drawbridge/shared/mcp/json-rpc.ts'
import { expect, it } from 'vitest'
import { SessionState } from './session-transport.ts'

const request = (method: string, params: Record<string, unknown> = {}): WireMessage =>
  toWireMessage({ jsonrpc: '2.0', id: 1, method, params })

function stateAfter(...messages: WireMessage[]): SessionState {
  const state = new SessionState()
  for (const message of messages) state.accepted(message)
  return state
}

const methodsOf = (state: SessionState): string[] =>
  state.choices().map(({ envelope }) => (envelope.kind === 'request' ? envelope.method : ''))

it('a new session gets the log level and the subscriptions that are left', () => {
  const state = stateAfter(
    request('logging/setLevel', { level: 'debug' }),
    request('resources/subscribe', { uri: 'note://1' }),
    request('resources/subscribe', { uri: 'note://2' }),
    request('resources/unsubscribe', { uri: 'note://1' }),
  )
  expect(methodsOf(state)).toEqual(['logging/setLevel', 'resources/subscribe'])
  expect(state.choices().at(-1)?.text).toContain('note://2')
})
