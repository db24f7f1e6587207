import { createCodeVerifier, deriveCodeChallenge } from '@drawbridge/shared/oauth/pkce.ts'
import { type App, createApp } from '../../../server/startup/app.ts'
import { createConfig } from './config-sample.ts'
import type { Settings } from '../../../server/config/setting-table.ts'
import { createLog } from '../../../server/observability/log.ts'
import type { ToolModule } from '../../../server/mcp/tools/tool-module.ts'
import { type Served, serveModule } from '../../../server/startup/open-tools.ts'
import { type Browser, createBrowser, type Visit } from './browser.ts'
import { createSandbox } from '../../../server/sandbox/sandbox.ts'
import { type ControlledProvider, createControlledProvider } from '../sandbox/controlled-provider.ts'
import type { ProviderAdmin } from '../sandbox/provider-admin.ts'
import { createFakeRuntime, type FakeRuntime } from './fake-runtime.ts'

/** Apparent origin of the system under test. */
export const baseUrl = 'http://localhost:8787'

/** Apparent origin of the demo web app and the embedded provider. */
export const appUrl = 'http://localhost:8788'

/** Redirect URI of the test client; no program listens there. */
export const redirectUri = 'http://127.0.0.1:4711/callback'

/** The account that every fixture has. */
export const account = { email: 'ada@example.com', password: 'correct horse battery' } as const

/** Response of the token endpoint. */
export interface Tokens {
  access_token: string
  refresh_token: string
  expires_in: number
  scope: string
}

/** A whole Drawbridge in memory, reached by requests instead of sockets. */
export interface DrawbridgeFixture {
  app: App
  /** The embedded provider's admin; throws when another provider is configured. */
  readonly admin: ProviderAdmin
  runtime: FakeRuntime
  /** Returns the whole log as text. */
  logged: () => string
  /** Returns the lines of the log about one event. */
  events: (name: string) => Record<string, unknown>[]
  /** `languages`: its Accept-Language. */
  browser(languages?: string): Browser
  fetch(path: string, init?: RequestInit): Promise<Response>
  postForm(path: string, fields: Record<string, string>, headers?: Record<string, string>): Promise<Response>
  register(metadata?: Record<string, unknown>): Promise<{ client_id: string; client_secret?: string }>
  authorizeUrl(clientId: string, parameters?: Record<string, string>): URL
  /** Opens the login page of a new request and signs in with the fixture's account. */
  signIn(clientId: string, browser?: Browser, parameters?: Record<string, string>): Promise<Visit>
  /** Returns a code that can be redeemed with the PKCE verifier of the fixture. */
  code(clientId: string, parameters?: Record<string, string>): Promise<string>
  redeem(clientId: string, code: string, fields?: Record<string, string>): Promise<Response>
  refresh(clientId: string, refreshToken: string, fields?: Record<string, string>): Promise<Response>
  /** Registers, signs in with `parameters` of the request, and redeems. */
  connect(parameters?: Record<string, string>): Promise<{ clientId: string; tokens: Tokens }>
  mcp(message: unknown, headers?: Record<string, string>): Promise<Response>
  callTool(accessToken: string, name: string, input?: unknown): Promise<{ text: string; isError: boolean }>
  close(): Promise<void>
}

/** PKCE verifier of every authorization request of the fixture. */
export const codeVerifier: string = createCodeVerifier((length) => new Uint8Array(length).fill(7))

const codeChallenge = await deriveCodeChallenge(codeVerifier)

/** Starts a fixture with its account. By default uses a store in memory and the tools of the demo. */
export async function startDrawbridge(
  settings: Settings = {},
  runtime: FakeRuntime = createFakeRuntime(),
  tools?: ToolModule | Served,
): Promise<DrawbridgeFixture> {
  const lines: string[] = []
  const log = createLog('debug', { write: (line) => void lines.push(line) })
  const config = createConfig({ baseUrl, appUrl, store: 'memory:', ...settings }, { production: false })
  let provider: ControlledProvider | undefined
  const app = createApp(config, runtime, log, tools && 'open' in tools ? tools : serveModule(config, tools), {
    loadSandbox: async (...given) =>
      createSandbox(...given, (...wanted) => (provider = createControlledProvider(...wanted))),
  })
  const { sandbox } = app
  await sandbox?.ready
  if (provider?.admin.findUser(account.email) === undefined) await provider?.admin.createUser(account)
  const base = new URL(config.baseUrl)

  function send(request: Request): Promise<Response> | undefined {
    const { origin } = new URL(request.url)
    if (origin === base.origin) return app.fetch(request)
    return origin === new URL(config.appUrl).origin ? sandbox?.fetch(request) : undefined
  }

  const fixture: DrawbridgeFixture = {
    app,
    get admin() {
      if (!provider) throw new Error('The embedded provider is not configured.')
      return provider.admin
    },
    runtime,
    logged: () => lines.join(''),
    events: (name) =>
      lines.flatMap((line) => {
        const fields = JSON.parse(line) as Record<string, unknown>
        return fields['event'] === name ? [fields] : []
      }),
    browser: (languages) => createBrowser(send, languages),
    fetch: (path, init) => app.fetch(new Request(config.baseUrl + path, init)),
    postForm: (path, fields, headers = {}) =>
      fixture.fetch(path, {
        method: 'POST',
        headers: { 'content-type': 'application/x-www-form-urlencoded', ...headers },
        body: new URLSearchParams(fields).toString(),
      }),
    async register(metadata = {}) {
      const response = await fixture.fetch('/oauth/register', {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({
          client_name: 'Test client',
          redirect_uris: [redirectUri],
          token_endpoint_auth_method: 'none',
          ...metadata,
        }),
      })
      if (response.status !== 201) throw new Error(`Registration answered ${response.status}.`)
      return (await response.json()) as { client_id: string; client_secret?: string }
    },
    authorizeUrl(clientId, parameters = {}) {
      const url = new URL(`${config.baseUrl}/oauth/authorize`)
      url.search = new URLSearchParams({
        response_type: 'code',
        client_id: clientId,
        redirect_uri: redirectUri,
        state: 'state-1',
        scope: 'mcp',
        resource: `${config.baseUrl}/mcp`,
        code_challenge: codeChallenge,
        code_challenge_method: 'S256',
        ...parameters,
      }).toString()
      return url
    },
    async signIn(clientId, browser = fixture.browser(), parameters = {}) {
      const login = await browser.visit(fixture.authorizeUrl(clientId, parameters))
      return browser.submit(login, 'password', account)
    },
    async code(clientId, parameters) {
      const { url } = await fixture.signIn(clientId, undefined, parameters)
      const code = url.searchParams.get('code')
      if (code === null) throw new Error(`Signing in ended at ${url.origin}${url.pathname} without a code.`)
      return code
    },
    redeem: (clientId, code, fields = {}) =>
      fixture.postForm('/oauth/token', {
        grant_type: 'authorization_code',
        client_id: clientId,
        code,
        code_verifier: codeVerifier,
        redirect_uri: redirectUri,
        ...fields,
      }),
    refresh: (clientId, refreshToken, fields = {}) =>
      fixture.postForm('/oauth/token', {
        grant_type: 'refresh_token',
        client_id: clientId,
        refresh_token: refreshToken,
        ...fields,
      }),
    async connect(parameters) {
      const { client_id: clientId } = await fixture.register()
      const response = await fixture.redeem(clientId, await fixture.code(clientId, parameters))
      return { clientId, tokens: (await response.json()) as Tokens }
    },
    mcp: (message, headers = {}) =>
      fixture.fetch('/mcp', {
        method: 'POST',
        headers: {
          'content-type': 'application/json',
          accept: 'application/json, text/event-stream',
          ...headers,
        },
        body: typeof message === 'string' ? message : JSON.stringify(message),
      }),
    async callTool(accessToken, name, input = {}) {
      const message = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name, arguments: input } }
      const response = await fixture.mcp(message, { authorization: `Bearer ${accessToken}` })
      if (response.status !== 200) throw new Error(`tools/call answered ${response.status}.`)
      const { result } = (await response.json()) as {
        result: { content: { text: string }[]; isError?: boolean }
      }
      return { text: result.content.map(({ text }) => text).join('\n'), isError: result.isError === true }
    },
    close: () => app.close(),
  }
  return fixture
}
