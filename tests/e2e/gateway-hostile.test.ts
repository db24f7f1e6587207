import { createRemoteJWKSet, decodeJwt, jwtVerify } from 'jose'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { startGateway } from './gateway-server.ts'
import { createPerson, type Person } from './person.ts'
import { postMcp, registerPlainClient } from './plain-client.ts'
import {
  answerEmpty,
  answerJson,
  idOf,
  type RecordedRequest,
  type RecordingUpstream,
  startRecordingUpstream,
} from './recording-upstream.ts'
import type { ServerProcess } from './server-process.ts'

let upstream: RecordingUpstream
let server: ServerProcess
let ada: Person
let eve: Person
let tokenOfAda: string
let tokenOfEve: string
let tokenOfOtherClient: string

/** Opens both for a group of tests, with that document of the upstream. */
function opened(document: Record<string, unknown>): void {
  beforeAll(() => open(document))
  afterAll(async () => {
    await server?.close()
    upstream?.close()
  })
}

const open = async (document: Record<string, unknown>): Promise<void> => {
  upstream = await startRecordingUpstream()
  server = await startGateway({ url: upstream.url, ...document })
  ada = await createPerson(server)
  eve = await createPerson(server)
  const client = await registerPlainClient(server)
  tokenOfAda = (await client.connect(ada)).access_token
  tokenOfEve = (await client.connect(eve)).access_token
  tokenOfOtherClient = (await (await registerPlainClient(server)).connect(ada)).access_token
}

beforeEach(() => {
  if (!upstream) return
  upstream.requests = []
  upstream.answer = answerEmpty
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

/** The only headers that reach an upstream that requests no more. */
const passedNames = [
  'accept',
  'connection',
  'content-length',
  'content-type',
  'drawbridge-assertion',
  'host',
  'traceparent',
]

describe('what says who calls', () => {
  opened({ headers: { 'X-Api-Key': 'key of the door' } })

  it('never comes from the client', async () => {
    const traceparent = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01'
    expect((await send({ ...forgedHeaders, traceparent })).status).toBe(200)
    const [{ headers, rawHeaders }] = upstream.requests as [RecordedRequest]
    expect(Object.keys(headers).toSorted()).toEqual([...passedNames, 'x-api-key'])
    expect(rawHeaders).toHaveLength((passedNames.length + 1) * 2)
    expect(rawHeaders.join()).not.toContain('forged')
    expect(rawHeaders.join()).not.toContain(tokenOfAda)
    expect(headers).toMatchObject({ traceparent, 'x-api-key': 'key of the door' })
    const { payload } = await verified(headers['drawbridge-assertion'])
    expect(payload['email']).toBe(ada.email)
  })

  it('is on every request: of a stream, of the end of a session, of a notification', async () => {
    const authorization = `Bearer ${tokenOfAda}`
    const headers = { ...forgedHeaders, authorization, accept: 'text/event-stream' }
    for (const method of ['GET', 'DELETE']) await server.fetch(server.mcpUrl, { method, headers })
    await server.fetch(server.mcpUrl, {
      method: 'POST',
      headers: { ...headers, 'content-type': 'application/json' },
      body: '{"jsonrpc":"2.0","method":"notifications/initialized"}',
    })
    expect(upstream.requests.map(({ method }) => method)).toEqual(['GET', 'DELETE', 'POST'])
    for (const request of upstream.requests) {
      const { payload } = await verified(request.headers['drawbridge-assertion'])
      expect(payload['email']).toBe(ada.email)
      expect(request.rawHeaders.join()).not.toContain('forged')
    }
  })

  it('is told apart in calls at the same time with equal ids and progress tokens: each gets its own answers', async () => {
    upstream.answer = (response, { headers, body }) => {
      const { id, params } = JSON.parse(body) as { id: number; params: { arguments: { nonce: string } } }
      const text = `${String(decodeJwt(String(headers['drawbridge-assertion']))['email'])} ${params.arguments.nonce}`
      const messages = [
        { method: 'notifications/progress', params: { progressToken: id, progress: 1, message: text } },
        { id, result: { content: [{ type: 'text', text }] } },
      ]
      const events = messages.map((message) => `data: ${JSON.stringify({ jsonrpc: '2.0', ...message })}\n\n`)
      // Answers overtake each other.
      setTimeout(
        () => {
          response.writeHead(200, { 'content-type': 'text/event-stream' }).end(events.join(''))
        },
        (id % 3) * 2,
      )
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

async function verified(assertion: string | string[] | undefined) {
  return jwtVerify(String(assertion), createRemoteJWKSet(new URL(`${server.baseUrl}/oauth/jwks`)), {
    issuer: server.baseUrl,
    audience: upstream.url,
    typ: 'drawbridge-assertion+jwt',
    algorithms: ['ES256'],
  })
}

describe('what says who calls, as plain headers', () => {
  opened({ identity: ['headers'], forward: ['X-User'] })

  it('is what the server knows, not what the client says', async () => {
    await send(forgedHeaders)
    const { headers, rawHeaders } = upstream.requests[0] as RecordedRequest
    expect(headers['x-forwarded-email']).toBe(ada.email)
    expect(headers['x-forwarded-user']).toMatch(/^[0-9a-f-]{36}$/)
    // This one was requested.
    expect(headers['x-user']).toBe('forged')
    expect(rawHeaders.filter((text) => text === 'forged')).toHaveLength(1)
    expect(headers).not.toHaveProperty('drawbridge-assertion')
    expect(headers).not.toHaveProperty('authorization')
  })
})

describe('a hostile upstream', () => {
  opened({})

  const challenge = {
    'www-authenticate': 'Bearer resource_metadata="http://127.0.0.1:1/.well-known/oauth-protected-resource"',
    'proxy-authenticate': 'Basic',
    'set-cookie': ['session=1; Path=/', 'drawbridge=2'],
    'access-control-allow-origin': 'https://evil.example',
    'clear-site-data': '"*"',
    link: '</>; rel="oauth"',
    location: 'http://127.0.0.1:1/',
  }

  // A client that was answered 401 would sign in again.
  it.each([
    [200, 200],
    [401, 502],
    [307, 502],
  ])(
    'that challenges, sets cookies and redirects with %i is asked once, and seen as %i',
    async (status, seen) => {
      upstream.answer = (response, request) =>
        answerJson(
          response,
          { jsonrpc: '2.0', id: idOf(request), result: {} },
          { status, headers: challenge },
        )
      const response = await send()
      expect(response.status).toBe(seen)
      for (const [name, value] of Object.entries(challenge)) {
        expect([name, response.headers.get(name) ?? '']).not.toEqual([name, String(value)])
      }
      expect(response.headers.get('set-cookie')).toBeNull()
      expect(response.headers.get('www-authenticate')).toBeNull()
      expect(upstream.requests).toHaveLength(1)
    },
  )

  it('has a session whose id is of use to its own user and client alone, and the own one stays hidden', async () => {
    const id = 'session-4711-of-the-upstream'
    upstream.answer = (response, request) =>
      answerJson(
        response,
        { jsonrpc: '2.0', id: idOf(request), result: {} },
        { headers: { 'mcp-session-id': id } },
      )
    const opened = await send({}, tokenOfAda, { method: 'initialize', params: {} })
    const sealed = opened.headers.get('mcp-session-id') ?? ''
    expect(sealed).not.toBe('')
    expect(JSON.stringify([...opened.headers]) + (await opened.text())).not.toContain(id)
    upstream.requests = []
    const again = await send({ 'mcp-session-id': sealed })
    expect([again.status, again.headers.get('mcp-session-id')]).toEqual([200, sealed])
    expect(upstream.requests.map(({ headers }) => headers['mcp-session-id'])).toEqual([id])
    for (const [token, shown] of [
      [tokenOfEve, sealed],
      [tokenOfOtherClient, sealed],
      [tokenOfAda, id],
      [tokenOfAda, `${sealed.slice(0, -1)}${sealed.endsWith('A') ? 'B' : 'A'}`],
    ] as const) {
      for (const method of ['POST', 'GET', 'DELETE']) {
        const refused = await server.fetch(server.mcpUrl, {
          method,
          headers: {
            authorization: `Bearer ${token}`,
            accept: 'application/json, text/event-stream',
            'mcp-session-id': shown,
            ...(method === 'POST' && { 'content-type': 'application/json' }),
          },
          ...(method === 'POST' && { body: JSON.stringify({ jsonrpc: '2.0', id: 1, ...call }) }),
        })
        expect([method, refused.status]).toEqual([method, 404])
        expect(await refused.text()).not.toContain(id)
      }
    }
    expect(upstream.requests).toHaveLength(1)
  })
})
