import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type DrawbridgeFixture, redirectUri, startDrawbridge } from '../support/server/drawbridge-fixture.ts'
import type { Chance } from './chance.ts'
import { fuzz } from './fuzz.ts'
import { damaged, hostileHeader, hostileText } from './hostile-text.ts'

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

/** Returns headers with these names, each hostile with a probability of 1 in 12, and absent as often. */
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

/** A test that sends `runs` requests. */
function attack(name: string, runs: number, make: (chance: Chance) => Sent, work = send): void {
  it(name, () => fuzz({ runs, make, work }))
}

const jwt = ['eyJhbGciOiJFUzI1NiIsImtpZCI6ImEifQ', '.', 'eyJzdWIiOiJhIiwiZXhwIjoyZTl9', 'A'.repeat(86)]
const paths =
  '/oauth /token /register /mcp /.well-known /oauth-authorization-server /account /connections /device /callback /healthz ?code= &state='
const mcpMethods =
  'tools/call tools/list initialize ping server/discover subscriptions/listen prompts/get resources/read completion/complete notifications/cancelled'
const deviceGrant = 'urn:ietf:params:oauth:grant-type:device_code'

describe(
  'any request gets a response without a server failure or internal details',
  { timeout: 300_000 },
  () => {
    for (const [name, path, good] of [
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
      ['device code', '/oauth/token', { grant_type: deviceGrant, device_code: 'mcpd_x' }],
      ['revocation', '/oauth/revoke', { token: 'mcpa_x', token_type_hint: 'access_token' }],
      ['introspection', '/oauth/introspect', { token: 'mcpa_x' }],
      ['device authorization', '/oauth/device_authorization', { scope: 'mcp' }],
    ] as const) {
      attack(`form of ${name}`, 400, (chance) => {
        const method = chance.once(30) ? chance.pick(['GET', 'PUT', 'DELETE']) : 'POST'
        const names = { ...form, ...(chance.once(4) && { authorization: 'Basic YTpi' }) }
        const headers = headersOf(chance, names, ['Basic ', 'YTpi', 'Bearer '])
        const fragments = ['mcpa_', 'mcpr_', 'x'.repeat(43), clientId]
        const body = formOf(chance, { client_id: clientId, ...good }, fragments)
        return { path, init: method === 'GET' ? { method } : { method, headers, body } }
      })
    }

    attack('authorization request', 1000, (chance) => {
      const good = Object.fromEntries(drawbridge.authorizeUrl(clientId).searchParams)
      const query = formOf(chance, good, [...Object.values(good), 'none', 'https://evil.example'])
      const names = { accept: 'text/html', cookie: binding }
      return {
        path: `/oauth/authorize?${query}`,
        init: { headers: headersOf(chance, names, ['drawbridge-browser=', '; ']) },
      }
    })

    for (const path of ['/oauth/authorize', '/oauth/device', '/account/connections']) {
      attack(`form of ${path}`, 400, (chance) => {
        const fragments = ['null', 'cross-site', 'drawbridge-browser=']
        const fields = {
          transaction,
          email: 'a@b.example',
          password: 'secret',
          action: 'deny',
          user_code: 'BCDF-GHJK',
          second_factor: 'x',
          code: '123456',
          provider: 'google',
          form: 'k1.AAAA',
        }
        const headers = headersOf(chance, { ...browser, cookie: binding }, fragments)
        return {
          path,
          init: { method: 'POST', headers, body: formOf(chance, fields, ['k1.', 'deny', 'google']) },
        }
      })
    }

    attack('registration', 1000, (chance) => {
      const good = {
        client_name: 'a',
        redirect_uris: [redirectUri],
        token_endpoint_auth_method: 'none',
        grant_types: ['refresh_token'],
        scope: 'mcp',
      }
      const metadata = damaged(chance, good, [redirectUri, 'https://', 'javascript:'])
      const body = chance.once(10)
        ? hostileText(chance, ['{', '"redirect_uris"', ':', '['])
        : JSON.stringify(metadata)
      const headers = { 'content-type': 'application/json' }
      return { path: '/oauth/register', init: { method: 'POST', headers, body } }
    })

    attack('registration management', 500, (chance) => {
      const method = chance.pick(['GET', 'PUT', 'DELETE', 'POST'])
      const names = { authorization: `Bearer mcpm_${'a'.repeat(43)}`, 'content-type': 'application/json' }
      const headers = headersOf(chance, names, ['Bearer ', 'mcpm_'])
      const id = chance.once(2)
        ? clientId
        : encodeURIComponent(hostileText(chance, [clientId]).replaceAll(/[\ud800-\udfff]/g, ''))
      const good = { client_id: clientId, redirect_uris: [redirectUri] }
      const body = JSON.stringify(damaged(chance, good, [clientId]))
      return { path: `/oauth/register/${id}`, init: { method, headers, ...(method !== 'GET' && { body }) } }
    })

    attack('credentials at /mcp', 2000, (chance) => {
      const cookies = ['sb-localhost-auth-token', '=', '.0=', '; ', 'base64-', ...jwt, '"']
      const credential = chance.once(2)
        ? { authorization: `Bearer ${hostileHeader(chance, [...jwt, accessToken, 'mcpa_'])}` }
        : { cookie: hostileHeader(chance, cookies) }
      const names = { 'content-type': 'application/json', origin: 'http://localhost:8788', ...credential }
      const body = '{"jsonrpc":"2.0","id":1,"method":"tools/list"}'
      return { path: '/mcp', init: { method: 'POST', headers: headersOf(chance, names, ['null']), body } }
    })

    attack(
      'messages at /mcp',
      1000,
      (chance) => {
        const good = {
          name: 'whoami',
          arguments: {},
          _meta: { 'io.modelcontextprotocol/protocolVersion': '2026-07-28' },
        }
        const method = chance.pick(mcpMethods.split(' '))
        const request = {
          jsonrpc: '2.0',
          id: 1,
          method,
          params: damaged(chance, good, ['whoami', '2026-07-28']),
        }
        const message = damaged(chance, request, ['tools/call', '2.0', 'whoami'])
        const text = JSON.stringify(chance.once(10) ? [message, message] : message)
        const revision = chance.pick(['2025-11-25', '2026-07-28', '2025-03-26'])
        const names = {
          'content-type': 'application/json',
          accept: 'application/json, text/event-stream',
          ...(chance.once(2) && { 'mcp-protocol-version': revision }),
          ...(chance.once(3) && { 'mcp-method': method, 'mcp-name': 'whoami' }),
          ...(chance.once(8) && { 'mcp-session-id': 'a' }),
        }
        const headers = headersOf(chance, names, ['2026-07-28', 'tools/call', 'text/event-stream'])
        headers.set('authorization', `Bearer ${accessToken}`)
        const body = chance.once(10) ? hostileText(chance, [text]) : text
        return { path: '/mcp', init: { method: 'POST', headers, body } }
      },
      async ({ path, init }) => {
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
    )

    attack(
      'paths, methods and headers',
      2000,
      (chance) => {
        const path = `/${hostileText(chance, paths.split(' ')).replaceAll(/[\r\n\t\0]/g, '')}`
        const method = chance.pick('GET GET HEAD POST PUT PATCH DELETE OPTIONS PROPFIND'.split(' '))
        const names = {
          host: 'localhost:8787',
          origin: 'http://localhost:6274',
          accept: 'text/html',
          'x-forwarded-for': '10.0.0.1',
          'x-request-id': 'theirs',
          'access-control-request-headers': 'authorization',
          'accept-language': 'de-CH,de;q=0.9,*;q=0.1',
          'if-none-match': '"x"',
        }
        const fragments = ['localhost:8787', 'evil.example', 'mcp-param-', 'text/html', ',', ';q=']
        return { path, init: { method, headers: headersOf(chance, names, fragments) } }
      },
      async (sent) => {
        if (URL.canParse(`http://localhost:8787${sent.path}`)) await send(sent)
      },
    )
  },
)

it('no request of the fuzzer is logged as a failure', () => {
  expect(drawbridge.logged()).not.toMatch(/request_failed|"level":"?(?:error|50)/)
})
