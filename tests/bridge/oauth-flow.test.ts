import { parseWwwAuthenticate } from '@drawbridge/shared/oauth/www-authenticate.ts'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Credential } from '../../bridge/credentials/credential.ts'
import type { HttpClient } from '../../bridge/http/http-client.ts'
import type { SignInPrompt, SignInRequest } from '../../bridge/oauth/login-port.ts'
import type { OAuthConfig } from '../../bridge/oauth/oauth-config.ts'
import { createSignInFlow } from '../../bridge/oauth/grants/sign-in-flow.ts'
import { createTestHttp, oauthConfig } from '../support/bridge/oauth/oauth-ports.ts'
import { visit } from '../support/bridge/oauth/scripted-browser.ts'
import { revokeTokens } from '../../bridge/oauth/login/sign-out.ts'
import { refreshTokens } from '../../bridge/oauth/tokens/token-request.ts'
import { type Listener, listen } from '../../server/http/listener/listener.ts'
import { account, type DrawbridgeFixture, startDrawbridge } from '../support/server/drawbridge-fixture.ts'
import { freePort } from '../support/server/free-port.ts'

let drawbridge: DrawbridgeFixture
let listener: Listener
let http: HttpClient
let serverUrl: string
beforeAll(async () => {
  const port = await freePort()
  const baseUrl = `http://127.0.0.1:${port}`
  serverUrl = `${baseUrl}/mcp`
  drawbridge = await startDrawbridge({ baseUrl })
  listener = await listen((...request) => drawbridge.app.fetch(...request), { host: '127.0.0.1', port })
  http = createTestHttp()
})
afterAll(async () => {
  http.close()
  await listener.close()
  await drawbridge.close()
})

interface SignedIn {
  credential: Credential
  page: { status: number; html: string } | undefined
}

/** Signs in as the person of the fixture, by the clock of the server. */
async function signIn(changes: Partial<OAuthConfig> = {}, request: SignInRequest = {}): Promise<SignedIn> {
  const { runtime } = drawbridge
  const flow = createSignInFlow(oauthConfig(serverUrl, changes), { http, runtime })
  let page: Promise<SignedIn['page']> = Promise.resolve(undefined)
  const prompted = (prompt: SignInPrompt): void => {
    page = allow(prompt)
    page.catch(() => undefined)
  }
  const credential = await flow(request, prompted, new AbortController().signal)
  return { credential, page: await page }
}

async function allow(prompt: SignInPrompt): Promise<SignedIn['page']> {
  const browser = drawbridge.browser()
  const first = await browser.visit(prompt.url)
  if (prompt.kind === 'device') {
    const login = await browser.submit(first, 'user_code', { user_code: prompt.userCode })
    const { html, response } = await browser.submit(login, 'password', account)
    return { status: response?.status ?? 0, html }
  }
  const { url } = await browser.submit(first, 'password', account)
  return await visit(url.href)
}

function authorized(credential: Credential): Promise<Response> {
  const headers = { authorization: `Bearer ${credential.tokens?.accessToken}` }
  return drawbridge.mcp({ jsonrpc: '2.0', id: 1, method: 'tools/list' }, headers)
}

describe('the bridge at this authorization server', () => {
  it('the bridge goes from the challenge to a token that /mcp takes', async () => {
    const refused = await drawbridge.mcp({ jsonrpc: '2.0', id: 1, method: 'tools/list' })
    const [challenge] = parseWwwAuthenticate(refused.headers.get('www-authenticate') ?? '')
    const resourceMetadata = challenge?.params.get('resource_metadata') ?? ''
    const challengeScope = challenge?.params.get('scope') ?? ''
    const { credential, page } = await signIn({}, { resourceMetadata, challengeScope })
    expect(page).toMatchObject({ status: 200 })
    expect(page?.html).toContain('You are signed in')
    expect(credential).toMatchObject({
      resource: serverUrl,
      client: { origin: 'dynamic', tokenEndpointAuthMethod: 'none' },
    })
    expect(credential.tokens?.refreshToken).toBeTypeOf('string')
    expect((await authorized(credential)).status).toBe(200)
  })

  it('the bridge renews and revokes its tokens', async () => {
    const { credential } = await signIn()
    const ports = { http, runtime: drawbridge.runtime }
    const config = oauthConfig(serverUrl)
    const context = { ...ports, config, signal: new AbortController().signal }
    const answer = await refreshTokens(credential, context)
    if (answer.kind !== 'issued') throw new Error(`The refresh was ${answer.kind}.`)
    const renewed = { ...credential, tokens: answer.tokens }
    expect((await authorized(renewed)).status).toBe(200)
    expect(await revokeTokens(renewed, config, ports)).toBe(true)
    expect((await authorized(renewed)).status).toBe(401)
    expect(await refreshTokens(renewed, context)).toMatchObject({ kind: 'refused' })
  })

  it('the bridge signs in with a code on another device', async () => {
    const { credential } = await signIn({ grant: 'device_code' })
    expect((await authorized(credential)).status).toBe(200)
  })
})
