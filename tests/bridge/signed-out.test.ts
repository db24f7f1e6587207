import type { JsonObject } from '@drawbridge/shared/json-object.ts'
import { describe, expect, it } from 'vitest'
import { inAuthScene } from '../support/bridge/sign-in/auth-scene.ts'

/** The requests of clients when they start, and soon after. */
const questions: readonly [method: string, params: JsonObject][] = [
  ['tools/list', {}],
  ['resources/list', {}],
  ['resources/templates/list', {}],
  ['prompts/list', {}],
  ['logging/setLevel', { level: 'info' }],
  [
    'completion/complete',
    { ref: { type: 'ref/prompt', name: 'greet' }, argument: { name: 'who', value: 'A' } },
  ],
  ['ping', {}],
]

const codexOpening = {
  protocolVersion: '2025-06-18',
  capabilities: { elicitation: { form: {}, url: {} } },
  clientInfo: { name: 'codex-mcp-client', version: '0.169.0' },
}

describe('a client that asks for everything at its start, as Codex does', { timeout: 60_000 }, () => {
  it.each([
    ['a device code', true],
    ['a link', false],
  ])(
    'a client that requests everything at its start, as Codex does, has the sign-in tool after about a second, with %s',
    { retry: 2 },
    (_how, opens) =>
      inAuthScene({ approval: 'wait' }, async (scene) => {
        const bridge = scene.bridge({ opens })
        const opening = bridge.request('initialize', codexOpening)
        const begin = performance.now()
        // Not even the answer is waited for: what matters is when the last of them is there.
        const asked = questions.map(([method, params]) => bridge.request(method, params))
        const [tools, ...others] = await Promise.all(asked)
        expect(performance.now() - begin).toBeLessThan(2500)
        expect(await opening).toMatchObject({ result: { protocolVersion: '2025-06-18' } })
        expect(tools).toMatchObject({ result: { tools: [{ name: 'sign_in' }] } })
        expect(others.filter((answer) => 'error' in answer)).toHaveLength(2)
      }),
  )
})
