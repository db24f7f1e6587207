import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Client, StreamableHTTPClientTransport, UnauthorizedError } from '@modelcontextprotocol/client'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type KeySample, keySample } from '../support/server/key-sample.ts'
import { createSelfSignedCertificate } from '../support/server/self-signed-certificate.ts'
import { assertionFields } from './assertion.ts'
import { type DocumentServer, startDocumentServer } from './document-server.ts'
import { freePort } from '../support/server/free-port.ts'
import { MemoryOAuthProvider } from './memory-oauth-provider.ts'
import { createPerson, type Person } from './person.ts'
import {
  callTool,
  createPlainClient,
  type PlainClient,
  postForm,
  postMcp,
  type Tokens,
} from './plain-client.ts'
import { type ServerProcess, startServer } from './server-process.ts'

const twoDays = 2 * 86_400

let server: ServerProcess
let person: Person
let site: DocumentServer
let secureSite: DocumentServer
let key: KeySample
let folder: string

beforeAll(async () => {
  const tls = createSelfSignedCertificate(['localhost'])
  folder = mkdtempSync(join(tmpdir(), 'drawbridge-authority-'))
  const authority = join(folder, 'authority.pem')
  writeFileSync(authority, tls.cert)
  site = await startDocumentServer()
  secureSite = await startDocumentServer(tls)
  key = await keySample('first')
  server = await startServer({ SIGN_IN_LIMIT: '1000' }, { environment: { NODE_EXTRA_CA_CERTS: authority } })
  person = await createPerson(server)
})
afterAll(async () => {
  await server?.close()
  await site?.close()
  await secureSite?.close()
  rmSync(folder, { recursive: true, force: true })
})

/** Publishes the document of a client and returns its id, the address of the document. */
function publishClient(at: DocumentServer, path: string, metadata: object): string {
  const id = at.origin + path
  at.publish(path, {
    client_id: id,
    client_name: 'Quill',
    redirect_uris: ['http://127.0.0.1/callback'],
    ...metadata,
  })
  return id
}

/** Returns a redirect URI on a free port, as for a program that listens on any. */
async function loopbackUri(): Promise<string> {
  return `http://127.0.0.1:${await freePort()}/callback`
}

async function refreshed(client: PlainClient, tokens: Tokens): Promise<Tokens> {
  const answer = await client.refresh(tokens.refresh_token)
  expect(answer.status).toBe(200)
  return (await answer.json()) as Tokens
}

describe('a client that signs with its key, and publishes it (RFC 7523)', () => {
  let client: PlainClient
  beforeAll(async () => {
    const id = publishClient(site, '/signed.json', {
      token_endpoint_auth_method: 'private_key_jwt',
      jwks_uri: `${site.origin}/jwks.json`,
    })
    site.publish('/jwks.json', { keys: [key.published] })
    const prove = (): Promise<Record<string, string>> => assertionFields(server, id, key)
    client = await createPlainClient(server, { id, redirectUri: await loopbackUri(), prove })
  })

  it('proves itself at the token, introspection and revocation endpoints', async () => {
    const tokens = await refreshed(client, await client.connect(person))
    expect(await callTool(server, tokens.access_token, 'whoami')).toBe(`You are ${person.email}.`)
    expect(await (await client.introspect(tokens.access_token)).json()).toMatchObject({
      active: true,
      client_id: client.id,
      aud: server.mcpUrl,
      iss: server.baseUrl,
    })
    expect((await client.revoke(tokens.refresh_token)).status).toBe(200)
    expect(await (await client.introspect(tokens.access_token)).json()).toEqual({ active: false })
    const authorization = `Bearer ${tokens.access_token}`
    expect((await postMcp(server, { method: 'tools/list' }, { authorization })).status).toBe(401)
    expect(site.asked.get('/jwks.json')).toBe(1)
  })

  it.each(['/oauth/token', '/oauth/introspect', '/oauth/revoke'])(
    '%s refuses it without a proof, with one of another key, and with one that was used',
    async (path) => {
      const fields = {
        client_id: client.id,
        grant_type: 'refresh_token',
        refresh_token: 'mcpr_x',
        token: 'mcpr_x',
      }
      const fresh = await assertionFields(server, client.id, key)
      const outcome = async (proof: Record<string, string>): Promise<unknown> => {
        const answer = await postForm(server, path, { ...fields, ...proof })
        return answer.status === 200 ? 'taken' : ((await answer.json()) as { error: string }).error
      }
      expect(await outcome({})).toBe('invalid_client')
      expect(await outcome(await assertionFields(server, client.id, await keySample('first')))).toBe(
        'invalid_client',
      )
      // The assertion is valid; the accompanying token is unknown.
      expect(['taken', 'invalid_grant']).toContain(await outcome(fresh))
      expect(await outcome(fresh)).toBe('invalid_client')
    },
  )
})

describe.each([
  ['@modelcontextprotocol/client, revision 2025-11-25', 'legacy'],
  ['@modelcontextprotocol/client, revision 2026-07-28', { pin: '2026-07-28' }],
] as const)('%s', (_name, mode) => {
  it('takes the address of its document as its id, and registers nothing', async () => {
    const clientMetadataUrl = publishClient(secureSite, '/sdk.json', {
      redirect_uris: ['http://127.0.0.1:4711/callback'],
    })
    const authProvider = Object.assign(new MemoryOAuthProvider(), { clientMetadataUrl })
    const open = (): StreamableHTTPClientTransport =>
      new StreamableHTTPClientTransport(new URL(server.mcpUrl), { fetch: server.fetch, authProvider })
    const create = (): Client => new Client({ name: 'sdk', version: '1' }, { versionNegotiation: { mode } })
    const refused = open()
    await expect(create().connect(refused)).rejects.toThrow(UnauthorizedError)
    expect(authProvider.clientInformation()?.client_id).toBe(clientMetadataUrl)
    const callback = await person.allow(authProvider.authorizationUrls[0] ?? '')
    await refused.finishAuth(callback.searchParams)
    const client = create()
    await client.connect(open())
    const { content } = await client.callTool({ name: 'whoami' })
    expect(content).toEqual([{ type: 'text', text: `You are ${person.email}.` }])
    await client.close()
    expect(server.events('client_registered')).toEqual([])
  })
})

describe('a client with a document that nobody can use', () => {
  it.each<[what: string, publish: () => string, detail: string]>([
    [
      'is faulty',
      () => publishClient(site, '/faulty.json', { client_name: undefined }),
      'client_name is missing.',
    ],
    ['is not there', () => `${site.origin}/nothing.json`, 'the host has no such document.'],
  ])('that %s: the page says what is wrong, and not to wait', async (_what, publish, detail) => {
    const client = await createPlainClient(server, { id: publish(), redirectUri: await loopbackUri() })
    const { html, response } = await person.browser.visit(client.authorizationUrl)
    expect([response?.status, response?.headers.get('retry-after')]).toEqual([400, null])
    expect(html).toContain('This app’s metadata is not valid')
    expect(html).toContain(detail)
    expect(html).toContain('to the app’s developer')
    expect(html).not.toMatch(/wait a minute|in a minute/i)
    const answer = await client.refresh('mcpr_x')
    expect([answer.status, await answer.json()]).toEqual([
      401,
      { error: 'invalid_client', error_description: expect.stringContaining(detail) },
    ])
  })

  it('that cannot be fetched right now: the page says to wait', async () => {
    const gone = await startDocumentServer()
    await gone.close()
    const id = `${gone.origin}/client.json`
    const client = await createPlainClient(server, { id, redirectUri: await loopbackUri() })
    const { html, response } = await person.browser.visit(client.authorizationUrl)
    expect([response?.status, response?.headers.get('retry-after')]).toEqual([503, '5'])
    expect(html).toContain('Wait a minute')
    expect(html).toContain('the host cannot be reached.')
  })
})

describe('a public client, and the end of its web site', () => {
  it('signs in with a port of its own, and is known by its document until people stop using it', async () => {
    const id = publishClient(secureSite, '/client.json', { token_endpoint_auth_method: 'none' })
    const client = await createPlainClient(server, { id, redirectUri: await loopbackUri() })
    const login = await person.browser.visit(client.authorizationUrl)
    for (const fact of ['Quill', new URL(secureSite.origin).host]) expect(login.html).toContain(fact)
    let tokens = await client.connect(person)
    expect(secureSite.asked.get('/client.json')).toBe(1)

    await secureSite.close()
    tokens = await refreshed(client, tokens)
    const again = await createPlainClient(server, { id, redirectUri: await loopbackUri() })
    await again.connect(person)

    // Two days later the document is too old for signing in, but valid for connected clients.
    await server.kill('SIGTERM')
    await server.start({ aheadSeconds: twoDays })
    tokens = await refreshed(client, tokens)
    expect(await callTool(server, tokens.access_token, 'whoami')).toBe(`You are ${person.email}.`)
    const late = await person.browser.visit(client.authorizationUrl)
    expect(late.response?.status).toBe(503)
    expect(late.html).toContain('could not be used')
    expect((await client.revoke(tokens.refresh_token)).status).toBe(200)
    expect((await client.refresh(tokens.refresh_token)).status).toBe(400)
  })
})
