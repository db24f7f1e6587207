import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type KeySample, keySample } from '../support/server/key-sample.ts'
import { createSelfSignedCertificate } from '../support/server/self-signed-certificate.ts'
import { assertionFields } from './assertion.ts'
import { type DocumentServer, startDocumentServer } from './document-server.ts'
import { freePort } from '../support/server/free-port.ts'
import { MemoryOAuthProvider } from './memory-oauth-provider.ts'
import { expectAllConnected } from './attempt-facts.ts'
import { createPerson, type Person } from './person.ts'
import { callTool, createPlainClient, type PlainClient, postMcp, type Tokens } from './plain-client.ts'
import { sdkClients } from './sdk-client.ts'
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
  await expectAllConnected(server, 1)
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
  it('proves itself at the token, introspection and revocation endpoints', async () => {
    const id = publishClient(site, '/signed.json', {
      token_endpoint_auth_method: 'private_key_jwt',
      jwks_uri: `${site.origin}/jwks.json`,
    })
    site.publish('/jwks.json', { keys: [key.published] })
    const prove = (): Promise<Record<string, string>> => assertionFields(server, id, key)
    const client = await createPlainClient(server, { id, redirectUri: await loopbackUri(), prove })
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
})

it.each(['client 2, 2025-11-25', 'client 2, 2026-07-28 if it can'] as const)(
  '%s takes the address of its document as its id, and registers nothing',
  async (name) => {
    const clientMetadataUrl = publishClient(secureSite, '/sdk.json', {
      redirect_uris: ['http://127.0.0.1:4711/callback'],
    })
    const provider = Object.assign(new MemoryOAuthProvider(), { clientMetadataUrl })
    const client = sdkClients[name](server, { provider })
    await expect(client.connect()).rejects.toThrow(/unauthorized/i)
    expect(provider.clientInformation()?.client_id).toBe(clientMetadataUrl)
    await client.signIn(person)
    await client.connect()
    expect((await client.call('whoami')).text).toBe(`You are ${person.email}.`)
    await client.end()
    expect(server.events('client_registered')).toEqual([])
  },
)

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
