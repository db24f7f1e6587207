import { UnauthorizedError } from '@modelcontextprotocol/sdk/client/auth.js'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { AttemptFacts } from '../../server/core/attempts/attempt-list.ts'
import { runCommand } from './command-process.ts'
import { MemoryOAuthProvider } from './memory-oauth-provider.ts'
import { createPerson, type Person } from './person.ts'
import { until } from '../support/until.ts'
import { type ServerProcess, startServer } from './server-process.ts'

let server: ServerProcess
let person: Person

beforeAll(async () => {
  server = await startServer()
  person = await createPerson(server)
})
afterAll(() => server?.close())

type Fetch = typeof fetch
/** What is in the way of a client: answers itself, or changes what passes. Undefined: passes it on. */
type Fault = (
  request: Request,
  pass: (request: Request) => Promise<Response>,
) => Promise<Response> | undefined

const html = (status: number): Promise<Response> =>
  Promise.resolve(new Response('<html>Blocked</html>', { status, headers: { 'content-type': 'text/html' } }))

const at = (path: string, request: Request): boolean => new URL(request.url).pathname.startsWith(path)

/** Connects like an application, as far as it gets, under a name of its own. */
async function connect(
  name: string,
  fault: Fault = () => undefined,
  by: Partial<Person> = person,
): Promise<void> {
  const pass = (request: Request): Promise<Response> => server.fetch(request)
  const through: Fetch = (input, init) => {
    const request = new Request(input, init)
    request.headers.set('user-agent', name)
    return fault(request, pass) ?? pass(request)
  }
  const provider = new MemoryOAuthProvider({ client_name: name })
  const transport = (): StreamableHTTPClientTransport =>
    new StreamableHTTPClientTransport(new URL(server.mcpUrl), { fetch: through, authProvider: provider })
  const client = (): Client => new Client({ name, version: '1.0.0' })
  const refused = transport()
  const failure = await client()
    .connect(refused)
    .catch((error: unknown) => error)
  const [url] = provider.authorizationUrls
  if (!(failure instanceof UnauthorizedError) || !url || !by.allow) return
  const callback = await by.allow(url).catch(() => undefined)
  const code = callback?.searchParams.get('code')
  if (!code) return
  try {
    await refused.finishAuth(code)
    const connected = client()
    await connected.connect(transport())
    await connected.listTools()
    await connected.close()
  } catch {
    // What is in the way is what these tests are about.
  }
}

let attempts: AttemptFacts[]

/** Reads the attempts with the command, as an operator does a quarter of an hour later. */
async function readAttempts(): Promise<AttemptFacts[]> {
  const { code, stdout } = await runCommand(server, ['attempts', '--json'], { aheadSeconds: 900 })
  expect(code).toBe(0)
  return JSON.parse(stdout) as AttemptFacts[]
}

function attemptsOf(name: string): AttemptFacts[] {
  return attempts.filter(({ steps }) => steps.some((step) => step.user_agent === name))
}

/** Clients repeat what was refused. */
function walked({ steps }: AttemptFacts): string {
  const words = steps.map(
    ({ step, ok, detail }) => `${ok ? '' : '!'}${step}${detail === undefined ? '' : `:${detail}`}`,
  )
  return words.filter((word, index) => word !== words[index - 1]).join(' ')
}

const untilPage = 'challenge resource_metadata server_metadata register page'
const untilCode = `${untilPage} sign_in code`

const broken: readonly [what: string, fault: Fault, walked: string, advice: RegExp][] = [
  [
    'nothing of /.well-known/ arrives',
    (request) => (at('/.well-known/', request) ? html(200) : undefined),
    'challenge',
    /keeps-headers/,
  ],
  [
    'the path is rewritten',
    (request, pass) =>
      at('/mcp', request)
        ? undefined
        : pass(new Request(request.url.replace(server.baseUrl, `${server.baseUrl}/app`), request)),
    'challenge !resource_metadata !server_metadata',
    /exact-paths/,
  ],
  [
    'POST to the registration is answered by the proxy',
    (request) => (at('/oauth/register', request) ? html(405) : undefined),
    'challenge resource_metadata server_metadata',
    /REGISTRATION must be on and POST .oauth.register must pass/,
  ],
  [
    'POST to the token endpoint is dropped',
    (request) => (at('/oauth/token', request) ? html(403) : undefined),
    untilCode,
    /firewall.*public-port, answers-programs/,
  ],
  [
    'the verifier is lost',
    (request, pass) =>
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
    `${untilCode} !token:invalid_grant`,
    /code_verifier/,
  ],
  [
    'the Authorization header is taken away',
    (request, pass) => {
      if (!request.headers.has('authorization')) return undefined
      request.headers.delete('authorization')
      return pass(request)
    },
    `${untilCode} token`,
    /Authorization header.*keeps-headers/,
  ],
  [
    'the token is changed on its way',
    (request, pass) => {
      const token = request.headers.get('authorization')
      if (!token) return undefined
      request.headers.set('authorization', token.slice(0, -1))
      return pass(request)
    },
    `${untilCode} token !first_call:caller_refused`,
    /refused when it was first used/,
  ],
]

beforeAll(async () => {
  await connect('whole')
  for (const [what, fault] of broken) await connect(what, fault)
  await until(async () => {
    attempts = await readAttempts()
    const [last] = attemptsOf(broken.at(-1)?.[0] ?? '')
    return last?.steps.some(({ step }) => step === 'first_call') === true
  }, 'the attempts in the store')
})

describe('attempts', () => {
  it('are one story of a client that connects', () => {
    const [attempt, ...more] = attemptsOf('whole')
    expect(more).toEqual([])
    expect(attempt).toMatchObject({ client: 'whole', result: 'connected' })
    expect(attempt && walked(attempt)).toBe(`${untilCode} token first_call list`)
    expect(attempt?.advice).toBeUndefined()
  })

  it('are found by the request id of what was refused', async () => {
    const refused = [
      await server.fetch(`${server.baseUrl}/oauth/authorize?client_id=nobody`),
      await server.fetch(`${server.baseUrl}/oauth/callback?code=x&state=y`),
      await server.fetch(`${server.baseUrl}/oauth/register`, { method: 'POST', body: '{}' }),
      await server.fetch(`${server.baseUrl}/oauth/token`, { method: 'POST' }),
      await server.fetch(`${server.baseUrl}/oauth/device_authorization`, { method: 'POST' }),
    ]
    for (const { status, headers } of refused) {
      expect(status).toBeGreaterThanOrEqual(400)
      const id = headers.get('x-request-id') ?? ''
      await until(async () => {
        const { stdout } = await runCommand(server, ['attempts', '--json', '--request', id])
        return (JSON.parse(stdout) as AttemptFacts[]).length === 1
      }, `the attempt of ${id}`)
    }
  })

  it.each(broken)('tell when %s', (what, _, expected, advice) => {
    const [attempt, ...more] = attemptsOf(what)
    expect(more).toEqual([])
    expect(attempt && walked(attempt)).toBe(expected)
    expect(attempt).toMatchObject({ result: 'failed', advice: expect.stringMatching(advice) })
  })
})
