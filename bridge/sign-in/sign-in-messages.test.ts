import { describe, expect, it } from 'vitest'
import { parseWireMessage, toWireMessage } from '@drawbridge/shared/mcp/json-rpc.ts'
import type { ServerMemory } from '../transport/server-memory.ts'
import { signInStatePrefix, toolsWithSignIn, withoutSignInState } from './authorization-prompt.ts'
import { cachedOpening } from './cached-answer.ts'

it.each([
  [[], 'sign_in'],
  [['echo'], 'sign_in'],
  [['echo', 'sign_in'], 'drawbridge_sign_in'],
])('beside tools named %j the sign-in tool is %s, so that no tool of the server is hidden', (names, own) => {
  const tools = names.map((name) => ({ name }))
  expect(toolsWithSignIn(tools, 'legacy')['tools']).toMatchObject([...tools, { name: own }])
})

it.each([
  [`${signInStatePrefix}1`, { name: 'echo' }],
  ['of the server', { name: 'echo', requestState: 'of the server', inputResponses: {} }],
])(
  'a request that resumes with the state %s goes to the server with the params %j',
  (requestState, params) => {
    const given = { name: 'echo', requestState, inputResponses: {} }
    const request = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: given } as const
    expect(withoutSignInState(request)).toEqual({ ...request, params })
  },
)

describe('an initialize that is answered from memory', () => {
  const opened = (protocolVersion: string, memory?: ServerMemory): unknown => {
    const first = { jsonrpc: '2.0', id: 1, method: 'initialize', params: { protocolVersion } } as const
    return parseWireMessage(cachedOpening(toWireMessage(first), memory, '1.2.3'))
  }

  it.each([
    ['2025-06-18', '2025-06-18'],
    ['2030-01-01', '2025-11-25'],
    ['2026-07-28', '2025-11-25'],
  ])('an initialize at %s that is answered from memory agrees on %s', (asked, agreed) => {
    expect(opened(asked)).toMatchObject({ result: { protocolVersion: agreed } })
  })

  it('an initialize that is answered from memory announces no tasks of the other revision', () => {
    const capabilities = { tasks: {}, prompts: {} }
    const legacy = { era: 'legacy', transport: 'http', initializeResult: { capabilities } } as const
    const modern = { era: 'modern', transport: 'http', discoverResult: { capabilities } } as const
    const tools = { listChanged: true }
    expect(opened('2025-11-25', legacy)).toMatchObject({ result: { capabilities: { tasks: {}, tools } } })
    expect(opened('2025-11-25', modern)).toHaveProperty('result.capabilities', { prompts: {}, tools })
  })
})
