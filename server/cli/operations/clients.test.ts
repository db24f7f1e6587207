import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { temporaryFolder } from '../../../tests/support/temporary-folder.ts'
import { hashSecret } from '../../core/seal.ts'
import type { Store } from '../../core/store.ts'
import { openSqliteStore } from '../../store/sqlite/sqlite.ts'
import {
  type CommandFixture,
  createCommandFixture,
  operate,
} from '../../../tests/support/server/command-fixture.ts'
import { createFakeRuntime, type FakeRuntime } from '../../../tests/support/server/fake-runtime.ts'
import { addGrant, grantSample, start } from '../../../tests/support/server/core/grant-sample.ts'
import { publicClient } from '../../../tests/support/server/core/sign-in-sample.ts'
import { type CommandOptions, exitCode } from '../command.ts'

const key = `k:${Buffer.alloc(32).toString('base64')}`
const redirectUris = ['https://app.example/callback']

let folder: string
beforeEach(() => {
  folder = temporaryFolder()
})

function writeClients(): string {
  const path = join(folder, 'clients.json')
  writeFileSync(
    path,
    JSON.stringify([{ client_id: 'reports', client_name: 'Reports', redirect_uris: redirectUris }]),
  )
  return path
}

const remove = (command: CommandFixture, id: string): Promise<number> =>
  operate('clients remove', command, {}, { operands: [id] })

describe('clients, beside a running server', () => {
  let runtime: FakeRuntime
  let store: Store
  beforeEach(() => {
    runtime = createFakeRuntime(start + 60)
    store = openSqliteStore(join(folder, 'server.db'))
  })
  afterEach(() => store.close())

  const line = (json = true, settings: Record<string, string> = {}): CommandFixture =>
    createCommandFixture(
      {
        STORE: `sqlite:${join(folder, 'server.db')}`,
        SECRET_KEYS: key,
        ...settings,
      },
      { json, runtime },
    )

  it('clients add adds a public client that a running server knows at once', async () => {
    const command = line()
    const options = { name: 'Reports', redirectUri: redirectUris }
    expect(await operate('clients add', command, options)).toBe(exitCode.ok)
    const { client_id: id, ...rest } = command.facts()
    expect(rest).toEqual({ ok: true })
    expect(await store.findClient(String(id))).toMatchObject({
      id: expect.stringMatching(/^mcpc_[A-Za-z0-9_-]{22}$/),
      kind: 'configured',
      name: 'Reports',
      redirectUris,
      grantTypes: ['authorization_code', 'refresh_token'],
      authMethod: 'none',
      secretHash: undefined,
      introspects: false,
      createdAt: start + 60,
      expiresAt: undefined,
    })
  })

  it('clients add makes a service with its scope, its tools and a secret', async () => {
    const command = line()
    const options = { service: 'Nightly report', scope: 'notes:read  mcp', tools: 'list_*, get_note' }
    expect(await operate('clients add', command, options)).toBe(exitCode.ok)
    const { client_id: id, client_secret: secret } = command.facts()
    expect(await store.findClient(String(id))).toMatchObject({
      kind: 'service',
      name: 'Nightly report',
      redirectUris: [],
      grantTypes: ['client_credentials'],
      scope: 'mcp notes:read',
      tools: ['list_*', 'get_note'],
      authMethod: 'client_secret_basic',
      secretHash: hashSecret(String(secret)),
    })
    expect(await store.hasService()).toBe(true)
  })

  it('clients add makes a service that signs with its own key, without a secret', async () => {
    expect(await store.hasService()).toBe(false)
    const jwks = join(folder, 'keys.json')
    const { publicKey } = await crypto.subtle.generateKey({ name: 'ECDSA', namedCurve: 'P-256' }, true, [
      'sign',
      'verify',
    ])
    const key = { ...(await crypto.subtle.exportKey('jwk', publicKey)), kid: 'k' }
    writeFileSync(jwks, JSON.stringify({ keys: [key] }))
    const command = line()
    expect(await operate('clients add', command, { service: 'Signer', jwks })).toBe(exitCode.ok)
    const { client_id: id, client_secret: secret } = command.facts()
    expect(secret).toBeUndefined()
    expect(await store.findClient(String(id))).toMatchObject({
      authMethod: 'private_key_jwt',
      secretHash: undefined,
      scope: 'mcp',
      keys: { kind: 'jwks' },
    })
    expect((await store.findClient(String(id)))?.tools).toBeUndefined()
  })

  it.each<[what: string, options: CommandOptions, text: RegExp]>([
    ['a scope without a service', { redirectUri: redirectUris, scope: 'x' }, /--scope is for a service/],
    ['tools without a service', { redirectUri: redirectUris, tools: 'x' }, /--tools is for a service/],
    ['keys without a service', { redirectUri: redirectUris, jwks: 'x' }, /--jwks is for a service/],
    [
      'a service with a redirect URI',
      { service: 'x', redirectUri: redirectUris },
      /--redirect-uri is for clients of users/,
    ],
    [
      'a service that introspects',
      { service: 'x', introspects: true },
      /--introspects is for clients of users/,
    ],
    ['an empty pattern of tools', { service: 'x', tools: 'a,,b' }, /empty pattern/],
    ['a missing file of keys', { service: 'x', jwks: '/nowhere.json' }, /--jwks: .*ENOENT/],
  ])('clients add refuses %s', async (_what, options, text) => {
    await expect(operate('clients add', line(), options)).rejects.toMatchObject({
      status: 400,
      message: expect.stringMatching(text),
    })
    expect(await store.hasService()).toBe(false)
  })

  it('clients add prints a secret once, and stores its hash', async () => {
    const command = line(false)
    await operate('clients add', command, { redirectUri: redirectUris, secret: true })
    const { stdout, stderr } = command.said()
    const [, id, secret] = /^client_id: (mcpc_\S+)\nclient_secret: (mcps_\S+)\n$/.exec(stdout) ?? []
    expect(stderr).toBe('The secret is not shown again.\n')
    const client = await store.findClient(id ?? '')
    expect(client).toMatchObject({ authMethod: 'client_secret_basic', secretHash: hashSecret(secret ?? '') })
  })

  it('clients add adds a resource server without grant types, and a device', async () => {
    const command = line()
    await operate('clients add', command, { introspects: true })
    const resourceServer = command.facts()
    expect(resourceServer['client_secret']).toMatch(/^mcps_/)
    expect(await store.findClient(String(resourceServer['client_id']))).toMatchObject({
      introspects: true,
      redirectUris: [],
      grantTypes: [],
    })
    const grantTypes = 'refresh_token, urn:ietf:params:oauth:grant-type:device_code'
    await operate('clients add', command, { grantTypes })
    expect(await store.findClient(String(command.facts()['client_id']))).toMatchObject({ redirectUris: [] })
  })

  it.each<[rule: string, options: Partial<CommandOptions>, text: RegExp]>([
    ['no redirect URI', {}, /between 1 and 20 redirect_uris/],
    ['a redirect URI by http', { redirectUri: ['http://app.example/'] }, /redirect_uris\[0\] is refused/],
    [
      'grant types without any of ours',
      { redirectUri: redirectUris, grantTypes: 'password' },
      /grant_types must include/,
    ],
    ['a name that is too long', { redirectUri: redirectUris, name: 'n'.repeat(201) }, /client_name/],
  ])('clients add refuses %s', async (_rule, options, text) => {
    await expect(operate('clients add', line(), options)).rejects.toMatchObject({
      message: expect.stringMatching(text),
      status: 400,
    })
    expect(await store.listClients({ after: '', limit: 10 })).toEqual([])
  })

  it('clients list lists clients of file and store, and unused registrations with --all', async () => {
    await store.addClient(publicClient({ id: 'b', expiresAt: start + 86_400 }))
    await store.addClient(publicClient({ id: 'a', expiresAt: start + 120 * 86_400 }))
    await store.addClient(publicClient({ id: 'gone', expiresAt: start }))
    const command = line(true, { CLIENTS: writeClients() })
    await operate('clients list', command, {})
    const ids = (facts: Record<string, unknown>): unknown[] =>
      (facts['clients'] as { client_id: string }[]).map(({ client_id: id }) => id)
    const few = command.facts()
    expect(ids(few)).toEqual(['reports', 'a'])
    expect(few['unused']).toBe(1)
    await operate('clients list', command, { all: true })
    expect(ids(command.facts())).toEqual(['reports', 'a', 'b'])
  })

  it('clients list --json prints nothing on stderr', async () => {
    await store.addClient(publicClient({ id: 'b', expiresAt: start + 86_400 }))
    const command = line()
    await operate('clients list', command, {})
    expect(command.said().stderr).toBe('')
  })

  it('clients list prints a table with control characters escaped', async () => {
    await store.addClient(publicClient({ id: 'a', name: 'Evil\u001b[2J\u202e', createdAt: start }))
    await store.addClient(publicClient({ id: 'b', expiresAt: start + 86_400 }))
    const command = line(false)
    await operate('clients list', command, {})
    const { stdout, stderr } = command.said()
    expect(stdout).toContain(String.raw`Evil\u001b[2J`)
    expect(stderr).toBe('1 more are registered but unused. To see them: --all\n')
  })

  it('clients remove removes a client and ends its grants', async () => {
    await store.addClient(publicClient({ id: 'mcpc_a' }))
    await addGrant(store, grantSample('a', { clientId: 'mcpc_a' }))
    const command = line()
    expect(await remove(command, 'mcpc_a')).toBe(exitCode.ok)
    expect(command.facts()).toEqual({ ok: true, client_id: 'mcpc_a', removed: true, grants_ended: 1 })
    expect(await store.findClient('mcpc_a')).toBeUndefined()
    const [record] = await store.listGrants({ clientId: 'mcpc_a' }, { after: '', limit: 1 })
    expect(record?.end?.reason).toBe('client_removed')
  })

  it('clients remove says how to refuse a client with a metadata document', async () => {
    const id = 'https://client.example/c'
    await store.addClient(publicClient({ id, kind: 'metadata_document' }))
    const command = line(false)
    await remove(command, id)
    expect(command.said()).toEqual({
      stdout: `Removed ${id}. Grants ended: 0.\n`,
      stderr: "Users can connect it again. To refuse it: --client-documents '!client.example'\n",
    })
  })

  it('clients remove refuses an unknown client, and says how to list the known ones', async () => {
    await expect(remove(line(), 'other')).rejects.toMatchObject({
      message: 'There is no client "other".',
      nextStep: 'List them: drawbridge-server clients list --all',
      status: 404,
    })
  })

  it('clients remove refuses a client of the file', async () => {
    await expect(remove(line(true, { CLIENTS: writeClients() }), 'reports')).rejects.toMatchObject({
      message: expect.stringMatching(/^reports is configured in the file of CLIENTS/),
      nextStep: expect.stringContaining('grants revoke --client reports'),
      status: 409,
    })
  })
})

describe('clients without a store', () => {
  it.each(['clients add', 'clients list', 'clients remove', 'grants list', 'keys list', 'attempts'])(
    '%s refuses a store in memory and a missing store file, and creates none',
    async (words) => {
      const operands = words === 'clients remove' ? ['a'] : []
      const options = words === 'clients add' ? { redirectUri: redirectUris } : {}
      const run = (STORE: string, SECRET_KEYS = key): Promise<number> =>
        operate(words, createCommandFixture({ STORE, SECRET_KEYS }), options, { operands })
      await expect(run('memory:')).rejects.toMatchObject({ status: 400 })
      await expect(run('memory:', '')).rejects.toMatchObject({
        status: 400,
        message: expect.stringMatching(/^A store or key ring in memory is in the process of its server/),
        nextStep: expect.stringContaining('admin API'),
      })
      const path = join(folder, 'none.db')
      await expect(run(`sqlite:${path}`)).rejects.toMatchObject({
        status: 404,
        message: `There is no store ${path}.`,
        nextStep: expect.stringContaining('drawbridge-server serve'),
      })
      expect(existsSync(path)).toBe(false)
    },
  )
})
