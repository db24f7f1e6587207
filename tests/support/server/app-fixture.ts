import { createHmac, randomUUID } from 'node:crypto'
import type { Settings } from '../../../server/config/setting-table.ts'
import type { ToolModule } from '../../../server/mcp/tools/tool-module.ts'
import {
  appUrl,
  baseUrl,
  type DrawbridgeFixture,
  startDrawbridge,
  type Tokens,
} from './drawbridge-fixture.ts'
import type { Browser } from './browser.ts'
import { createFakeRuntime, type FakeRuntime } from './fake-runtime.ts'

/** What `PROVIDER=app` shares with the web app in tests. Its last letter has two bytes, as a key is bytes. */
export const appSecret = 'a secret of the web app, 32 bytés'

export const sessionUrl = `${appUrl}/api/session/`

export const appSettings: Settings = {
  provider: 'app',
  signInUrl: `${appUrl}/connect`,
  signInSecret: appSecret,
  secretKeys: `test:${Buffer.alloc(32, 7).toString('base64')}`,
}

export type JwtKind = 'user' | 'session' | 'end'

/** Signs a JWT as the web app does; `claims` and `header` replace what it says, `undefined` takes it out. */
export function appJwt(
  kind: JwtKind,
  now: number,
  claims: Record<string, unknown> = {},
  { header = {}, secret = appSecret }: { header?: Record<string, unknown>; secret?: string } = {},
): string {
  const head = { alg: 'HS256', typ: `drawbridge-${kind}+jwt`, ...header }
  const body = { aud: baseUrl, sub: 'ada', iat: now, exp: now + 60, jti: randomUUID(), ...claims }
  const signed = [head, body].map((part) => Buffer.from(JSON.stringify(part)).toString('base64url')).join('.')
  return `${signed}.${createHmac('sha256', secret).update(signed).digest('base64url')}`
}

export const ada = { email: 'ada@example.com', email_verified: true, name: 'Ada', claims: { role: 'editor' } }

/** What SESSION_URL answers to a request; undefined: the app cannot be reached. */
type SessionAnswer = (request: Request) => Response | undefined | Promise<Response | undefined>

export interface AppFixture {
  server: DrawbridgeFixture
  runtime: FakeRuntime
  /** Requests to SESSION_URL, oldest first. */
  asked: Request[]
  /** Changes what SESSION_URL answers. */
  answerWith(answer: SessionAnswer): void
  /** Begins a sign-in of a client in a browser, and returns what the page of the app gets. */
  begin(clientId: string, browser?: Browser): Promise<string>
  allow(request: string, jwt: string): Promise<Response>
  /** Connects a client as the user of a JWT with `claims`. */
  connect(claims?: Record<string, unknown>): Promise<{ clientId: string; tokens: Tokens }>
  /** Returns the status of a call with an access token. */
  call(accessToken: string): Promise<number>
}

/** Starts a Drawbridge in memory in front of a web app with sessions of its own. */
export async function startAppFixture(
  settings: Settings = {},
  tools?: ToolModule,
  onFetch: (request: Request) => Promise<Response> = () => Promise.reject(new TypeError('fetch failed')),
): Promise<AppFixture> {
  let answer: SessionAnswer = () => undefined
  const asked: Request[] = []
  const runtime: FakeRuntime = {
    ...createFakeRuntime(),
    async fetch(request) {
      if (!request.url.startsWith(sessionUrl)) return onFetch(request)
      asked.push(request)
      const response = await answer(request)
      if (!response) throw new TypeError('fetch failed')
      return response
    },
  }
  const server = await startDrawbridge({ ...appSettings, ...settings }, runtime, tools)
  const fixture: AppFixture = {
    server,
    runtime,
    asked,
    answerWith: (next) => void (answer = next),
    async begin(clientId, browser = server.browser()) {
      const { url } = await browser.visit(server.authorizeUrl(clientId))
      return url.searchParams.get('request') ?? ''
    },
    allow: (request, jwt) =>
      server.fetch('/oauth/app', {
        method: 'POST',
        headers: { 'content-type': 'application/json', authorization: `Bearer ${jwt}` },
        body: JSON.stringify({ request, allow: true }),
      }),
    async connect(claims = ada) {
      const { client_id: clientId } = await server.register()
      const browser = server.browser()
      const answered = await fixture.allow(
        await fixture.begin(clientId, browser),
        appJwt('user', runtime.now(), claims),
      )
      const { redirect_to: back } = (await answered.json()) as { redirect_to: string }
      const { url } = await browser.visit(new URL(back))
      const redeemed = await server.redeem(clientId, url.searchParams.get('code') ?? '')
      return { clientId, tokens: (await redeemed.json()) as Tokens }
    },
    async call(accessToken) {
      const message = { jsonrpc: '2.0', id: 1, method: 'tools/list' }
      return (await server.mcp(message, { authorization: `Bearer ${accessToken}` })).status
    },
  }
  return fixture
}
