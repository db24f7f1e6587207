import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, expect, it } from 'vitest'
import { temporaryFolder } from '../../../tests/support/temporary-folder.ts'
import { account, baseUrl, startDrawbridge } from '../../../tests/support/server/drawbridge-fixture.ts'

const secret = 'a secret of the notes API'

const clients = join(temporaryFolder(afterAll), 'clients.json')
const api = {
  client_id: 'notes-api',
  client_secret: secret,
  redirect_uris: ['https://api.example/callback'],
  token_endpoint_auth_method: 'client_secret_basic',
}
const entries = [
  { ...api, introspects: true },
  { ...api, client_id: 'other-api' },
]
writeFileSync(clients, JSON.stringify(entries))
const drawbridge = await startDrawbridge({ clients })
afterAll(() => drawbridge.close())

async function introspect(clientId: string, token: string): Promise<unknown> {
  const basic = Buffer.from(`${clientId}:${encodeURIComponent(secret)}`).toString('base64')
  const response = await drawbridge.postForm(
    '/oauth/introspect',
    { token },
    { authorization: `Basic ${basic}` },
  )
  expect(response.status).toBe(200)
  expect(response.headers.get('cache-control')).toBe('no-store')
  expect(response.headers.get('access-control-allow-origin')).toBeNull()
  return response.json()
}

it('RFC 7662 2.2: tells a resource server of the operator about every token, and others nothing', async () => {
  const { clientId, tokens } = await drawbridge.connect()
  expect(await introspect('notes-api', tokens.access_token)).toEqual({
    active: true,
    scope: 'mcp',
    client_id: clientId,
    username: account.email,
    token_type: 'Bearer',
    exp: drawbridge.runtime.now() + 3600,
    iat: drawbridge.runtime.now(),
    sub: expect.stringMatching(/^[0-9a-f-]{36}$/),
    aud: `${baseUrl}/mcp`,
    iss: baseUrl,
  })
  expect(await introspect('notes-api', tokens.refresh_token)).toMatchObject({ active: true })
  expect(await introspect('other-api', tokens.access_token)).toEqual({ active: false })
})
