import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type DrawbridgeFixture, redirectUri, startDrawbridge } from '../support/server/drawbridge-fixture.ts'
import type { Chance } from './chance.ts'
import { fuzz } from './fuzz.ts'
import { damaged, hostileHeader, hostileText } from './hostile-text.ts'

const runs = 1500

let drawbridge: DrawbridgeFixture
let clientId: string
let accessToken: string
/** The sealed field of the login page opened by the browser of {@link binding}. */
let transaction: string
const binding = `drawbridge-browser=${'a'.repeat(43)}`
beforeAll(async () => {
  drawbridge = await startDrawbridge({ log: 'error' })
  const connected = await drawbridge.connect()
  clientId = connected.clientId
  accessToken = connected.tokens.access_token
  const page = await drawbridge.app.fetch(
    new Request(drawbridge.authorizeUrl(clientId), { headers: { cookie: binding, accept: 'text/html' } }),
  )
  transaction = /name="transaction" value="([^"]+)"/.exec(await page.text())?.[1] ?? ''
  if (transaction === '') throw new Error('The login page has no transaction.')
})
afterAll(() => drawbridge.close())

interface Sent {
  path: string
  init: RequestInit
}

/** Internal details that no response may contain: where in the program it failed. */
const trace = /\n\s+at |node:internal|\.ts:\d|\.mjs:\d|TypeError|RangeError|SyntaxError|SQLITE|sqlite_/

async function send({ path, init }: Sent): Promise<void> {
  const response = await drawbridge.fetch(path, init)
  const body = await response.text()
  // 503: a client id was the URL of a document, and a fixture has no network.
  if (response.status >= 500 && response.status !== 503) {
    throw new Error(`This is answered ${response.status}: ${body.slice(0, 500)}`)
  }
  const head = [...response.headers].map(([name, value]) => `${name}: ${value}`).join('\n')
  const told = trace.exec(head + body)
  if (told) throw new Error(`The answer says ${told[0]}.`)
  if (!response.headers.has('x-request-id')) throw new Error('The response has no request id.')
}

/** Returns the fields of a form, some of them changed. */
function formOf(
  chance: Chance,
  good: Readonly<Record<string, string>>,
  fragments: readonly string[],
): string {
  const fields = new URLSearchParams()
  for (const [name, value] of Object.entries(good)) {
    if (chance.once(8)) continue
    fields.append(name, chance.once(5) ? hostileText(chance, fragments) : value)
  }
  if (chance.once(4)) fields.append(hostileText(chance, Object.keys(good)), hostileText(chance, fragments))
  return chance.once(20) ? hostileText(chance, [fields.toString()]) : fields.toString()
}

/** Returns headers with these names, each hostile with a probability of 1 in `times`, and absent as often. */
function headersOf(
  chance: Chance,
  good: Readonly<Record<string, string>>,
  fragments: readonly string[],
): Headers {
  const headers = new Headers()
  for (const [name, value] of Object.entries(good)) {
    if (chance.once(12)) continue
    headers.set(name, chance.once(12) ? hostileHeader(chance, fragments) : value)
  }
  return headers
}

const form = { 'content-type': 'application/x-www-form-urlencoded' }
const browser = {
  ...form,
  origin: 'http://localhost:8787',
  'sec-fetch-site': 'same-origin',
  accept: 'text/html',
}

describe(
  'any request gets a response without a server failure or internal details',
  { timeout: 300_000 },
  () => {
    it.each<[name: string, path: string, good: Record<string, string>]>([
      [
        'code',
        '/oauth/token',
        {
          grant_type: 'authorization_code',
          code: 'mcpg_x',
          code_verifier: 'v'.repeat(43),
          redirect_uri: redirectUri,
        },
      ],
      [
        'refresh',
        '/oauth/token',
        {
          grant_type: 'refresh_token',
          refresh_token: 'mcpr_x',
          scope: 'mcp',
          resource: 'http://localhost:8787/mcp',
        },
      ],
      [
        'device code',
        '/oauth/token',
        { grant_type: 'urn:ietf:params:oauth:grant-type:device_code', device_code: 'mcpd_x' },
      ],
      ['revocation', '/oauth/revoke', { token: 'mcpa_x', token_type_hint: 'access_token' }],
      ['introspection', '/oauth/introspect', { token: 'mcpa_x' }],
      ['device authorization', '/oauth/device_authorization', { scope: 'mcp' }],
    ])('form of %s', (name, path, good) =>
      fuzz({
        name: `form of ${name}`,
        runs: 700,
        make: (chance) => ({
          path,
          init: {
            method: chance.once(30) ? chance.pick(['GET', 'PUT', 'DELETE']) : 'POST',
            headers: headersOf(chance, { ...form, ...(chance.once(4) && { authorization: 'Basic YTpi' }) }, [
              'Basic ',
              'YTpi',
              'Bearer ',
            ]),
            body: formOf(chance, { client_id: clientId, ...good }, [
              'mcpa_',
              'mcpr_',
              'x'.repeat(43),
              clientId,
            ]),
          },
        }),
        work: ({ path: at, init }: Sent) =>
          send({ path: at, init: init.method === 'GET' ? { method: 'GET' } : init }),
      }),
    )

    it('authorization request', () =>
      fuzz({
        name: 'authorization request',
        runs,
        make(chance) {
          const good = Object.fromEntries(drawbridge.authorizeUrl(clientId).searchParams)
          const query = formOf(chance, good, [...Object.values(good), 'none', 'https://evil.example'])
          const headers = headersOf(chance, { accept: 'text/html', cookie: binding }, [
            'drawbridge-browser=',
            '; ',
          ])
          return { path: `/oauth/authorize?${query}`, init: { headers } }
        },
        work: send,
      }))

    it.each(['/oauth/authorize', '/oauth/device', '/account/connections'])('form of a page: %s', (path) =>
      fuzz({
        name: `form of ${path}`,
        runs: 500,
        make: (chance) => ({
          path,
          init: {
            method: 'POST',
            headers: headersOf(chance, { ...browser, cookie: binding }, [
              'null',
              'cross-site',
              'drawbridge-browser=',
            ]),
            body: formOf(
              chance,
              {
                transaction,
                email: 'a@b.example',
                password: 'secret',
                action: 'deny',
                user_code: 'BCDF-GHJK',
                second_factor: 'x',
                code: '123456',
                provider: 'google',
                form: 'k1.AAAA',
              },
              ['k1.', 'deny', 'google'],
            ),
          },
        }),
        work: send,
      }),
    )

    it('registration', () =>
      fuzz({
        name: 'registration',
        runs,
        make(chance) {
          const metadata = damaged(
            chance,
            {
              client_name: 'a',
              redirect_uris: [redirectUri],
              token_endpoint_auth_method: 'none',
              grant_types: ['refresh_token'],
              scope: 'mcp',
            },
            [redirectUri, 'https://', 'javascript:'],
          )
          const body = chance.once(10)
            ? hostileText(chance, ['{', '"redirect_uris"', ':', '['])
            : JSON.stringify(metadata)
          return {
            path: '/oauth/register',
            init: { method: 'POST', headers: { 'content-type': 'application/json' }, body },
          }
        },
        work: send,
      }))

    it('registration management', () =>
      fuzz({
        name: 'registration management',
        runs: 500,
        make(chance) {
          const method = chance.pick(['GET', 'PUT', 'DELETE', 'POST'])
          const headers = headersOf(
            chance,
            { authorization: `Bearer mcpm_${'a'.repeat(43)}`, 'content-type': 'application/json' },
            ['Bearer ', 'mcpm_'],
          )
          const id = chance.once(2)
            ? clientId
            : encodeURIComponent(hostileText(chance, [clientId]).replaceAll(/[\ud800-\udfff]/g, ''))
          const body = JSON.stringify(
            damaged(chance, { client_id: clientId, redirect_uris: [redirectUri] }, [clientId]),
          )
          return {
            path: `/oauth/register/${id}`,
            init: { method, headers, ...(method !== 'GET' && { body }) },
          }
        },
        work: send,
      }))

    it('credentials at /mcp', () =>
      fuzz({
        name: 'credentials at /mcp',
        runs: 2 * runs,
        make(chance) {
          const jwt = [
            'eyJhbGciOiJFUzI1NiIsImtpZCI6ImEifQ',
            '.',
            'eyJzdWIiOiJhIiwiZXhwIjoyZTl9',
            'A'.repeat(86),
          ]
          const credential = chance.once(2)
            ? { authorization: `Bearer ${hostileHeader(chance, [...jwt, accessToken, 'mcpa_'])}` }
            : {
                cookie: hostileHeader(chance, [
                  'sb-localhost-auth-token',
                  '=',
                  '.0=',
                  '; ',
                  'base64-',
                  ...jwt,
                  '"',
                ]),
              }
          const headers = headersOf(
            chance,
            { 'content-type': 'application/json', origin: 'http://localhost:8788', ...credential },
            ['null'],
          )
          return {
            path: '/mcp',
            init: { method: 'POST', headers, body: '{"jsonrpc":"2.0","id":1,"method":"tools/list"}' },
          }
        },
        work: send,
      }))

    it('messages at /mcp', () =>
      fuzz({
        name: 'messages at /mcp',
        runs,
        make(chance) {
          const params = damaged(
            chance,
            {
              name: 'whoami',
              arguments: {},
              _meta: { 'io.modelcontextprotocol/protocolVersion': '2026-07-28' },
            },
            ['whoami', '2026-07-28'],
          )
          const method = chance.pick([
            'tools/call',
            'tools/list',
            'initialize',
            'ping',
            'server/discover',
            'subscriptions/listen',
            'prompts/get',
            'resources/read',
            'completion/complete',
            'notifications/cancelled',
          ])
          const message = damaged(chance, { jsonrpc: '2.0', id: 1, method, params }, [
            'tools/call',
            '2.0',
            'whoami',
          ])
          const text = JSON.stringify(chance.once(10) ? [message, message] : message)
          const headers = headersOf(
            chance,
            {
              'content-type': 'application/json',
              accept: 'application/json, text/event-stream',
              ...(chance.once(2) && {
                'mcp-protocol-version': chance.pick(['2025-11-25', '2026-07-28', '2025-03-26']),
              }),
              ...(chance.once(3) && { 'mcp-method': method, 'mcp-name': 'whoami' }),
              ...(chance.once(8) && { 'mcp-session-id': 'a' }),
            },
            ['2026-07-28', 'tools/call', 'text/event-stream'],
          )
          headers.set('authorization', `Bearer ${accessToken}`)
          return {
            path: '/mcp',
            init: { method: 'POST', headers, body: chance.once(10) ? hostileText(chance, [text]) : text },
          }
        },
        async work({ path, init }: Sent) {
          // A stream stays open until its client has disconnected.
          const gone = new AbortController()
          const response = await drawbridge.fetch(path, { ...init, signal: gone.signal })
          if (response.headers.get('content-type')?.startsWith('text/event-stream')) {
            gone.abort()
            await response.body?.cancel().catch(() => {})
          } else if (response.status >= 500 || trace.test(await response.text())) {
            throw new Error(`This is answered ${response.status}.`)
          }
        },
      }))

    it('paths, methods and headers', () =>
      fuzz({
        name: 'paths, methods and headers',
        runs: 2 * runs,
        make(chance) {
          const known = [
            '/oauth',
            '/token',
            '/register',
            '/mcp',
            '/.well-known',
            '/oauth-authorization-server',
            '/account',
            '/connections',
            '/device',
            '/callback',
            '/healthz',
            '?code=',
            '&state=',
          ]
          const path = `/${hostileText(chance, known).replaceAll(/[\r\n\t\0]/g, '')}`
          const method = chance.pick([
            'GET',
            'GET',
            'HEAD',
            'POST',
            'PUT',
            'PATCH',
            'DELETE',
            'OPTIONS',
            'PROPFIND',
          ])
          const headers = headersOf(
            chance,
            {
              host: 'localhost:8787',
              origin: 'http://localhost:6274',
              accept: 'text/html',
              'x-forwarded-for': '10.0.0.1',
              'x-request-id': 'theirs',
              'access-control-request-headers': 'authorization',
              'accept-language': 'de-CH,de;q=0.9,*;q=0.1',
              'if-none-match': '"x"',
            },
            ['localhost:8787', 'evil.example', 'mcp-param-', 'text/html', ',', ';q='],
          )
          return { path, init: { method, headers } }
        },
        async work(sent: Sent) {
          if (URL.canParse(`http://localhost:8787${sent.path}`)) await send(sent)
        },
      }))
  },
)

it('nothing of it was a failure for the log either', () => {
  expect(drawbridge.logged()).not.toMatch(/request_failed|"level":"?(?:error|50)/)
})
