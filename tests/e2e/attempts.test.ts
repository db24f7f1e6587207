import { beforeAll, afterAll, expect, it } from 'vitest'
import type { AttemptFacts } from '../../server/core/attempts/attempt-list.ts'
import { readAttempts } from './attempt-facts.ts'
import { MemoryOAuthProvider } from './memory-oauth-provider.ts'
import { createPerson, type Person } from './person.ts'
import { sdkClients } from './sdk-client.ts'
import { type ServerProcess, startServer } from './server-process.ts'
import { until } from '../support/until.ts'

let server: ServerProcess
let person: Person

beforeAll(async () => {
  server = await startServer()
  person = await createPerson(server)
})
afterAll(() => server?.close())

/** An obstacle before the server: answers itself, or changes what passes. Undefined: passes it on. */
type Fault = (
  request: Request,
  pass: (request: Request) => Promise<Response>,
) => Promise<Response> | undefined

const at = (path: string, request: Request): boolean => new URL(request.url).pathname.startsWith(path)

/** Connects like an application, as far as it gets, under a name of its own. */
async function connect(
  name: string,
  fault: Fault = () => undefined,
  by: Pick<Person, 'allow'> = person,
): Promise<void> {
  const pass = (request: Request): Promise<Response> => server.fetch(request)
  const through: typeof fetch = (input, init) => {
    const request = new Request(input, init)
    request.headers.set('user-agent', name)
    return fault(request, pass) ?? pass(request)
  }
  const provider = new MemoryOAuthProvider({ client_name: name })
  const client = sdkClients['sdk 1, 2025-11-25'](server, { fetch: through, provider })
  await client.connect().catch(() => {})
  try {
    await client.signIn(by)
    await client.connect()
    await client.listTools()
    await client.end()
  } catch {}
}

let attempts: AttemptFacts[]

/** The attempts of a program whose client is known; without one, the requests that are counted. */
function attemptsOf(name: string): AttemptFacts[] {
  const all = attempts.filter(({ steps }) => steps.some((step) => step.user_agent === name))
  const known = all.filter(({ client }) => client !== undefined)
  return known.length > 0 ? known : all
}

/** Clients repeat what was refused. */
function walked({ steps }: AttemptFacts): string {
  const words = steps.map(
    ({ step, ok, detail }) => `${ok ? '' : '!'}${step}${detail === undefined ? '' : `:${detail}`}`,
  )
  return words.filter((word, index) => word !== words[index - 1]).join(' ')
}

const untilPage = 'register page'
const untilCode = `${untilPage} sign_in code`

/** A client with that in its way. */
const behind =
  (fault: Fault) =>
  (name: string): Promise<void> =>
    connect(name, fault)

/** Faults of a client's connection, the step that it reaches, and the advice to the operator. */
const stories: readonly [
  what: string,
  happens: (name: string) => Promise<void>,
  walked: string,
  advice: RegExp,
][] = [
  [
    'the path is rewritten',
    behind((request, pass) =>
      at('/mcp', request)
        ? undefined
        : pass(new Request(request.url.replace(server.baseUrl, `${server.baseUrl}/app`), request)),
    ),
    'challenge !resource_metadata !server_metadata',
    /exact-paths/,
  ],
  [
    'the verifier is lost',
    behind((request, pass) =>
      at('/oauth/token', request)
        ? request.text().then((body) =>
            pass(
              new Request(request.url, {
                method: 'POST',
                headers: request.headers,
                body: body.replace(/code_verifier=[^&]*/, `code_verifier=${'a'.repeat(43)}`),
              }),
            ),
          )
        : undefined,
    ),
    `${untilCode} !token:invalid_grant`,
    /code_verifier/,
  ],
  [
    'the token is changed on its way',
    behind((request, pass) => {
      const token = request.headers.get('authorization')
      if (!token) return undefined
      request.headers.set('authorization', token.slice(0, -1))
      return pass(request)
    }),
    `${untilCode} token`,
    /Authorization header reaches this server unchanged/,
  ],
  [
    'a browser keeps no cookies',
    async (name) => {
      await connect(name, undefined, {
        async allow(url) {
          const page = await (await server.fetch(url, { headers: { 'user-agent': name } })).text()
          const transaction = /name="transaction" value="([^"]+)"/.exec(page)?.[1] ?? ''
          await server.fetch(`${server.baseUrl}/oauth/authorize`, {
            method: 'POST',
            headers: { 'user-agent': name, origin: server.baseUrl },
            body: new URLSearchParams({ transaction, email: person.email, password: person.password }),
          })
          throw new Error('The browser did not come back.')
        },
      })
    },
    `${untilPage} !sign_in:foreign_browser`,
    /cookie/,
  ],
  [
    'a registration is refused',
    async (name) => {
      await server.fetch(server.mcpUrl, { method: 'POST', headers: { 'user-agent': name } })
      await server.fetch(`${server.baseUrl}/oauth/register`, {
        method: 'POST',
        headers: { 'user-agent': name, 'content-type': 'application/json' },
        body: JSON.stringify({ redirect_uris: ['http://client.example/callback'] }),
      })
    },
    'challenge !register:invalid_redirect_uri',
    /registration was refused.*invalid_redirect_uri/,
  ],
  [
    'the host of a client document is down',
    async (name) => {
      const url = new URL(`${server.baseUrl}/oauth/authorize`)
      url.search = new URLSearchParams({
        client_id: 'https://client.invalid/document',
        redirect_uri: 'https://client.invalid/callback',
        response_type: 'code',
        code_challenge: 'a'.repeat(43),
        code_challenge_method: 'S256',
      }).toString()
      await server.fetch(url, { headers: { 'user-agent': name } })
    },
    '!client:client_unavailable',
    /metadata document.*reach its host/,
  ],
  [
    'the Authorization header is taken away',
    behind((request, pass) => {
      if (!request.headers.has('authorization')) return undefined
      request.headers.delete('authorization')
      return pass(request)
    }),
    `${untilCode} token`,
    /Authorization header.*keeps-headers/,
  ],
]

beforeAll(async () => {
  await connect('whole')
  for (const [what, happens] of stories) await happens(what)
  await until(async () => {
    attempts = await readAttempts(server)
    const [last] = attemptsOf(stories.at(-1)?.[0] ?? '')
    return last?.steps.some(({ step }) => step === 'token') === true
  }, 'the attempts in the store')
})

it('attempts list the steps of a client that connects as one attempt', () => {
  const [attempt, ...more] = attemptsOf('whole')
  expect(more).toEqual([])
  expect(attempt).toMatchObject({ client: 'whole', result: 'connected' })
  expect(attempt && walked(attempt)).toBe(`${untilCode} token first_call list`)
  expect(attempt?.advice).toBeUndefined()
})

it('attempts find an attempt by the request id of a refusal', async () => {
  const refused = [
    await server.fetch(`${server.baseUrl}/oauth/authorize?client_id=nobody`),
    await server.fetch(`${server.baseUrl}/oauth/callback?code=x&state=y`),
    await server.fetch(`${server.baseUrl}/oauth/register`, { method: 'POST', body: '{}' }),
    await server.fetch(`${server.baseUrl}/oauth/token`, { method: 'POST' }),
    await server.fetch(`${server.baseUrl}/oauth/device_authorization`, { method: 'POST' }),
  ]
  const ids = refused.map(({ status, headers }) => {
    expect(status).toBeGreaterThanOrEqual(400)
    return headers.get('x-request-id')
  })
  await until(async () => {
    const steps = (await readAttempts(server)).flatMap((attempt) => attempt.steps)
    return ids.every((id) => steps.some((step) => step.request_id === id))
  }, 'the attempts')
  expect(await readAttempts(server, ['--request', ids[0] ?? ''])).toHaveLength(1)
})

it.each(stories)('attempts show when %s', (what, _, expected, advice) => {
  const [attempt, ...more] = attemptsOf(what)
  expect(more).toEqual([])
  expect(attempt && walked(attempt)).toBe(expected)
  expect(attempt).toMatchObject({ result: 'failed', advice: expect.stringMatching(advice) })
})
