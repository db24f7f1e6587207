import { createRemoteJWKSet, decodeJwt, jwtVerify } from 'jose'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import type { Received } from '../support/remote/received.ts'
import { type Remote, startRemote } from '../support/remote/remote.ts'
import { startGateway } from './gateway-server.ts'
import { createPerson, type Person } from './person.ts'
import { postMcp, registerPlainClient } from './plain-client.ts'
import type { ServerProcess } from './server-process.ts'

let upstream: Remote
let server: ServerProcess
let ada: Person
let eve: Person
let tokenOfAda: string
let tokenOfEve: string
let answer: (request: Received) => unknown

/** Answers like a minimal server: accepts a notification, has no streams, and returns an empty result for a request. */
const answerEmpty = (request: Received): unknown =>
  request.body['id'] === undefined
    ? request.response.writeHead(request.method === 'GET' ? 405 : 202).end()
    : request.answer({ result: {} })

beforeAll(async () => {
  upstream = await startRemote({
    handle(request) {
      answer(request)
      return true
    },
  })
  server = await startGateway({
    url: upstream.url,
    headers: { 'X-Api-Key': 'key of the door' },
    identity: ['assertion', 'headers'],
    forward: ['X-User'],
  })
  ada = await createPerson(server)
  eve = await createPerson(server)
  const client = await registerPlainClient(server)
  tokenOfAda = (await client.connect(ada)).access_token
  tokenOfEve = (await client.connect(eve)).access_token
})
afterAll(async () => {
  await server?.close()
  await upstream?.close()
})
beforeEach(() => {
  upstream.received.length = 0
  answer = answerEmpty
})

const call = { method: 'tools/call', params: { name: 'anything', arguments: {} } }
const send = (
  headers: Record<string, string> = {},
  token: string = tokenOfAda,
  message: Parameters<typeof postMcp>[1] = call,
): Promise<Response> => postMcp(server, message, { ...headers, authorization: `Bearer ${token}` })

/** Headers with which a client may try to impersonate others, or that concern its own connection. */
const forgedNames = [
  'Cookie',
  'Forwarded',
  'Proxy-Authorization',
  'X-Forwarded-For',
  'X-Forwarded-Host',
  'X-Forwarded-Proto',
  'X-Forwarded-User',
  'X-Forwarded-Email',
  'X-Forwarded-Name',
  'X-Forwarded-Access-Token',
  'X-Real-IP',
  'X-User',
  'X-Remote-User',
  'Remote-User',
  'X-Original-URL',
  'X-Api-Key',
  'X-Goog-Authenticated-User-Email',
  'Cf-Access-Jwt-Assertion',
  'X-Pomerium-Jwt-Assertion',
  'Drawbridge-Assertion',
  'drawbridge-user',
  'DRAWBRIDGE-ANYTHING',
]
const forgedHeaders = Object.fromEntries(forgedNames.map((name) => [name, 'forged']))

/** The only headers that reach this upstream. */
const passedNames = [
  'accept',
  'accept-encoding',
  'connection',
  'content-length',
  'content-type',
  'drawbridge-assertion',
  'host',
  'traceparent',
  'x-api-key',
  'x-forwarded-email',
  'x-forwarded-user',
  // Requested by the document.
  'x-user',
]

async function verified(assertion: string | string[] | undefined) {
  return jwtVerify(String(assertion), createRemoteJWKSet(new URL(`${server.baseUrl}/oauth/jwks`)), {
    issuer: server.baseUrl,
    audience: upstream.url,
    typ: 'drawbridge-assertion+jwt',
    algorithms: ['ES256'],
  })
}

describe('the identity of the caller', () => {
  it('the identity of a caller never comes from the client: in a call, a stream, the end of a session, a notification', async () => {
    const traceparent = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01'
    expect((await send({ ...forgedHeaders, traceparent })).status).toBe(200)
    const headers = { ...forgedHeaders, authorization: `Bearer ${tokenOfAda}`, accept: 'text/event-stream' }
    for (const method of ['GET', 'DELETE']) await server.fetch(server.mcpUrl, { method, headers })
    await server.fetch(server.mcpUrl, {
      method: 'POST',
      headers: { ...headers, 'content-type': 'application/json' },
      body: '{"jsonrpc":"2.0","method":"notifications/initialized"}',
    })
    expect(upstream.received.map(({ method }) => method)).toEqual(['POST', 'GET', 'DELETE', 'POST'])
    const [first] = upstream.received as [Received]
    expect(Object.keys(first.headers).toSorted()).toEqual(passedNames)
    expect(first.incoming.rawHeaders).toHaveLength(passedNames.length * 2)
    expect(first.headers).toMatchObject({ traceparent, 'x-api-key': 'key of the door' })
    for (const { headers, incoming } of upstream.received) {
      expect(incoming.rawHeaders.filter((text) => text.includes('forged'))).toEqual(['forged'])
      expect(incoming.rawHeaders.join()).not.toContain(tokenOfAda)
      expect((await verified(headers['drawbridge-assertion'])).payload['email']).toBe(ada.email)
      expect(headers).toMatchObject({
        'x-user': 'forged',
        'x-forwarded-email': ada.email,
        'x-forwarded-user': expect.stringMatching(/^[0-9a-f-]{36}$/),
      })
    }
  })

  it('the identities of calls at the same time with equal ids and progress tokens stay apart: each gets its own answers', async () => {
    answer = ({ headers, body, events }) => {
      const { id, params } = body as { id: number; params: { arguments: { nonce: string } } }
      const text = `${String(decodeJwt(String(headers['drawbridge-assertion']))['email'])} ${params.arguments.nonce}`
      const messages = [
        { method: 'notifications/progress', params: { progressToken: id, progress: 1, message: text } },
        { id, result: { content: [{ type: 'text', text }] } },
      ]
      const all = messages.map((message) => `data: ${JSON.stringify({ jsonrpc: '2.0', ...message })}\n\n`)
      // Answers overtake each other.
      setTimeout(() => events(all.join('')).end(), (id % 3) * 2)
    }
    const work = async ({ email }: Person, token: string, lane: number): Promise<void> => {
      for (let id = 1; id <= 6; id += 1) {
        const text = `${email} ${lane}-${id}`
        const params = { name: 'who', arguments: { nonce: `${lane}-${id}` }, _meta: { progressToken: id } }
        const response = await send({}, token, { id, method: 'tools/call', params })
        const messages = [...(await response.text()).matchAll(/^data: (.+)$/gm)].map(
          ([, data = '']): unknown => JSON.parse(data),
        )
        expect(messages).toMatchObject([
          { params: { progressToken: id, message: text } },
          { id, result: { content: [{ text }] } },
        ])
      }
    }
    const lanes = Array.from({ length: 12 }, (_, lane) => lane)
    await Promise.all(lanes.flatMap((lane) => [work(ada, tokenOfAda, lane), work(eve, tokenOfEve, lane)]))
  })
})

it('a hostile upstream that challenges and sets cookies is asked once, and makes no client sign in again', async () => {
  answer = ({ json }) =>
    json(
      401,
      {},
      { 'www-authenticate': 'Bearer resource_metadata="http://127.0.0.1:1/"', 'set-cookie': 'a=1' },
    )
  const { status, headers } = await send()
  expect([status, headers.get('set-cookie'), headers.get('www-authenticate')]).toEqual([502, null, null])
  expect(upstream.received).toHaveLength(1)
})

it('a session of a hostile upstream is usable by its own user alone, and its own id stays hidden', async () => {
  const id = 'session-4711-of-the-upstream'
  answer = ({ json, body }) =>
    json(200, { jsonrpc: '2.0', id: body['id'], result: {} }, { 'mcp-session-id': id })
  const opened = await send({}, tokenOfAda, { method: 'initialize', params: {} })
  const sealed = opened.headers.get('mcp-session-id') ?? ''
  expect(JSON.stringify([...opened.headers]) + (await opened.text())).not.toContain(id)
  const again = await send({ 'mcp-session-id': sealed })
  expect([again.status, again.headers.get('mcp-session-id')]).toEqual([200, sealed])
  expect(upstream.received.map(({ headers }) => headers['mcp-session-id'])).toEqual([undefined, id])
  for (const method of ['POST', 'GET', 'DELETE']) {
    const headers = { authorization: `Bearer ${tokenOfEve}`, 'mcp-session-id': sealed }
    const refused =
      method === 'POST'
        ? await send(headers, tokenOfEve)
        : await server.fetch(server.mcpUrl, {
            method,
            headers: { ...headers, accept: 'text/event-stream' },
          })
    expect([method, refused.status]).toEqual([method, 404])
  }
  expect(upstream.received).toHaveLength(2)
})
