import { setTimeout as delay } from 'node:timers/promises'
import { createRemoteJWKSet, decodeJwt, decodeProtectedHeader, jwtVerify } from 'jose'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { openConnection } from '../../bench/connection.ts'
import { postRequest } from '../../bench/walkers.ts'
import { runCommand } from './command-process.ts'
import { startGateway } from './gateway-server.ts'
import { createPerson } from './person.ts'
import { callTool, registerPlainClient } from './plain-client.ts'
import { answerJson, type RecordingUpstream, startRecordingUpstream } from './recording-upstream.ts'
import type { ServerProcess } from './server-process.ts'

let upstream: RecordingUpstream
let server: ServerProcess

beforeEach(async () => {
  upstream = await startRecordingUpstream()
})
afterEach(async () => {
  await server?.close()
  upstream.close()
})

interface User {
  sub: string
  token: string
}

async function signIn(): Promise<User> {
  const person = await createPerson(server)
  const { access_token: token } = await (await registerPlainClient(server)).connect(person)
  return { sub: person.email, token }
}

const port = (): number => Number(new URL(server.origin).port)

const post = (token: string, message: unknown): string =>
  postRequest(
    { host: new URL(server.baseUrl).host, path: '/mcp' },
    'application/json',
    JSON.stringify(message),
    ['Accept: application/json, text/event-stream', `Authorization: Bearer ${token}`],
  )

interface Message {
  id?: number
  method?: string
  params: { progressToken: number; message: string; name: string; arguments: { nonce: string; form: string } }
  result: { content: [{ text: string }] }
}

/** Returns the messages of a response, as JSON or as events. */
function messagesOf(body: string): Message[] {
  const texts = body.startsWith('{')
    ? [body]
    : [...body.matchAll(/^data: (.+)$/gm)].map(([, data = '']) => data)
  return texts.map((text) => JSON.parse(text) as Message)
}

describe('two users with twelve calls each at a time, with equal ids and progress tokens', () => {
  const [connections, calls] = [12, 6]

  it('get their own answers', { timeout: 60_000 }, async () => {
    server = await startGateway({ url: upstream.url }, { LOG: 'error' })
    const subjects = new Map<string, string>()
    upstream.answer = (response, { headers, body }) => {
      upstream.requests.length = 0
      const assertion = String(headers['drawbridge-assertion'])
      const sub = subjects.get(assertion) ?? String(decodeJwt(assertion)['email'])
      subjects.set(assertion, sub)
      const { id, params } = JSON.parse(body) as Message
      const text = `${sub} ${params.arguments.nonce}`
      const answer = { jsonrpc: '2.0', id, result: { content: [{ type: 'text', text }] } }
      const write = (): void => {
        if (params.arguments.form === 'json') return answerJson(response, answer)
        const progress = { progressToken: id, progress: 1, message: text }
        response.writeHead(200, { 'content-type': 'text/event-stream' })
        for (const message of [
          { jsonrpc: '2.0', method: 'notifications/progress', params: progress },
          answer,
        ]) {
          response.write(`data: ${JSON.stringify(message)}\n\n`)
        }
        response.end()
      }
      // Responses overtake each other.
      if ((id ?? 0) % 3 === 0) setTimeout(write, 2)
      else setImmediate(write)
    }

    let right = 0
    const wrong: string[] = []
    const work = async ({ sub, token }: User, lane: number): Promise<void> => {
      const connection = await openConnection(port())
      for (let id = 1; id <= calls && wrong.length === 0; id += 1) {
        const form = id % 2 === 0 ? 'json' : 'events'
        const nonce = `${lane}-${id}`
        const message = {
          jsonrpc: '2.0',
          id,
          method: 'tools/call',
          params: { name: 'who', arguments: { nonce, form }, _meta: { progressToken: id } },
        }
        const { status, body } = await new Promise<{ status: number; body: string }>((resolve) => {
          connection.send(post(token, message), (answer) => resolve(answer ?? { status: 0, body: '' }))
        })
        const text = `${sub} ${nonce}`
        const messages = status === 200 ? messagesOf(body) : []
        const answer = messages.at(-1)
        const progress = messages.slice(0, -1).map(({ params }) => [params.progressToken, params.message])
        const isRight =
          answer?.id === id &&
          answer.result.content[0].text === text &&
          JSON.stringify(progress) === JSON.stringify(form === 'json' ? [] : [[id, text]])
        if (isRight) right += 1
        else wrong.push(`${sub} ${nonce} got ${status} ${body}`)
      }
      connection.close()
    }
    const users = [await signIn(), await signIn()]
    await Promise.all(
      users.flatMap((user) => Array.from({ length: connections }, (_, lane) => work(user, lane))),
    )
    expect(wrong).toEqual([])
    expect(right).toBe(2 * connections * calls)
  })
})

describe('keys rotate while calls run', () => {
  it('fails no call at an upstream that verifies every assertion', { timeout: 60_000 }, async () => {
    server = await startGateway({ url: upstream.url })
    // Verifiers fetch a key set again only after half a minute; this one after a second.
    const keySet = createRemoteJWKSet(new URL(`${server.baseUrl}/oauth/jwks`), { cooldownDuration: 1000 })
    const kids = new Set<string>()
    const publishedKeys = async (): Promise<number> => {
      const response = await fetch(`${server.baseUrl}/oauth/jwks`)
      return ((await response.json()) as { keys: unknown[] }).keys.length
    }
    const answerVerified = async (assertion: string, id: unknown): Promise<unknown> => {
      const { payload } = await jwtVerify(assertion, keySet, {
        issuer: server.baseUrl,
        audience: upstream.url,
      })
      kids.add(String(decodeProtectedHeader(assertion).kid))
      const content = [{ type: 'text', text: String(payload['email']) }]
      return { jsonrpc: '2.0', id, result: { content } }
    }
    upstream.answer = (response, { headers, body }) => {
      const { id } = JSON.parse(body) as Message
      answerVerified(String(headers['drawbridge-assertion']), id).then(
        (answer) => answerJson(response, answer),
        (error: Error) => answerJson(response, { error: error.message }, { status: 401 }),
      )
    }
    const users = await Promise.all([signIn(), signIn()])
    const state = { calls: 0, isOver: false }
    const calling = Promise.all(
      users.map(async ({ sub, token }) => {
        while (!state.isOver) {
          expect(await callTool(server, token, 'who')).toBe(sub)
          state.calls += 1
          await delay(30)
        }
      }),
    )
    const failed = calling.then(
      () => undefined,
      (error: unknown) => error,
    )
    try {
      await expect.poll(() => state.calls).toBeGreaterThan(10)
      expect([...kids]).toEqual(['assertion-generated'])
      // Each new key is published first, and signs after the next rotation.
      for (const published of [2, 3]) {
        expect((await runCommand(server, ['keys', 'rotate'])).code).toBe(0)
        await expect.poll(publishedKeys, { timeout: 20_000 }).toBe(published)
        const before = state.calls
        await expect.poll(() => state.calls, { timeout: 20_000 }).toBeGreaterThan(before + 20)
        expect(kids.size).toBe(published - 1)
        if (published === 2) await delay(1100)
      }
    } finally {
      state.isOver = true
    }
    expect(await failed).toBeUndefined()
  })
})
