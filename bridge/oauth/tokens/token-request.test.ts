import { describe, expect, it } from 'vitest'
import type { ClientIdentity, Credential } from '../../credentials/credential.ts'
import type { OAuthConfig } from '../oauth-config.ts'
import { oauthContext } from '../../../tests/support/bridge/oauth/oauth-ports.ts'
import { type Reply, loginAt, openOAuthServer } from '../../../tests/support/bridge/oauth/oauth-server.ts'
import { serveHttp } from '../../../tests/support/bridge/http/server-fixture.ts'
import type { TokenAnswer } from './token-response.ts'
import { refreshTokens } from './token-request.ts'

const { server, http } = await openOAuthServer()

function credential(changes: Partial<Credential> = {}, client: Partial<ClientIdentity> = {}): Credential {
  const tokens = { accessToken: 'acc3ss', refreshToken: 'r3fresh', issuedAt: 0, scope: 'mcp' }
  const resource = 'https://mcp.example/mcp'
  return loginAt(server, { clientId: 'id', ...client }, { resource, tokens, ...changes })
}

function refresh(
  used: Credential,
  changes: Partial<OAuthConfig> = {},
  signal?: AbortSignal,
): Promise<TokenAnswer> {
  return refreshTokens(used, oauthContext(http, server.serverUrl, changes, signal))
}

/** Answers the next token requests in turn, then as usual. */
function answer(...replies: Reply[]): void {
  server.answers.set('/token', () => replies.shift())
}

const refused = (error: string, description: string): Reply => ({
  status: 400,
  body: { error, error_description: description },
})

describe('a refresh', () => {
  it('a refresh sends the refresh token, the client and the exact resource', async () => {
    expect(await refresh(credential())).toMatchObject({ kind: 'issued', quirks: {} })
    expect(server.seen.map(({ form }) => Object.fromEntries(form))).toEqual([
      {
        grant_type: 'refresh_token',
        refresh_token: 'r3fresh',
        client_id: 'id',
        resource: 'https://mcp.example/mcp',
      },
    ])
  })

  it('a refresh leaves the resource out if there is none, or the user disabled it', async () => {
    const { resource: _none, ...without } = credential()
    await refresh(without)
    await refresh(credential(), { sendResource: false })
    expect(server.seen.map(({ form }) => form.has('resource'))).toEqual([false, false])
  })

  it('a refresh is repeated without a refused resource, and remembers that', async () => {
    answer(refused('invalid_request', 'AADSTS9010010: The resource parameter does not match.'))
    const first = await refresh(credential())
    expect(first).toMatchObject({ kind: 'issued', quirks: { refusesResource: true } })
    await refresh(credential({ quirks: { refusesResource: true } }))
    expect(server.seen.map(({ form }) => form.has('resource'))).toEqual([true, false, false])
  })

  it('a refresh is repeated with a required scope, and remembers that', async () => {
    answer(refused('invalid_request', 'AADSTS90009: Application is requesting a token for itself.'))
    const first = await refresh(credential())
    expect(first).toMatchObject({ kind: 'issued', quirks: { wantsScopeAtRefresh: true } })
    await refresh(credential({ quirks: { wantsScopeAtRefresh: true } }))
    expect(server.seen.map(({ form }) => form.get('scope'))).toEqual([null, 'mcp', 'mcp'])
  })

  it('a refresh learns one correction after the other, and no more', async () => {
    const resource = refused('invalid_target', 'no')
    const scope = refused('invalid_request', 'AADSTS90009')
    answer(resource, scope)
    const quirks = { refusesResource: true, wantsScopeAtRefresh: true }
    expect(await refresh(credential())).toMatchObject({ kind: 'issued', quirks })

    answer(...Array<Reply>(10).fill(resource))
    server.seen.length = 0
    const stubborn = await refresh(credential())
    expect(stubborn).toEqual({ kind: 'refused', error: 'invalid_target', description: 'no' })
    expect(server.seen).toHaveLength(2)
  })

  it('a refresh is not repeated for a resource that was not sent, or an unknown scope', async () => {
    answer(refused('invalid_target', 'no'))
    expect(await refresh(credential(), { sendResource: false })).toMatchObject({ error: 'invalid_target' })
    answer(refused('invalid_request', 'AADSTS90009'))
    const tokens = { accessToken: 'acc3ss', refreshToken: 'r3fresh', issuedAt: 0 }
    expect(await refresh(credential({ tokens }))).toMatchObject({ error: 'invalid_request' })
    expect(server.seen).toHaveLength(2)
  })

  it('a refresh that is refused for good is not repeated', async () => {
    answer(refused('invalid_grant', 'The token r3fresh was used before.'))
    const description = 'The token [secret] was used before.'
    expect(await refresh(credential())).toEqual({ kind: 'refused', error: 'invalid_grant', description })
    expect(server.seen).toHaveLength(1)
  })

  it.each<
    [form: string, method: ClientIdentity['tokenEndpointAuthMethod'], echo: (sent: string[]) => string]
  >([
    ['the secret', 'client_secret_post', () => 's3cret+/='],
    ['the secret as it stood in the form', 'client_secret_post', () => 's3cret%2B%2F%3D'],
    ['the header', 'client_secret_basic', ([basic = '']) => basic],
    ['the whole form', 'client_secret_post', ([, form = '']) => form],
  ])('a refusal that echoes %s shows no secret', async (_form, method, echo) => {
    server.answers.set('/token', ({ headers, text }) =>
      refused('invalid_grant', `You sent ${echo([headers.authorization ?? '', text])}.`),
    )
    const no = await refresh(credential({}, { clientSecret: 's3cret+/=', tokenEndpointAuthMethod: method }))
    const basic = Buffer.from('id:s3cret%2B%2F%3D').toString('base64')
    expect(JSON.stringify(no)).toContain('[secret]')
    for (const secret of ['s3cret', 'r3fresh', basic]) expect(JSON.stringify(no)).not.toContain(secret)
  })

  it('a refresh authenticates a client whose secret is malformed text', async () => {
    answer(refused('invalid_client', 'no'))
    const client = { clientSecret: '\uD800', tokenEndpointAuthMethod: 'client_secret_basic' } as const
    expect(await refresh(credential({}, client))).toMatchObject({ kind: 'refused' })
  })

  it('a refresh is not sent without a refresh token', async () => {
    const no = await refresh(credential({ tokens: { accessToken: 'a', issuedAt: 0 } }))
    expect(no).toMatchObject({ kind: 'refused', error: 'invalid_grant' })
    expect(server.seen).toEqual([])
  })

  it('a refresh sends the current secret of a configured client', async () => {
    const client = {
      origin: 'static',
      clientSecret: 'old',
      tokenEndpointAuthMethod: 'client_secret_post',
    } as const
    await refresh(credential({}, client), { staticClient: { clientId: 'id', clientSecret: 'new' } })
    await refresh(credential({}, client), { staticClient: { clientId: 'other', clientSecret: 'new' } })
    const moved = { clientId: 'id', clientSecret: 'new', issuer: 'https://moved.example' }
    await refresh(credential({}, client), { staticClient: moved })
    expect(server.seen.map(({ form }) => form.get('client_secret'))).toEqual(['new', 'old', 'old'])
  })

  it('a refresh rejects if the private key is missing', async () => {
    const refreshing = refresh(credential({}, { tokenEndpointAuthMethod: 'private_key_jwt' }))
    await expect(refreshing).rejects.toMatchObject({ fault: 'client_refused' })
  })

  it.each<[name: string, Reply]>([
    ['a page', { body: '<p>Sign in to the network</p>' }],
    ['an error', { status: 500, body: { error: 'invalid_grant' } }],
    ['a redirect', { status: 302, headers: { location: '/elsewhere' } }],
    ['too much', { body: { access_token: 'a', filler: 'x'.repeat(1_000_000) } }],
  ])('a refresh answered by %s has an unknown result', async (_name, reply) => {
    answer(reply)
    expect(await refresh(credential())).toMatchObject({ kind: 'unavailable', sent: true })
    expect(server.seen).toHaveLength(1)
  })

  it('a refresh that fails on the network tells whether it was sent', async () => {
    const gone = await serveHttp((request) => request.socket.destroy())
    const tokenEndpoint = `${gone.origin}/token`
    const reset = await refresh(credential({ tokenEndpoint }))
    expect(reset).toMatchObject({ kind: 'unavailable', sent: true, cause: { name: 'NetworkError' } })
    await gone.close()
    const nowhere = await refresh(credential({ tokenEndpoint }))
    expect(nowhere).toMatchObject({ kind: 'unavailable', sent: false })
  })

  it('a refresh ends with its caller', async () => {
    const stop = new AbortController()
    server.answers.set('/token', () => {
      stop.abort()
      return new Promise(() => undefined)
    })
    const ended = await refresh(credential(), {}, stop.signal)
    expect(ended).toMatchObject({ kind: 'unavailable', sent: true })
    const never = await refresh(credential(), {}, stop.signal)
    expect(never).toMatchObject({ kind: 'unavailable', sent: false })
  })
})
