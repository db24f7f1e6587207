import { afterAll, describe, expect, it } from 'vitest'
import { baseUrl, redirectUri, startDrawbridge } from '../../../tests/support/server/drawbridge-fixture.ts'

const drawbridge = await startDrawbridge({ registrationLimit: '1000' })
afterAll(() => drawbridge.close())

interface Registered {
  client_id: string
  client_secret?: string
  registration_access_token: string
  registration_client_uri: string
}

const register = (metadata: object = {}): Promise<Registered> =>
  drawbridge.register({ ...metadata }) as Promise<Registered>

function manage(
  method: string,
  {
    client_id: id,
    registration_access_token: token,
  }: Pick<Registered, 'client_id' | 'registration_access_token'>,
  body?: object,
): Promise<Response> {
  return drawbridge.fetch(`/oauth/register/${id}`, {
    method,
    headers: { authorization: `Bearer ${token}`, ...(body && { 'content-type': 'application/json' }) },
    ...(body && { body: JSON.stringify(body) }),
  })
}

const update = (registered: Registered, changes: object = {}): Promise<Response> =>
  manage('PUT', registered, {
    client_id: registered.client_id,
    redirect_uris: [redirectUri],
    token_endpoint_auth_method: 'none',
    ...changes,
  })

describe('GET /oauth/register/{id} (RFC 7592 section 2.1)', () => {
  it('RFC 7592 2.1: GET returns the registration, uncached, with the token and URL that manage it', async () => {
    const registered = await register({ client_name: 'Quill' })
    expect(registered.registration_client_uri).toBe(`${baseUrl}/oauth/register/${registered.client_id}`)
    const response = await manage('GET', registered)
    expect(response.status).toBe(200)
    expect(response.headers.get('cache-control')).toBe('no-store')
    expect(response.headers.get('pragma')).toBe('no-cache')
    expect(await response.json()).toEqual(registered)
  })

  it('a secret is not shown again, since only its hash is stored', async () => {
    const { client_secret: secret, ...registered } = await register({ token_endpoint_auth_method: undefined })
    expect(secret).toMatch(/^mcps_/)
    const answer = await (await manage('GET', registered)).json()
    expect(answer).toMatchObject({ token_endpoint_auth_method: 'client_secret_basic' })
    expect(answer).not.toHaveProperty('client_secret')
  })
})

it('PUT (RFC 7592 section 2.2) replaces everything and keeps id and token', async () => {
  const registered = await register({ client_name: 'Old', client_uri: 'https://old.example/' })
  const response = await update(registered, { redirect_uris: ['https://new.example/cb'] })
  expect(response.status).toBe(200)
  const answer = (await response.json()) as Record<string, unknown>
  expect(answer).toMatchObject({
    client_id: registered.client_id,
    redirect_uris: ['https://new.example/cb'],
    registration_access_token: registered.registration_access_token,
    registration_client_uri: registered.registration_client_uri,
  })
  expect(answer).not.toHaveProperty('client_name')
  expect(await (await manage('GET', registered)).json()).toEqual(answer)
})

it('RFC 7592 2.3: DELETE removes the client, its grants and its tokens, and answers 204', async () => {
  const registered = await register()
  const code = await drawbridge.code(registered.client_id)
  const tokens = (await (await drawbridge.redeem(registered.client_id, code)).json()) as Record<
    string,
    string
  >
  const unused = await drawbridge.code(registered.client_id)
  const waiting = (): Promise<unknown[]> =>
    drawbridge.app.store.listUnredeemedCodes(
      { clientId: registered.client_id },
      { now: drawbridge.runtime.now(), limit: 9 },
    )
  expect(await waiting()).toHaveLength(1)
  const response = await manage('DELETE', registered)
  expect(response.status).toBe(204)
  expect(await waiting()).toEqual([])
  expect(await response.text()).toBe('')
  expect((await manage('GET', registered)).status).toBe(401)
  const message = { jsonrpc: '2.0', id: 1, method: 'tools/list' }
  const authorization = `Bearer ${tokens['access_token']}`
  expect((await drawbridge.mcp(message, { authorization })).status).toBe(401)
  expect((await drawbridge.refresh(registered.client_id, tokens['refresh_token'] ?? '')).status).toBe(401)
  expect((await drawbridge.redeem(registered.client_id, unused)).status).toBe(401)
})

describe('a request without the registration access token (RFC 7592 section 2, RFC 6750 section 3.1)', () => {
  it.each(['GET', 'PUT', 'DELETE'])(
    'RFC 7592 2: %s: one and the same answer, whether there is such a client or not',
    async (method) => {
      const registered = await register()
      const other = await register()
      await drawbridge.app.store.putClient({
        ...(await drawbridge.app.store.findClient(registered.client_id)),
        id: 'mcpc_configured',
        kind: 'configured',
      } as never)
      const { client_id: id, registration_access_token: token } = registered
      const attempts: [id: string, header: string | undefined][] = [
        [id, `Bearer ${other.registration_access_token}`],
        [id, `Bearer ${token} x`],
        [id, undefined],
        ['mcpc_unknown', `Bearer ${token}`],
        ['mcpc_configured', `Bearer ${token}`],
        ['constructor', `Bearer ${token}`],
      ]
      const answers = new Set<string>()
      for (const [client, authorization] of attempts) {
        const response = await drawbridge.fetch(`/oauth/register/${client}`, {
          method,
          headers: {
            'content-type': 'application/json',
            ...(authorization !== undefined && { authorization }),
          },
          ...(method === 'PUT' && { body: '{}' }),
        })
        expect(response.headers.get('www-authenticate')).toMatch(/^Bearer /)
        answers.add(`${response.status} ${await response.text()}`)
      }
      expect([...answers]).toEqual([expect.stringMatching(/^401 .*"invalid_token"/)])
      expect((await manage('GET', registered)).status).toBe(200)
    },
  )

  it('the registration access token ends with an unused registration', async () => {
    const own = await startDrawbridge()
    const registered = (await own.register()) as Registered
    const headers = { authorization: `Bearer ${registered.registration_access_token}` }
    const path = `/oauth/register/${registered.client_id}`
    expect((await own.fetch(path, { headers })).status).toBe(200)
    own.runtime.advance(86_400)
    expect((await own.fetch(path, { headers })).status).toBe(401)
    await own.close()
  })

  it('other methods of a registration are not found, and no token is ever in the log', async () => {
    const registered = await register()
    const response = await manage('POST', registered, {})
    expect(response.status).toBe(405)
    expect(response.headers.get('allow')).toBe('GET, HEAD, PUT, DELETE, OPTIONS')
    await update(registered)
    await manage('DELETE', registered)
    expect(drawbridge.logged()).not.toContain('mcpm_')
  })
})
