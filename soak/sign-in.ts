import { randomBytes } from 'node:crypto'
import { createCodeVerifier, deriveCodeChallenge } from '@drawbridge/shared/oauth/pkce.ts'
import { createBrowser } from '../tests/support/server/browser.ts'
import { type ClientTokens, type SystemUnderTest, tokenRequest, tokensOf } from './client.ts'
import { exchange } from './exchange.ts'

const redirectUri = 'http://127.0.0.1:4711/callback'

/** Registers a public client at any instance and returns its id. */
export async function registerClient(system: Omit<SystemUnderTest, 'clientId'>): Promise<string> {
  const { status, text } = await exchange(system.anyPort(), {
    method: 'POST',
    path: '/oauth/register',
    headers: { host: new URL(system.baseUrl).host, 'content-type': 'application/json' },
    body: JSON.stringify({ redirect_uris: [redirectUri], token_endpoint_auth_method: 'none' }),
  })
  if (status !== 201) throw new Error(`Registering answered ${status}: ${text}`)
  return (JSON.parse(text) as { client_id: string }).client_id
}

/** Signs in on the login page with a separate browser. Every request goes to another instance. */
export async function signIn(
  system: SystemUnderTest,
  account: { email: string; password: string },
): Promise<ClientTokens> {
  const codeVerifier = createCodeVerifier((length) => randomBytes(length))
  const browser = createBrowser((request) =>
    new URL(request.url).origin === system.baseUrl ? forward(request, system) : undefined,
  )
  const login = new URL(`${system.baseUrl}/oauth/authorize`)
  login.search = new URLSearchParams({
    response_type: 'code',
    client_id: system.clientId,
    redirect_uri: redirectUri,
    scope: 'mcp offline_access',
    resource: `${system.baseUrl}/mcp`,
    code_challenge: await deriveCodeChallenge(codeVerifier),
    code_challenge_method: 'S256',
  }).toString()
  const page = await browser.visit(login)
  const { url, response, html } = await browser.submit(page, 'password', account)
  const code = url.searchParams.get('code')
  if (code === null) throw new Error(`Signing in ended with ${response?.status}: ${html.slice(0, 2000)}`)
  const sentAt = Date.now()
  const { status, text } = await exchange(
    system.anyPort(),
    tokenRequest(system, {
      grant_type: 'authorization_code',
      code,
      code_verifier: codeVerifier,
      redirect_uri: redirectUri,
    }),
  )
  if (status !== 200) throw new Error(`Redeeming the code answered ${status}: ${text}`)
  return tokensOf(text, sentAt)
}

async function forward(request: Request, system: SystemUnderTest): Promise<Response> {
  const { pathname, search, host } = new URL(request.url)
  const answer = await exchange(system.anyPort(), {
    method: request.method,
    path: pathname + search,
    headers: { ...Object.fromEntries(request.headers), host },
    ...(request.method === 'POST' && { body: await request.text() }),
  })
  const headers = new Headers()
  for (const [name, value] of Object.entries(answer.headers)) {
    for (const one of [value ?? []].flat()) headers.append(name, one)
  }
  const bodiless = answer.status === 204 || answer.status === 304
  return new Response(bodiless ? null : answer.text, { status: answer.status, headers })
}
