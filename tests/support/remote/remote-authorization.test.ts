import { randomUUID } from 'node:crypto'
import { UnauthorizedError } from '@modelcontextprotocol/sdk/client/auth.js'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { createCodeVerifier, deriveCodeChallenge } from '@drawbridge/shared/oauth/pkce.ts'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { MemoryOAuthProvider } from '../../e2e/memory-oauth-provider.ts'
import { startRemote } from './remote.ts'
import type { Remote, RemoteOptions } from './remote.ts'

let remote: Remote | undefined
afterEach(() => remote?.close())

async function start(options: RemoteOptions = {}): Promise<Remote> {
  remote = await startRemote({ auth: true, ...options })
  return remote
}

async function post(
  url: string,
  form: Record<string, string>,
): Promise<{ status: number; body: Record<string, string> }> {
  const answer = await fetch(url, { method: 'POST', body: new URLSearchParams(form) })
  const text = await answer.text()
  return {
    status: answer.status,
    body: text.startsWith('{') ? (JSON.parse(text) as Record<string, string>) : {},
  }
}

async function mcpStatus(remote: Remote, token?: string, name = 'echo'): Promise<number> {
  const answer = await fetch(remote.url, {
    method: 'POST',
    headers: {
      Accept: 'application/json, text/event-stream',
      ...(token === undefined ? {} : { Authorization: `Bearer ${token}` }),
    },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name } }),
  })
  await answer.body?.cancel()
  return answer.status
}

/** The query of the redirect that a browser would follow. */
async function authorize(remote: Remote, changes: Record<string, string> = {}): Promise<URLSearchParams> {
  const query = new URLSearchParams({
    response_type: 'code',
    state: 's',
    code_challenge_method: 'S256',
    ...changes,
  })
  const answer = await fetch(`${remote.issuer}/authorize?${query.toString()}`, { redirect: 'manual' })
  expect(answer.status).toBe(302)
  return new URL(answer.headers.get('location') ?? '').searchParams
}

describe('the authorization server', () => {
  it.each([false, true])(
    'lets the client of SDK v1 sign in; own origin: %s',
    async (ownAuthorizationServer) => {
      const remote = await start({ ownAuthorizationServer })
      const provider = new MemoryOAuthProvider()
      const connect = async (): Promise<Client> => {
        const client = new Client({ name: 'client', version: '1.0.0' })
        await client.connect(
          new StreamableHTTPClientTransport(new URL(remote.url), { authProvider: provider }),
        )
        return client
      }
      const refused = new StreamableHTTPClientTransport(new URL(remote.url), { authProvider: provider })
      await expect(new Client({ name: 'c', version: '1' }).connect(refused)).rejects.toThrow(
        UnauthorizedError,
      )
      const answer = await fetch(provider.authorizationUrls[0] as URL, { redirect: 'manual' })
      const callback = new URL(answer.headers.get('location') ?? '').searchParams
      expect(callback.get('iss')).toBe(remote.issuer)
      await refused.finishAuth(callback.get('code') ?? '')
      const client = await connect()
      expect((await client.listTools()).tools.length).toBeGreaterThan(5)
      expect(remote.counters).toMatchObject({ registrations: 1, codeGrants: 1, tabs: 1 })
      remote.revokeAccessTokens()
      expect((await client.callTool({ name: 'echo', arguments: { text: 'x' } })).content).toEqual([
        { type: 'text', text: 'x' },
      ])
      expect(remote.counters).toMatchObject({ refreshesOk: 1, refreshesReused: 0 })
      expect(remote.secrets).toContain(provider.savedTokens.at(-1)?.refresh_token)
      await client.close()
    },
  )

  it('rotates, sees a reuse and ends the grant', async () => {
    const remote = await start({ sessions: false })
    const { client_id, refresh_token = '', access_token } = remote.issueTokens()
    expect(await mcpStatus(remote, access_token)).toBe(200)
    const form = { grant_type: 'refresh_token', client_id, refresh_token }
    const first = await post(`${remote.issuer}/token`, form)
    expect(first.status).toBe(200)
    expect(await mcpStatus(remote, first.body['access_token'])).toBe(200)
    expect((await post(`${remote.issuer}/token`, form)).status).toBe(400)
    expect(await mcpStatus(remote, first.body['access_token'])).toBe(401)
    const successor = { ...form, refresh_token: first.body['refresh_token'] ?? '' }
    expect((await post(`${remote.issuer}/token`, successor)).body).toMatchObject({ error: 'invalid_grant' })
    expect(remote.counters).toMatchObject({ refreshesOk: 1, refreshesReused: 1, refreshesRefused: 1 })
  })

  it('answers a repeat within the grace with the same successor', async () => {
    const remote = await start({ graceSeconds: 60, expiresIn: false })
    const { client_id, refresh_token = '' } = remote.issueTokens()
    const form = { grant_type: 'refresh_token', client_id, refresh_token }
    const [one, other] = await Promise.all([
      post(`${remote.issuer}/token`, form),
      post(`${remote.issuer}/token`, form),
    ])
    expect(one.body).toEqual(other.body)
    expect(one.body).not.toHaveProperty('expires_in')
    expect(remote.counters).toMatchObject({ refreshesOk: 1, refreshesReplayed: 1, refreshesReused: 0 })
  })

  it('challenges, and asks for more scope', async () => {
    const remote = await start({ sessions: false, tokenTtlSeconds: 60 })
    expect(await mcpStatus(remote)).toBe(401)
    const { access_token } = remote.issueTokens()
    expect(await mcpStatus(remote, access_token, 'admin')).toBe(403)
    expect(
      await mcpStatus(remote, remote.issueTokens({ scope: 'mcp mcp:admin' }).access_token, 'admin'),
    ).toBe(200)
    expect(remote.counters).toMatchObject({ unauthorized: 1, forbidden: 1 })
  })

  it('checks the code, its verifier and the redirect', async () => {
    const remote = await start()
    const { clientId } = remote.addClient({ redirectUris: ['http://127.0.0.1/callback'] })
    const verifier = createCodeVerifier((length) => crypto.getRandomValues(new Uint8Array(length)))
    const redirect_uri = 'http://127.0.0.1:5555/callback'
    const request = { client_id: clientId, redirect_uri, code_challenge: await deriveCodeChallenge(verifier) }
    const form = {
      grant_type: 'authorization_code',
      client_id: clientId,
      redirect_uri,
      code_verifier: verifier,
    }
    const code = (await authorize(remote, request)).get('code') ?? ''
    expect(
      (await post(`${remote.issuer}/token`, { ...form, code, code_verifier: 'x'.repeat(43) })).status,
    ).toBe(400)
    expect((await post(`${remote.issuer}/token`, { ...form, code })).status).toBe(400)
    const next = (await authorize(remote, request)).get('code') ?? ''
    expect((await post(`${remote.issuer}/token`, { ...form, code: next })).status).toBe(200)
    remote.forgetClients()
    expect((await post(`${remote.issuer}/token`, { ...form, code: next })).status).toBe(401)
    expect(remote.counters.tokenErrors).toEqual({ invalid_grant: 2, invalid_client: 1 })
  })

  it.each([
    { settings: { approval: 'deny' }, expected: { error: 'access_denied' } },
    { settings: { iss: 'wrong' }, expected: { iss: 'https://other.example' } },
    { settings: { resourceParameter: false }, expected: { error: 'invalid_target' } },
  ] as const)('redirects with $expected', async ({ settings, expected }) => {
    const remote = await start(settings)
    const client_id = remote.addClient({ redirectUris: ['http://127.0.0.1/callback'] }).clientId
    const request = {
      client_id,
      redirect_uri: 'http://127.0.0.1/callback',
      code_challenge: 'x',
      resource: 'y',
    }
    expect(Object.fromEntries(await authorize(remote, request))).toMatchObject(expected)
  })

  it('waits for a person', async () => {
    const remote = await start({ approval: 'wait' })
    const client_id = remote.addClient({ redirectUris: ['http://127.0.0.1/callback'] }).clientId
    const waiting = authorize(remote, {
      client_id,
      redirect_uri: 'http://127.0.0.1/callback',
      code_challenge: 'x',
    })
    const device = await post(`${remote.issuer}/device_authorization`, { client_id })
    const form = {
      grant_type: 'urn:ietf:params:oauth:grant-type:device_code',
      client_id,
      device_code: device.body['device_code'] ?? '',
    }
    expect((await post(`${remote.issuer}/token`, form)).body['error']).toBe('authorization_pending')
    await vi.waitFor(() => expect(remote.counters.tabs).toBe(1))
    remote.approve()
    expect((await waiting).has('code')).toBe(true)
    expect((await post(`${remote.issuer}/token`, form)).status).toBe(200)
    expect(remote.counters.deviceGrants).toBe(1)
  })

  it('grants client credentials and revokes', async () => {
    const remote = await start({ sessions: false })
    const { clientId, clientSecret = '' } = remote.addClient({ clientSecret: randomUUID() })
    const client = { client_id: clientId, client_secret: clientSecret }
    const answer = await post(`${remote.issuer}/token`, { grant_type: 'client_credentials', ...client })
    const token = answer.body['access_token'] ?? ''
    expect(await mcpStatus(remote, token)).toBe(200)
    expect((await post(`${remote.issuer}/revoke`, { token, ...client })).status).toBe(200)
    expect(await mcpStatus(remote, token)).toBe(401)
    expect(remote.counters).toMatchObject({ clientCredentialsGrants: 1, revocations: 1 })
  })

  it('loses the answer of /token when asked to, after the rotation', async () => {
    const remote = await start({ tokenAnswerLost: true, graceSeconds: 60 })
    remote.failNextToken('reset')
    const { client_id, refresh_token = '' } = remote.issueTokens()
    const form = { grant_type: 'refresh_token', client_id, refresh_token }
    await expect(post(`${remote.issuer}/token`, form)).rejects.toThrow()
    expect((await post(`${remote.issuer}/token`, form)).status).toBe(200)
    expect(remote.counters).toMatchObject({ refreshesOk: 1, refreshesReplayed: 1 })
  })
})
