import { createHash } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeEach, expect, it } from 'vitest'
import { temporaryFolder } from '../../tests/support/temporary-folder.ts'
import type { Client } from '../core/clients/client.ts'
import { type DocumentReading, valueOr } from '../core/document.ts'
import { readClientFile } from './client-file.ts'
import { hashSecret } from '../core/seal.ts'
import { start } from '../../tests/support/server/core/grant-sample.ts'

let folder: string
beforeEach(() => {
  folder = temporaryFolder()
})

const config = { baseUrl: 'https://mcp.example', privateUseRedirectUris: [] }
const redirect_uris = ['https://app.example/callback']
const secret = 'a-secret-of-some-length'
const jwks = { keys: [{ kty: 'EC', crv: 'P-256', x: 'AAAA', y: 'BBBB' }] }

function write(content: unknown): string {
  const path = join(folder, 'clients.json')
  writeFileSync(path, typeof content === 'string' ? content : JSON.stringify(content))
  return path
}

const readFile = (clients: string): DocumentReading<ReadonlyMap<string, Client>> =>
  readClientFile({ ...config, clients }, start)
const clientsOf = (...entries: unknown[]): ReadonlyMap<string, Client> =>
  valueOr(readFile(write(entries)), new Map())
const faultsIn = (path: string): readonly string[] => {
  const reading = readFile(path)
  return reading.kind === 'faulty' ? reading.faults : []
}
const faultsOf = (...entries: unknown[]): readonly string[] => faultsIn(write(entries))

it('the file of clients is read with a public client', () => {
  const clients = clientsOf({ client_id: 'reports', client_name: 'Reports', redirect_uris })
  expect([...clients]).toEqual([
    [
      'reports',
      {
        id: 'reports',
        kind: 'configured',
        name: 'Reports',
        uri: undefined,
        redirectUris: redirect_uris,
        grantTypes: ['authorization_code', 'refresh_token'],
        scope: undefined,
        authMethod: 'none',
        secretHash: undefined,
        keys: undefined,
        managementHash: undefined,
        document: undefined,
        introspects: false,
        createdAt: start,
        expiresAt: undefined,
      },
    ],
  ])
})

it.each<[rule: string, members: object, expected: object]>([
  [
    'a secret makes it confidential, and only its hash is kept',
    { client_secret: secret },
    { authMethod: 'client_secret_basic', secretHash: hashSecret(secret) },
  ],
  [
    'the hash of a secret',
    { client_secret_sha256: createHash('sha256').update(secret).digest('hex').toUpperCase() },
    { authMethod: 'client_secret_basic', secretHash: hashSecret(secret) },
  ],
  [
    'a secret sent in the body',
    { client_secret: secret, token_endpoint_auth_method: 'client_secret_post' },
    { authMethod: 'client_secret_post' },
  ],
  ['keys make it sign', { jwks }, { authMethod: 'private_key_jwt', keys: { kind: 'jwks', keys: jwks.keys } }],
  [
    'a device without redirect URIs',
    { redirect_uris: undefined, grant_types: ['urn:ietf:params:oauth:grant-type:device_code'] },
    { redirectUris: [] },
  ],
  [
    'a resource server signs nobody in',
    { redirect_uris: undefined, client_secret: secret, introspects: true },
    { introspects: true, redirectUris: [], grantTypes: [] },
  ],
  [
    'a client that signs people in and introspects',
    { client_secret: secret, introspects: true },
    { introspects: true, redirectUris: redirect_uris },
  ],
  ['registered members that are not used', { logo_uri: 'https://a.example/l', contacts: ['a'] }, {}],
])('a client of the file: %s', (_rule, members, expected) => {
  expect(clientsOf({ client_id: 'c', redirect_uris, ...members }).get('c')).toMatchObject(expected)
})

it.each<[fault: string, members: object]>([
  ['client_id', { client_id: undefined }],
  ['client_id', { client_id: 'with blank' }],
  ['client_id', { client_id: 'c'.repeat(201) }],
  ['redirect_uris', { redirect_uris: undefined }],
  ['redirect_uris[0]', { redirect_uris: ['http://app.example/'] }],
  ['unknown member "client_secrets". Did you mean client_secret?', { client_secrets: secret }],
  ['unknown member "clïent_secret"', { clïent_secret: secret, '"x"': 1 }],
  ['client_secret must be random', { client_secret: 'short' }],
  ['client_secret must be random', { client_secret: null }],
  ['not both', { client_secret: secret, client_secret_sha256: 'a'.repeat(64) }],
  ['64 hexadecimal digits', { client_secret_sha256: secret }],
  ['none has no client_secret', { client_secret: secret, token_endpoint_auth_method: 'none' }],
  ['client_secret_post needs a client_secret', { token_endpoint_auth_method: 'client_secret_post' }],
  [
    'private_key_jwt has no client_secret',
    { client_secret: secret, token_endpoint_auth_method: 'private_key_jwt' },
  ],
  ['private_key_jwt needs jwks', { token_endpoint_auth_method: 'private_key_jwt' }],
  ['token_endpoint_auth_method', { token_endpoint_auth_method: 'password' }],
  ['introspects must be', { introspects: 'yes' }],
  ['introspects needs a client_secret', { introspects: true, redirect_uris: undefined }],
])('fault: %s in %j', (fault, members) => {
  const [problem, ...more] = faultsOf({ client_id: 'c', redirect_uris, ...members })
  expect(problem).toContain(fault)
  expect(problem).toMatch(/clients\.json: entry 1.*[.?]$/)
  expect(more).toEqual([])
  expect(problem).not.toContain(secret)
})

it('the file of clients reports all faults at once, each with its entry', () => {
  const found = faultsOf(
    { client_id: 'a', redirect_uris },
    7,
    { client_id: 'a', redirect_uris },
    { client_id: 'b' },
  )
  expect(found.map((text) => /entry (\d)/.exec(text)?.[1])).toEqual(['2', '3', '4'])
})

it.each<[rule: string, path: () => string, expected: RegExp]>([
  ['is not there', () => join(folder, 'missing.json'), /^file not found: .*missing\.json\.$/],
  ['is a folder', () => folder, /is a folder, not a file\.$/],
  ['is no JSON', () => write(`[{"client_secret": "${secret}"`), /is not valid JSON(?:, line 1)?\.$/],
  ['is no array', () => write({ client_secret: secret }), /the document must be an array\.$/],
])('fault: the file %s', (_rule, path, expected) => {
  const found = faultsIn(path())
  expect(found).toEqual([expect.stringMatching(expected)])
  expect(found.join('')).not.toContain(secret)
})
