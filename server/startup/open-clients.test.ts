import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { exportJWK, generateKeyPair, SignJWT } from 'jose'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { temporaryFolder } from '../../tests/support/temporary-folder.ts'
import { openClients } from './open-clients.ts'
import { openMemoryStore } from '../store/sqlite/sqlite.ts'
import { configSample } from '../../tests/support/server/config-sample.ts'
import {
  baseUrl,
  type DrawbridgeFixture,
  redirectUri,
  startDrawbridge,
} from '../../tests/support/server/drawbridge-fixture.ts'
import { createFakeRuntime } from '../../tests/support/server/fake-runtime.ts'

const started: DrawbridgeFixture[] = []
let host: Server
let origin: string
let documents: Record<string, object>

beforeEach(async () => {
  documents = {}
  host = createServer((request, response) => {
    const document = documents[request.url ?? '']
    response.writeHead(document ? 200 : 503, { 'content-type': 'application/json' })
    response.end(JSON.stringify(document ?? {}))
  })
  host.listen(0, '127.0.0.1')
  await once(host, 'listening')
  origin = `http://localhost:${(host.address() as AddressInfo).port}`
})
afterEach(async () => {
  for (const drawbridge of started.splice(0)) await drawbridge.close()
  host.closeAllConnections()
  host.close()
})

/** Publishes a metadata document; returns the id of its client. */
function publish(more: object = {}): string {
  const id = `${origin}/client.json`
  documents['/client.json'] = { client_id: id, client_name: 'Quill', redirect_uris: [redirectUri], ...more }
  return id
}

async function start(settings: Parameters<typeof startDrawbridge>[0] = {}): Promise<DrawbridgeFixture> {
  const drawbridge = await startDrawbridge(settings)
  started.push(drawbridge)
  return drawbridge
}

async function connect(drawbridge: DrawbridgeFixture, clientId: string, fields: Record<string, string> = {}) {
  const response = await drawbridge.redeem(clientId, await drawbridge.code(clientId), fields)
  return { status: response.status, body: (await response.json()) as Record<string, string> }
}

describe('a client with a metadata document, from end to end', () => {
  it('MCP auth Client-ID-Metadata-Documents: signs in without registration, and refreshes while its host is away for months', async () => {
    const id = publish()
    const drawbridge = await start()
    const { status, body } = await connect(drawbridge, id)
    expect(status).toBe(200)
    expect(await drawbridge.app.store.findClient(id)).toMatchObject({
      kind: 'metadata_document',
      name: 'Quill',
    })

    documents = {}
    let refreshToken = body['refresh_token'] ?? ''
    for (let day = 0; day < 3; day += 1) {
      drawbridge.runtime.advance(2 * 86_400)
      const refreshed = await drawbridge.refresh(id, refreshToken)
      expect(refreshed.status).toBe(200)
      refreshToken = ((await refreshed.json()) as { refresh_token: string }).refresh_token
    }
  })

  it('MCP auth Client-ID-Metadata-Documents, CIMD 6.2, RFC 7523 2.2: proves itself with private_key_jwt, keys from its jwks_uri, each assertion once', async () => {
    const { privateKey, publicKey } = await generateKeyPair('ES256')
    documents['/jwks'] = { keys: [{ ...(await exportJWK(publicKey)), kid: 'a' }] }
    const id = publish({ token_endpoint_auth_method: 'private_key_jwt', jwks_uri: `${origin}/jwks` })
    const drawbridge = await start()
    const now = drawbridge.runtime.now()
    const assertion = await new SignJWT({ iss: id, sub: id, aud: baseUrl, jti: 'one', exp: now + 60 })
      .setProtectedHeader({ alg: 'ES256', kid: 'a' })
      .sign(privateKey)
    const proof = {
      client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
      client_assertion: assertion,
    }
    expect(await connect(drawbridge, id)).toMatchObject({ status: 401, body: { error: 'invalid_client' } })
    const proven = await connect(drawbridge, id, proof)
    expect(proven.status).toBe(200)
    const replayed = await drawbridge.refresh(id, proven.body['refresh_token'] ?? '', proof)
    expect(replayed.status).toBe(401)
  })

  it('at the token endpoint an unreachable document is 503 with Retry-After, never invalid_client', async () => {
    const drawbridge = await start()
    const response = await drawbridge.refresh(`${origin}/client.json`, 'mcpr_x')
    expect(response.status).toBe(503)
    expect(response.headers.get('retry-after')).toBe('60')
    expect(await response.json()).toMatchObject({ error: 'temporarily_unavailable' })
  })

  it('in production nothing on loopback is fetched, and nowhere the server itself', async () => {
    const id = publish()
    const store = openMemoryStore()
    const find = (base: string, url = id) =>
      openClients(configSample({ baseUrl: base }), createFakeRuntime(), store, () => {}).finder.findClient(
        url,
      )
    expect(await find('https://mcp.example.com')).toBeUndefined()
    expect(await find(baseUrl)).toMatchObject({ name: 'Quill' })
    await expect(find(baseUrl, `${baseUrl}/oauth/authorize?client_id=x`)).rejects.toThrow(
      'documents are not fetched from this address',
    )
  })

  it.each([
    ['off', 401, 'invalid_client'],
    ['claude.ai', 401, 'invalid_client'],
    ['claude.ai, localhost, 127.0.0.1', 400, 'invalid_grant'],
  ])(
    'with CLIENT_DOCUMENTS %j a client of a document on loopback gets %i %s',
    async (setting, status, error) => {
      const id = publish()
      const drawbridge = await start({ clientDocuments: setting })
      const response = await drawbridge.refresh(id, 'mcpr_x')
      expect(response.status).toBe(status)
      expect(await response.json()).toMatchObject({ error })
    },
  )
})

describe('files of the operator', () => {
  let folder: string
  beforeEach(() => {
    folder = temporaryFolder()
  })

  function write(content: unknown): string {
    const path = join(folder, 'clients.json')
    writeFileSync(path, JSON.stringify(content))
    return path
  }

  it('MCP auth Pre-registration: CLIENTS: a confidential client signs in with its secret', async () => {
    const secret = 'a-secret-of-some-length'
    const clients = write([{ client_id: 'reports', client_secret: secret, redirect_uris: [redirectUri] }])
    const drawbridge = await start({ clients })
    expect((await connect(drawbridge, 'reports')).status).toBe(401)
    expect((await connect(drawbridge, 'reports', { client_secret: secret })).status).toBe(200)
  })

  it('a fault in a file stops the start', async () => {
    await expect(startDrawbridge({ clients: write([{}]) })).rejects.toMatchObject({
      name: 'ConfigError',
      problems: [expect.stringContaining('entry 1')],
    })
  })
})
