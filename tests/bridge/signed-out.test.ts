import { describe, expect, it } from 'vitest'
import type { BridgeProcess } from '../e2e/bridge-process.ts'
import type { Answer } from '../conformance/client/local-client.ts'
import { inAuthScene } from '../support/bridge/sign-in/auth-scene.ts'

const eras = ['legacy', 'modern'] as const
const combinations = eras.flatMap((client) => eras.map((server) => [client, server] as const))

/** What clients ask of every server when they start, and what they ask soon after. */
const questions = {
  'tools/list': {},
  'resources/list': {},
  'resources/templates/list': {},
  'prompts/list': {},
  'logging/setLevel': { level: 'info' },
  'completion/complete': {
    ref: { type: 'ref/prompt', name: 'greet' },
    argument: { name: 'who', value: 'A' },
  },
  ping: {},
}
type Method = keyof typeof questions

/** Asks everything at once. */
async function askAll(bridge: BridgeProcess): Promise<Record<Method, Answer>> {
  const answers = Object.entries(questions).map(
    async ([method, params]) => [method, await bridge.request(method, params)] as const,
  )
  return Object.fromEntries(await Promise.all(answers)) as Record<Method, Answer>
}

async function timed<T>(work: Promise<T>): Promise<[value: T, ms: number]> {
  const begin = performance.now()
  return [await work, performance.now() - begin]
}

const toolNames = (answer: Answer): string[] =>
  'result' in answer ? (answer.result['tools'] as { name: string }[]).map(({ name }) => name) : []

const signInError = { error: { message: expect.stringContaining('needs a sign-in') } }

function expectAnswers(answers: Record<Method, Answer>): void {
  expect(toolNames(answers['tools/list'])).toEqual(['sign_in'])
  expect(answers['resources/list']).toMatchObject({ result: { resources: [] } })
  expect(answers['resources/templates/list']).toMatchObject({ result: { resourceTemplates: [] } })
  expect(answers['prompts/list']).toMatchObject({ result: { prompts: [] } })
  expect(answers['completion/complete']).toMatchObject(signInError)
  expect(answers.ping).toMatchObject({ result: {} })
}

/** Far less than a client waits, far more than a busy computer needs. */
const promptMs = 6000

const codexOpening = {
  protocolVersion: '2025-06-18',
  capabilities: { elicitation: { form: {}, url: {} } },
  clientInfo: { name: 'codex-mcp-client', version: '0.169.0' },
}

describe('a bridge that nobody signs in to', { concurrent: true, timeout: 60_000 }, () => {
  it.each(combinations)('answers everything a %s client asks, of a server of %s', (era, remote) =>
    inAuthScene({ era: remote, approval: 'wait' }, async (scene) => {
      const bridge = scene.bridge({ era })
      const [, ms] = await timed(
        (async () => {
          expect(await bridge.open()).toMatchObject({ result: { capabilities: { tools: {} } } })
          expectAnswers(await askAll(bridge))
        })(),
      )
      expect(ms).toBeLessThan(promptMs)
      // Once more, now that the sign-in has been pending for long.
      const [answers, again] = await timed(askAll(bridge))
      expectAnswers(answers)
      expect(again).toBeLessThan(promptMs)
      await bridge.link()
      expect(scene.links()).toBe(1)
    }),
  )

  it('of which a client knows lists answers with the link when one is asked for', () =>
    inAuthScene({ approval: 'wait' }, async (scene) => {
      scene.remote.set({ auth: false })
      const before = scene.bridge()
      await before.open()
      expect(toolNames(await before.request('tools/list'))).toContain('echo')
      await before.close()
      scene.remote.set({ auth: true })
      const bridge = scene.bridge()
      expect(await bridge.open()).toMatchObject({
        result: { capabilities: { resources: {}, prompts: {}, logging: {}, completions: {} } },
      })
      const [answers, ms] = await timed(askAll(bridge))
      expect(ms).toBeLessThan(promptMs)
      expect(toolNames(answers['tools/list'])).toEqual(expect.arrayContaining(['echo', 'sign_in']))
      for (const method of ['resources/list', 'resources/templates/list', 'prompts/list'] as const)
        expect(answers[method]).toMatchObject(signInError)
    }))
})

describe('a client that asks for everything at its start, as Codex does', { timeout: 60_000 }, () => {
  it.each([
    ['a device code', true],
    ['a link', false],
  ])('has the tool to sign in after about a second, with %s', { retry: 2 }, (_how, opens) =>
    inAuthScene({ approval: 'wait' }, async (scene) => {
      const bridge = scene.bridge({ opens })
      const opening = bridge.request('initialize', codexOpening)
      // Not even the answer is waited for: what matters is when the last of them is there.
      const [answers, ms] = await timed(askAll(bridge))
      expect(await opening).toMatchObject({ result: { protocolVersion: '2025-06-18' } })
      expectAnswers(answers)
      expect(ms).toBeLessThan(2500)
    }),
  )
})
