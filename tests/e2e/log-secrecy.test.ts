import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createPerson, createServerBrowser, type Person } from './person.ts'
import { callTool, postMcp, register, registerPlainClient, type Tokens } from './plain-client.ts'
import { underLoad } from '../support/under-load.ts'
import { createSecretLedger, noteServed } from './secret-ledger.ts'
import { type ServerProcess, startServer } from './server-process.ts'

let server: ServerProcess
let person: Person

beforeAll(async () => {
  server = await startServer({ EMBEDDED_TOKEN_TTL: '4s', ACCESS_TOKEN_TTL: '2s' })
  person = await createPerson(server)
})
// Closing compares the output of the server with every secret, here as in all tests of this folder.
afterAll(() => server?.close())

const send = (path: string, init: RequestInit = {}): Promise<Response> =>
  server.fetch(new URL(path, server.baseUrl), init)
const form = (path: string, fields: Record<string, string>, headers = {}): Promise<Response> =>
  send(path, { method: 'POST', headers, body: new URLSearchParams(fields) })
const json = (path: string, body: string): Promise<Response> =>
  send(path, { method: 'POST', headers: { 'content-type': 'application/json' }, body })
const bearer = (token: string): RequestInit => ({ headers: { authorization: `Bearer ${token}` } })
const basic = (id: string, secret: string): Record<string, string> => ({
  authorization: `Basic ${Buffer.from(`${id}:${secret}`).toString('base64')}`,
})

/** Sends every kind of invalid request with a secret in it. */
async function provokeFailures(tokens: Tokens): Promise<number[]> {
  const client = await registerPlainClient(server)
  const other = await registerPlainClient(server)
  const code = await client.code(person)
  const verifier = 'a-verifier-that-belongs-to-nobody-at-all-0123456789'
  const redemption = { grant_type: 'authorization_code', client_id: client.id, code, code_verifier: verifier }
  const refresh = { grant_type: 'refresh_token', refresh_token: tokens.refresh_token }
  const list = (headers: Record<string, string>): Promise<Response> =>
    postMcp(server, { method: 'tools/list' }, headers)
  const cookie = 'sb-localhost-auth-token=base64-bm8tc2Vzc2lvbg'
  const answers = await Promise.all([
    client.refresh(`${tokens.refresh_token}x`),
    other.refresh(tokens.refresh_token),
    other.redeem(code),
    form('/oauth/token', redemption),
    send('/oauth/token', {
      method: 'POST',
      body: new URLSearchParams([...Object.entries(redemption), ['code', code]]),
    }),
    json('/oauth/token', JSON.stringify(redemption)),
    form('/oauth/token', refresh, basic(client.id, 'a-secret-that-is-wrong')),
    json('/oauth/register', '{"client_secret":"secret-in-broken-json"'),
    form('/oauth/authorize', { password: person.password }),
    send('/oauth/authorize?client_id=unknown&code=code-in-a-wrong-place'),
    send(`/nowhere?access_token=${tokens.access_token}`),
    list({ authorization: `Bearer ${tokens.access_token}x` }),
    list({ authorization: `Basic ${tokens.access_token}` }),
    list({ cookie }),
    list({ cookie, origin: 'https://evil.example' }),
  ])
  await Promise.all(answers.map((answer) => answer.text()))
  return answers.map(({ status }) => status)
}

/** Sends secrets to the other endpoints, in valid and invalid ways. */
async function useTheOtherEndpoints(tokens: Tokens): Promise<number[]> {
  const {
    client_id: id,
    client_secret: secret = '',
    registration_access_token: management,
    registration_client_uri: manage,
  } = await register(server, {
    grant_types: ['authorization_code', 'refresh_token', 'urn:ietf:params:oauth:grant-type:device_code'],
    token_endpoint_auth_method: 'client_secret_basic',
  })
  const own = basic(id, secret)
  const started = await form('/oauth/device_authorization', {}, own)
  const codes = (await started.json()) as Record<string, string>
  const { device_code: deviceCode = '', user_code: userCode = '' } = codes
  const device = {
    grant_type: 'urn:ietf:params:oauth:grant-type:device_code',
    device_code: deviceCode,
  }
  const answers = [
    started,
    await form('/oauth/token', device, own),
    await form('/oauth/token', { ...device, device_code: `${deviceCode}x` }, own),
    await form('/oauth/token', { ...device, client_id: id, client_secret: `${secret}x` }),
    await send(`/oauth/device?user_code=${userCode}`),
    await form('/oauth/device', { user_code: userCode, form: 'not-the-form-of-this-browser' }),
    await send(manage, bearer(management)),
    await send(manage, bearer(`${management}x`)),
    await form('/oauth/introspect', { token: tokens.access_token }, own),
    await form('/oauth/revoke', { token: tokens.refresh_token }, own),
    await send('/account/connections', {
      headers: { cookie: 'drawbridge-account=a-cookie-of-nobody-at-all' },
    }),
    await send(manage, { method: 'DELETE', ...bearer(management) }),
  ]
  return answers.map(({ status }) => status)
}

describe('the log at its most talkative', () => {
  it('MCP auth Token-Theft, RFC 6749 10.3: tells what happened without any of the secrets', async () => {
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
    for (const status of await useTheOtherEndpoints(refreshed)) expect(status).toBeLessThan(600)

    expect([...server.secrets.names()]).toEqual(
      expect.arrayContaining([
        'access_token',
        'refresh_token',
        'code',
        'code_verifier',
        'password',
        'transaction',
        'client_secret',
        'registration_access_token',
        'device_code',
        'user_code',
      ]),
    )
    expect([...server.secrets.names()].some((name) => name.includes('cookie '))).toBe(true)
    // There is output to search.
    for (const event of ['mcp_request', 'token_issued', 'sign_in_failed']) {
      expect([event, server.events(event).length > 0]).toEqual([event, true])
    }
    expect(server.secrets.findIn(server.stderr() + server.stdout())).toEqual([])
  })

  it('the ledger of the test finds a secret in each part of a request and a response', async () => {
    const ledger = createSecretLedger()
    ledger.note('password', 'pass word/with?signs')
    const answer = '{"a":[{"device_code":"a-device-code-1"}],"code":"error_word_of_it"}'
    const headers = { 'content-type': 'application/json' }
    const request = new Request('http://localhost/', { headers: { cookie: 'a=cookie-of-somebody' } })
    await noteServed(async () => new Response(answer, { headers }))(request)
    // Libraries send requests of their own.
    await fetch('http://127.0.0.1:9/?code=code-by-the-global-fetch').catch(() => {})
    for (const [text, ...found] of [
      ['GET /?p=pass%20word%2Fwith%3Fsigns', 'password'],
      ['GET /?p=something+else error_word_of_it'],
      ['x a-device-code-1 y', 'device_code'],
      ['cookie-of-somebody', 'cookie a'],
      ['code-by-the-global-fetch', 'code'],
      [`{"token":"mcpr_${'x'.repeat(43)}"}`, 'a token of this server'],
      ['{"err":"for [redacted]"}', 'something that the log took out'],
      ['Bearer eyJhbGciOiJFUzI1NiJ9.eyJzdWIiOiIxIn0.c2ln', 'a JWT'],
    ] as const) {
      expect([text, ...createSecretLedger().findIn(text)]).toEqual([text, ...found])
    }
  })

  it('the ledger of the test finds one of thousands of secrets in megabytes without holding other work up', () => {
    const ledger = createSecretLedger()
    // They begin alike, as tokens do.
    const values = Array.from(
      { length: 5000 },
      (_, index) => `same beginning of ${String(index).padStart(9, '0')}`,
    )
    for (const value of values) ledger.note('many', value)
    const text = '{"event":"mcp_request","request_id":"same beginning of nothing"}\n'.repeat(50_000)
    const began = process.cpuUsage()
    expect(ledger.findIn(text)).toEqual([])
    const { user, system } = process.cpuUsage(began)
    expect((user + system) / 1000).toBeLessThan(underLoad(1000))
    expect(ledger.findIn(`${text}${values[4000]}`)).toEqual(['many'])
  })
})

describe('the data at rest', () => {
  it('MCP auth Token-Theft, RFC 9700 4.9.3: holds no token, code or password that could be used', async () => {
    await server.kill('SIGTERM')
    const folder = join(server.directory, '.drawbridge')
    const files = readdirSync(folder).filter((name) => name.startsWith('trial.db'))
    expect(files).toContain('trial.db')
    for (const name of files) {
      expect([name, server.secrets.findIn(readFileSync(join(folder, name), 'latin1'))]).toEqual([name, []])
    }
  })
})
