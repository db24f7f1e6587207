import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createPerson, createServerBrowser, type Person } from './person.ts'
import { callTool, postMcp, registerPlainClient, type Tokens } from './plain-client.ts'
import { createSecretLedger } from './secret-ledger.ts'
import { type ServerProcess, startServer } from './server-process.ts'

let server: ServerProcess
let person: Person

beforeAll(async () => {
  server = await startServer({ EMBEDDED_TOKEN_TTL: '1s', ACCESS_TOKEN_TTL: '2s' })
  person = await createPerson(server)
})
// Closing compares the output of the server with every secret, here as in all tests of this folder.
afterAll(() => server?.close())

/** Everything that a request can do wrong with a secret in it. */
async function provokeFailures(tokens: Tokens): Promise<number[]> {
  const client = await registerPlainClient(server)
  const other = await registerPlainClient(server)
  const code = await client.code(person)
  const post = (path: string, body: string, type = 'application/x-www-form-urlencoded'): Promise<Response> =>
    server.fetch(server.baseUrl + path, { method: 'POST', headers: { 'content-type': type }, body })
  const verifier = 'a-verifier-that-belongs-to-nobody-at-all-0123456789'
  const redemption = { grant_type: 'authorization_code', client_id: client.id, code, code_verifier: verifier }
  const answers = await Promise.all([
    client.refresh(`${tokens.refresh_token}x`),
    other.refresh(tokens.refresh_token),
    other.redeem(code),
    post('/oauth/token', new URLSearchParams(redemption).toString()),
    post('/oauth/token', `${new URLSearchParams(redemption).toString()}&code=${code}`),
    post('/oauth/token', JSON.stringify(redemption), 'application/json'),
    server.fetch(`${server.baseUrl}/oauth/token`, {
      method: 'POST',
      headers: {
        'content-type': 'application/x-www-form-urlencoded',
        authorization: `Basic ${Buffer.from(`${client.id}:a-secret-that-is-wrong`).toString('base64')}`,
      },
      body: new URLSearchParams({
        grant_type: 'refresh_token',
        refresh_token: tokens.refresh_token,
      }).toString(),
    }),
    post('/oauth/register', '{"client_secret":"secret-in-broken-json"', 'application/json'),
    post('/oauth/authorize', new URLSearchParams({ password: person.password }).toString()),
    server.fetch(`${server.baseUrl}/oauth/authorize?client_id=unknown&code=code-in-a-wrong-place`),
    server.fetch(`${server.baseUrl}/nowhere?access_token=${tokens.access_token}`),
    postMcp(server, { method: 'tools/list' }, { authorization: `Bearer ${tokens.access_token}x` }),
    postMcp(server, { method: 'tools/list' }, { authorization: `Basic ${tokens.access_token}` }),
    postMcp(server, { method: 'tools/list' }, { cookie: 'sb-localhost-auth-token=base64-bm8tc2Vzc2lvbg' }),
    postMcp(
      server,
      { method: 'tools/list' },
      { cookie: 'sb-localhost-auth-token=base64-bm8tc2Vzc2lvbg', origin: 'https://evil.example' },
    ),
  ])
  await Promise.all(answers.map((answer) => answer.text()))
  return answers.map(({ status }) => status)
}

describe('the log at its most talkative', () => {
  it('tells what happened without any of the secrets', async () => {
    const client = await registerPlainClient(server)
    const tokens = await client.connect(person)
    await callTool(server, tokens.access_token, 'add_note', { text: 'a note' })
    const refreshed = (await (await client.refresh(tokens.refresh_token)).json()) as Tokens
    await callTool(server, refreshed.access_token, 'list_notes')

    const login = await person.browser.visit(client.authorizationUrl)
    const wrong = { email: person.email, password: `${person.password} not` }
    expect((await person.browser.submit(login, 'password', wrong)).response?.status).toBe(400)

    const app = createServerBrowser(server)
    const page = await app.visit(server.appUrl)
    const { email, password } = person
    expect((await app.submit(page, 'password', { email, password })).url.pathname).toBe('/notes')

    const social = await person.browser.visit(client.authorizationUrl)
    const google = await person.browser.submit(social, 'provider', { provider: 'google' })
    expect(google.url.pathname).toMatch(/^\/google\//)

    for (const status of await provokeFailures(refreshed)) expect(status).toBeGreaterThanOrEqual(400)

    expect([...server.secrets.names()]).toEqual(
      expect.arrayContaining([
        'access_token',
        'refresh_token',
        'code',
        'code_verifier',
        'password',
        'transaction',
      ]),
    )
    expect([...server.secrets.names()].some((name) => name.includes('cookie '))).toBe(true)
    // There is something to compare with.
    expect(server.events('mcp_request').length).toBeGreaterThan(0)
    expect(server.events('token_issued').length).toBeGreaterThan(0)
    expect(server.events('sign_in_failed').length).toBeGreaterThan(0)
    expect(server.secrets.findIn(server.stderr() + server.stdout())).toEqual([])
  })

  it('is compared by a ledger that finds a secret where there is one', () => {
    const ledger = createSecretLedger()
    ledger.note('password', 'pass word/with?signs')
    ledger.note('access_token', 'mcpa_0123456789')
    expect(ledger.findIn('GET /?p=pass%20word%2Fwith%3Fsigns mcpa_0123456789')).toEqual([
      'password',
      'access_token',
    ])
    expect(ledger.findIn('GET /?p=something+else mcpa_01234567')).toEqual([])
    expect(ledger.findIn(`{"token":"mcpr_${'x'.repeat(43)}"}`)).toEqual(['a token of this server'])
    expect(ledger.findIn('Bearer eyJhbGciOiJFUzI1NiJ9.eyJzdWIiOiIxIn0.c2ln')).toEqual(['a JWT'])
  })
})

describe('the data at rest', () => {
  it('holds no token, code or password that could be used', async () => {
    await server.kill('SIGTERM')
    const folder = join(server.directory, '.drawbridge')
    const files = readdirSync(folder).filter((name) => name.startsWith('server.db'))
    expect(files).toContain('server.db')
    for (const name of files) {
      expect([name, server.secrets.findIn(readFileSync(join(folder, name), 'latin1'))]).toEqual([name, []])
    }
  })
})
