import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createPerson } from '../e2e/person.ts'
import { answerShapes, unreadable } from './answer-shapes.ts'
import { registerPlainClient } from '../e2e/plain-client.ts'
import { startGateway } from '../e2e/gateway-server.ts'
import type { ServerProcess } from '../e2e/server-process.ts'
import { initialize, message2026, toolCall } from '../support/server/mcp/mcp-message.ts'
import { responseOf } from '../support/server/mcp/command-fixture.ts'

const program = fileURLToPath(new URL('../peers/stdio/odd-answers.mjs', import.meta.url))

describe.each([
  ['2025-11-25', []],
  ['2026-07-28', ['--modern']],
])('a command of %s: an answer with', { timeout: 60_000 }, (revision, args) => {
  let server: ServerProcess
  let authorization: string
  let session: Record<string, string>
  beforeAll(async () => {
    server = await startGateway({ command: process.execPath, args: [program, ...args] })
    const { access_token: token } = await (
      await registerPlainClient(server)
    ).connect(await createPerson(server))
    authorization = `Bearer ${token}`
    const opened = await post(initialize())
    const id = opened.headers.get('mcp-session-id') ?? ''
    session = { 'mcp-session-id': id, 'mcp-protocol-version': '2025-11-25' }
    await opened.text()
  })
  afterAll(() => server?.close())

  const post = (message: unknown, headers: Record<string, string> = {}): Promise<Response> =>
    server.fetch(server.mcpUrl, {
      method: 'POST',
      // Far below the half hour that a call may be silent.
      signal: AbortSignal.timeout(30_000),
      headers: {
        authorization,
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        ...headers,
      },
      body: JSON.stringify(message),
    })

  const outcomeOf = async (response: Response): Promise<unknown[]> => {
    const { id, result, error } = (await responseOf(response)) as Record<string, never> & {
      result?: { content: { text: string }[] }
      error?: { code: number; message: string }
    }
    return error
      ? [id, error.message.slice(0, unreadable.length), error.code]
      : [id, result?.content[0]?.text]
  }

  it.each(answerShapes)(
    'the answer of a command with %s reaches clients of each kind at once, as a result or an error',
    async (_shape, text, ...expected) => {
      const answer =
        expected.length > 1 ? [expected[0]?.slice(0, unreadable.length), expected[1]] : [expected[0]]
      const call = toolCall('write', { text }, 5)
      expect(await outcomeOf(await post(call))).toEqual([5, ...answer])
      expect(await outcomeOf(await post(call, session))).toEqual([5, ...answer])
      if (revision === '2025-11-25') return
      const of2026 = message2026('tools/call', { name: 'write', arguments: { text } })
      expect(await outcomeOf(await post(of2026.message, of2026.headers))).toEqual([1, ...answer])
    },
  )
})
