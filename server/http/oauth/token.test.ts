import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { removeClientWithGrants } from '../../core/clients/client-removal.ts'
import {
  type DrawbridgeFixture,
  startDrawbridge,
  type Tokens,
} from '../../../tests/support/server/drawbridge-fixture.ts'

let drawbridge: DrawbridgeFixture
beforeEach(async () => {
  drawbridge = await startDrawbridge()
})
afterEach(() => drawbridge.close())

async function errorOf(response: Response): Promise<[status: number, error: unknown]> {
  const body = (await response.json()) as { error: unknown; error_description: string }
  expect(body.error_description).not.toBe('')
  expect(response.headers.get('cache-control')).toBe('no-store')
  return [response.status, body.error]
}

async function tokensOf(response: Response): Promise<Tokens> {
  expect(response.status).toBe(200)
  return (await response.json()) as Tokens
}

describe('grant_type=authorization_code', () => {
  it('OAuth 2.1 3.2.3: answers tokens that no cache keeps', async () => {
    const { client_id: clientId } = await drawbridge.register()
    const response = await drawbridge.redeem(clientId, await drawbridge.code(clientId))
    expect(response.headers.get('cache-control')).toBe('no-store')
    expect(response.headers.get('access-control-allow-origin')).toBe('*')
    const tokens = await tokensOf(response)
    expect(tokens).toMatchObject({ token_type: 'Bearer', expires_in: 3590, scope: 'mcp' })
    expect(tokens.access_token).toMatch(/^mcpa_[A-Za-z0-9_-]{50}$/)
    expect(tokens.refresh_token).toMatch(/^mcpr_[A-Za-z0-9_-]{72}$/)
  })

  it('ten redemptions at once yield one 200, and its tokens work', async () => {
    const { client_id: clientId } = await drawbridge.register()
    const code = await drawbridge.code(clientId)
    const responses = await Promise.all(Array.from({ length: 10 }, () => drawbridge.redeem(clientId, code)))
    const good = responses.filter(({ status }) => status === 200)
    expect(good).toHaveLength(1)
    const [winner] = await Promise.all(good.map(tokensOf))
    expect((await drawbridge.callTool(winner?.access_token ?? '', 'whoami')).isError).toBe(false)
  })

  it('RFC 9700 2.1.1: a code that comes back later ends what it gave', async () => {
    const { client_id: clientId } = await drawbridge.register()
    const code = await drawbridge.code(clientId)
    const tokens = await tokensOf(await drawbridge.redeem(clientId, code))
    drawbridge.runtime.advance(11)
    expect(await errorOf(await drawbridge.redeem(clientId, code))).toEqual([400, 'invalid_grant'])
    const after = await drawbridge.mcp({}, { authorization: `Bearer ${tokens.access_token}` })
    expect(after.status).toBe(401)
    expect(await errorOf(await drawbridge.refresh(clientId, tokens.refresh_token))).toEqual([
      400,
      'invalid_grant',
    ])
  })

  it('OAuth 2.1 4.1.2: a code lasts 60 seconds', async () => {
    const { client_id: clientId } = await drawbridge.register()
    const code = await drawbridge.code(clientId)
    drawbridge.runtime.advance(60)
    expect(await errorOf(await drawbridge.redeem(clientId, code))).toEqual([400, 'invalid_grant'])
  })

  it('a wrong verifier fails and leaves the code to its owner', async () => {
    const { client_id: clientId } = await drawbridge.register()
    const code = await drawbridge.code(clientId)
    const wrong = await drawbridge.redeem(clientId, code, { code_verifier: 'x'.repeat(43) })
    expect(await errorOf(wrong)).toEqual([400, 'invalid_grant'])
    expect((await drawbridge.redeem(clientId, code)).status).toBe(200)
  })

  it("refuses another client's code", async () => {
    const { client_id: mine } = await drawbridge.register()
    const { client_id: other } = await drawbridge.register()
    const code = await drawbridge.code(mine)
    expect(await errorOf(await drawbridge.redeem(other, code))).toEqual([400, 'invalid_grant'])
    expect((await drawbridge.redeem(mine, code)).status).toBe(200)
  })

  it('a client that counts expires_in from the arrival of the answer presents no token that has just expired', async () => {
    const { tokens } = await drawbridge.connect()
    // The answer was under way for a while, and the clock of the server was in the middle of a second.
    drawbridge.runtime.advance(tokens.expires_in + 5)
    expect((await drawbridge.callTool(tokens.access_token, 'whoami')).isError).toBe(false)
  })

  it('OAuth 2.1 4.1.3: accepts the redirect URI left out (OAuth 2.1) and the resource with a slash', async () => {
    const { client_id: clientId } = await drawbridge.register()
    const code = await drawbridge.code(clientId)
    const fields = { redirect_uri: '', resource: 'http://localhost:8787/mcp/' }
    expect((await drawbridge.redeem(clientId, code, fields)).status).toBe(200)
  })

  it('LONG_TOKEN_TTL: only a client that cannot refresh gets a longer token, which ends with its grant', async () => {
    const patient = await startDrawbridge({ longTokenTtl: '60d' })
    const { client_id: once } = await patient.register({ grant_types: ['authorization_code'] })
    const long = await tokensOf(await patient.redeem(once, await patient.code(once)))
    expect(long.expires_in).toBe(30 * 86_400 - 10)
    patient.runtime.advance(29 * 86_400)
    expect((await patient.callTool(long.access_token, 'whoami')).isError).toBe(false)
    expect((await patient.connect()).tokens.expires_in).toBe(3590)
    await patient.close()
  })

  it('tokens get to the client although the store cannot note that it is in use', async () => {
    const { client_id: clientId } = await drawbridge.register()
    const code = await drawbridge.code(clientId)
    Object.assign(drawbridge.app.store, { keepClient: () => Promise.reject(new Error('The store is full.')) })
    const tokens = await tokensOf(await drawbridge.redeem(clientId, code))
    expect((await drawbridge.callTool(tokens.access_token, 'whoami')).isError).toBe(false)
    expect(drawbridge.logged()).toContain('client_not_kept')
  })

  it('a client that could not be noted is noted at its next refresh, and so not forgotten after a day', async () => {
    const { client_id: clientId } = await drawbridge.register()
    const code = await drawbridge.code(clientId)
    const { store } = drawbridge.app
    const { keepClient } = store
    // As when the process is killed between the two writes.
    store.keepClient = async () => {}
    const { refresh_token: token } = await tokensOf(await drawbridge.redeem(clientId, code))
    store.keepClient = keepClient
    drawbridge.runtime.advance(3600)
    const next = await tokensOf(await drawbridge.refresh(clientId, token))
    drawbridge.runtime.advance(86_400)
    await store.collectExpired(drawbridge.runtime.now(), 1000)
    expect((await drawbridge.refresh(clientId, next.refresh_token)).status).toBe(200)
  })

  it('RFC 7592 2.3: no grant begins for a client that is removed while its code is redeemed', async () => {
    const { client_id: clientId } = await drawbridge.register()
    const code = await drawbridge.code(clientId)
    const { store, runtime } = { store: drawbridge.app.store, runtime: drawbridge.runtime }
    const { redeemAuthorizationCode } = store
    store.redeemAuthorizationCode = async (...given) => {
      await removeClientWithGrants(clientId, { store, runtime })
      return redeemAuthorizationCode(...given)
    }
    // Removing the client ends its codes as well.
    expect(await errorOf(await drawbridge.redeem(clientId, code))).toEqual([400, 'invalid_grant'])
    expect(await store.listGrants({ clientId }, { after: '', limit: 10 })).toEqual([])
  })

  it('RFC 7592 2.3: a grant that begins while its client is removed ends at once', async () => {
    const { client_id: clientId } = await drawbridge.register()
    const code = await drawbridge.code(clientId)
    const { store } = drawbridge.app
    const { redeemAuthorizationCode } = store
    store.redeemAuthorizationCode = async (...given) => {
      const redemption = await redeemAuthorizationCode(...given)
      await store.removeClient(clientId)
      return redemption
    }
    expect(await errorOf(await drawbridge.redeem(clientId, code))).toEqual([401, 'invalid_client'])
    const [record] = await store.listGrants({ clientId }, { after: '', limit: 10 })
    expect(record?.end?.reason).toBe('client_removed')
  })

  it('a registration that would expire at that very moment lives on: somebody signed in with it', async () => {
    const { client_id: clientId } = await drawbridge.register()
    drawbridge.runtime.advance(86_399)
    const code = await drawbridge.code(clientId)
    const { store } = drawbridge.app
    const { redeemAuthorizationCode } = store
    store.redeemAuthorizationCode = async (...given) => {
      drawbridge.runtime.advance(1)
      return redeemAuthorizationCode(...given)
    }
    expect((await drawbridge.redeem(clientId, code)).status).toBe(200)
  })

  it('a client that nobody can look up at that moment is not taken for one that was removed', async () => {
    const { client_id: clientId } = await drawbridge.register()
    const code = await drawbridge.code(clientId)
    const { store } = drawbridge.app
    const { redeemAuthorizationCode } = store
    store.redeemAuthorizationCode = async (...given) => {
      store.findClient = () => Promise.reject(new Error('The store is away.'))
      return redeemAuthorizationCode(...given)
    }
    expect((await drawbridge.redeem(clientId, code)).status).toBe(200)
  })

  it('RFC 7592 2.2: what the client took back as redirect URI meanwhile gets no tokens', async () => {
    const registered = await drawbridge.register()
    const { client_id: clientId } = registered
    const code = await drawbridge.code(clientId)
    const { registration_access_token: token } = registered as { registration_access_token?: string }
    const update = await drawbridge.fetch(`/oauth/register/${clientId}`, {
      method: 'PUT',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: JSON.stringify({
        client_id: clientId,
        redirect_uris: ['https://new.example/callback'],
        token_endpoint_auth_method: 'none',
      }),
    })
    expect(update.status).toBe(200)
    expect(await errorOf(await drawbridge.redeem(clientId, code))).toEqual([400, 'invalid_grant'])
  })

  it('MCP auth Refresh-Tokens: a client registered without refresh_token gets none', async () => {
    const { client_id: clientId } = await drawbridge.register({ grant_types: ['authorization_code'] })
    const tokens = await tokensOf(await drawbridge.redeem(clientId, await drawbridge.code(clientId)))
    expect(tokens).not.toHaveProperty('refresh_token')
  })
})

describe('grant_type=refresh_token', () => {
  it('rotates: the old access token lives on, the pair is new', async () => {
    const { clientId, tokens } = await drawbridge.connect()
    const next = await tokensOf(await drawbridge.refresh(clientId, tokens.refresh_token))
    expect(next.refresh_token).not.toBe(tokens.refresh_token)
    expect((await drawbridge.callTool(next.access_token, 'whoami')).isError).toBe(false)
    expect((await drawbridge.callTool(tokens.access_token, 'whoami')).isError).toBe(false)
  })

  it('twenty refreshes at once with one token all get the same successor', async () => {
    const { clientId, tokens } = await drawbridge.connect()
    const responses = await Promise.all(
      Array.from({ length: 20 }, () => drawbridge.refresh(clientId, tokens.refresh_token)),
    )
    const pairs = await Promise.all(responses.map(tokensOf))
    expect(new Set(pairs.map((pair) => pair.refresh_token)).size).toBe(1)
    expect(new Set(pairs.map((pair) => pair.access_token)).size).toBe(1)
  })

  it('the same answer comes for 120 seconds, counted down; one more ends the connection and says so', async () => {
    const { clientId, tokens } = await drawbridge.connect()
    const first = await tokensOf(await drawbridge.refresh(clientId, tokens.refresh_token))
    drawbridge.runtime.advance(120)
    const replayed = await tokensOf(await drawbridge.refresh(clientId, tokens.refresh_token))
    expect(replayed).toEqual({ ...first, expires_in: first.expires_in - 120 })
    drawbridge.runtime.advance(1)
    const reused = await drawbridge.refresh(clientId, tokens.refresh_token)
    expect(await reused.clone().json()).toMatchObject({
      error_description: expect.stringContaining('used before'),
    })
    expect(await errorOf(reused)).toEqual([400, 'invalid_grant'])
    expect(await errorOf(await drawbridge.refresh(clientId, first.refresh_token))).toEqual([
      400,
      'invalid_grant',
    ])
    expect((await drawbridge.mcp({}, { authorization: `Bearer ${first.access_token}` })).status).toBe(401)
  })

  it('30 days are absolute: at the last second it works, a second later it is over', async () => {
    const runtime = drawbridge.runtime
    const { clientId, tokens } = await drawbridge.connect()
    runtime.advance(30 * 86_400 - 1)
    const last = await tokensOf(await drawbridge.refresh(clientId, tokens.refresh_token))
    expect(last.expires_in).toBe(1)
    runtime.advance(1)
    expect(await errorOf(await drawbridge.refresh(clientId, last.refresh_token))).toEqual([
      400,
      'invalid_grant',
    ])
    expect((await drawbridge.mcp({}, { authorization: `Bearer ${last.access_token}` })).status).toBe(401)
  })

  it('the scope once asked for at authorization is accepted again, and yields a token of use', async () => {
    const { client_id: clientId } = await drawbridge.register()
    for (const scope of ['openid profile', 'offline_access', 'mcp']) {
      const { url } = await drawbridge.signIn(clientId, undefined, { scope })
      const tokens = await tokensOf(await drawbridge.redeem(clientId, url.searchParams.get('code') ?? ''))
      const next = await tokensOf(await drawbridge.refresh(clientId, tokens.refresh_token, { scope }))
      expect((await drawbridge.callTool(next.access_token, 'whoami')).isError).toBe(false)
    }
  })

  it('ending a connection for safety is in the log, without a token', async () => {
    const { clientId, tokens } = await drawbridge.connect()
    await drawbridge.refresh(clientId, tokens.refresh_token)
    drawbridge.runtime.advance(121)
    await drawbridge.refresh(clientId, tokens.refresh_token)
    const line = drawbridge
      .logged()
      .split('\n')
      .find((text) => text.includes('grant_ended'))
    expect(line).toContain('"reason":"refresh_token_reuse"')
    expect(line).not.toContain('mcpr_')
  })

  it('does not call the provider', async () => {
    const { clientId, tokens } = await drawbridge.connect()
    drawbridge.admin.setFaults({ failNext: { status: 503, count: 1000 } })
    drawbridge.runtime.advance(7200)
    expect((await drawbridge.refresh(clientId, tokens.refresh_token)).status).toBe(200)
  })

  it("refuses another client's token", async () => {
    const { clientId, tokens } = await drawbridge.connect()
    const { client_id: other } = await drawbridge.register()
    expect(await errorOf(await drawbridge.refresh(other, tokens.refresh_token))).toEqual([
      400,
      'invalid_grant',
    ])
    expect((await drawbridge.refresh(clientId, tokens.refresh_token)).status).toBe(200)
  })
})

describe('client authentication (RFC 6749 2.3)', () => {
  const basic = (id: string, secret: string): Record<string, string> => ({
    authorization: `Basic ${Buffer.from(`${encodeURIComponent(id)}:${encodeURIComponent(secret)}`).toString('base64')}`,
  })

  async function confidential(): Promise<{ id: string; secret: string; refreshToken: string }> {
    const { client_id: id, client_secret: secret = '' } = await drawbridge.register({
      token_endpoint_auth_method: 'client_secret_post',
    })
    const code = await drawbridge.code(id)
    const tokens = await tokensOf(await drawbridge.redeem(id, code, { client_secret: secret }))
    return { id, secret, refreshToken: tokens.refresh_token }
  }

  it('RFC 6749 2.3.1: takes the secret by body or by header', async () => {
    const { id, secret, refreshToken } = await confidential()
    const fields = { grant_type: 'refresh_token', refresh_token: refreshToken }
    const byHeader = await drawbridge.postForm('/oauth/token', fields, basic(id, secret))
    expect(byHeader.status).toBe(200)
    const byBody = await drawbridge.postForm('/oauth/token', {
      ...fields,
      client_id: id,
      client_secret: secret,
    })
    expect(byBody.status).toBe(200)
  })
})
