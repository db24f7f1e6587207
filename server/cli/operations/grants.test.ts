import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { temporaryFolder } from '../../../tests/support/temporary-folder.ts'
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

const issuer = 'https://ref.supabase.co/auth/v1'
const settings = {
  PROVIDER: 'supabase',
  PROVIDER_URL: issuer,
  PROVIDER_KEY: 'sb_publishable_test',
  BASE_URL: 'https://mcp.example.com',
  APP_URL: 'https://app.example.com',
  SECRET_KEYS: `test:${Buffer.alloc(32, 1).toString('base64')}`,
}

let folder: string
beforeEach(() => {
  folder = temporaryFolder()
})

describe('grants, beside a running server', () => {
  let runtime: FakeRuntime
  let store: Store
  beforeEach(() => {
    runtime = createFakeRuntime(start + 60)
    store = openSqliteStore(join(folder, 'server.db'))
  })
  afterEach(() => store.close())

  const line = (json = true): CommandFixture =>
    createCommandFixture({ ...settings, STORE: `sqlite:${join(folder, 'server.db')}` }, { json, runtime })

  const person = (sub: string) => ({
    user: { id: `${issuer}#${sub}`, sub, email: `${sub}@example.com`, name: undefined },
  })

  async function listed(options: CommandOptions = {}): Promise<Record<string, unknown>[]> {
    const command = line()
    expect(await operate('grants list', command, options)).toBe(exitCode.ok)
    return command.facts()['grants'] as Record<string, unknown>[]
  }

  const ids = (rows: readonly Record<string, unknown>[]): string[] => rows.map(({ id }) => String(id)).sort()

  async function revoked(
    options: CommandOptions,
    ...operands: readonly string[]
  ): Promise<Record<string, unknown>> {
    const command = line()
    expect(await operate('grants revoke', command, options, { operands })).toBe(exitCode.ok)
    return command.facts()
  }

  it('grants list lists live grants with user, client, times, last address and tool', async () => {
    const { grant } = await addGrant(
      store,
      grantSample('a', { ...person('ada'), workspace: { id: 'sales', name: 'Sales' } }),
    )
    await store.addClient(publicClient({ id: grant.clientId, name: 'The client' }))
    const twoAddresses = { addresses: ['192.0.2.9', '198.51.100.7'], at: start + 20 } as const
    await store.recordGrantUses([
      { grantId: grant.id, usedAt: start + 30, address: '192.0.2.9', tool: 'list_notes', twoAddresses },
    ])
    expect(await listed()).toEqual([
      {
        id: 'grant a',
        sub: 'ada',
        email: 'ada@example.com',
        client_id: 'client a',
        client_name: 'The client',
        scope: 'mcp offline_access',
        workspace: { id: 'sales', name: 'Sales' },
        created_at: start,
        last_used_at: start + 30,
        last_address: '192.0.2.9',
        last_tool: 'list_notes',
        two_addresses: { addresses: ['192.0.2.9', '198.51.100.7'], at: start + 20 },
        expires_at: grant.expiresAt,
        state: 'live',
      },
    ])
  })

  it('grants list prints a page, and where the next begins', async () => {
    for (let n = 100; n < 220; n += 1) await addGrant(store, grantSample(`${n}`))
    expect(await listed()).toHaveLength(120)
    const page = line(false)
    await operate('grants list', page, { limit: '2', after: 'grant 110' })
    const { stdout, stderr } = page.said()
    expect(stdout.match(/^grant \d+/gm)).toEqual(['grant 111', 'grant 112'])
    expect(stderr).toBe('There are more: --after grant 112\n')
    await expect(operate('grants list', page, { limit: '0' })).rejects.toThrow(
      '--limit: expected a whole number from 1 to 10000.',
    )
  })

  it('grants revoke ends one grant, whose token a running server refuses from then on', async () => {
    const { tokens } = await addGrant(store, grantSample('a', person('ada')))
    expect(await store.findAccessToken(tokens.accessHash, start + 60)).toBeDefined()
    expect(await revoked({}, 'grant a')).toEqual({ ok: true, revoked: 1, grants: ['grant a'] })
    expect(await store.findAccessToken(tokens.accessHash, start + 60)).toBeUndefined()
    expect((await store.findGrant('grant a'))?.end).toEqual({ at: start + 60, reason: 'revoked_by_operator' })
    // The first end stays, and repeating the command is not a failure.
    runtime.advance(5)
    expect(await revoked({}, 'grant a')).toMatchObject({ revoked: 0 })
    expect((await store.findGrant('grant a'))?.end?.at).toBe(start + 60)
  })

  it.each([
    ['a person', { user: 'ada' }, ['grant a', 'grant b']],
    ['a client', { client: 'two' }, ['grant b', 'grant c']],
  ])('grants revoke ends all grants of %s, several only with --yes', async (_, choice, chosen) => {
    await addGrant(store, grantSample('a', { ...person('ada'), clientId: 'one' }))
    await addGrant(store, grantSample('b', { ...person('ada'), clientId: 'two' }))
    await addGrant(store, grantSample('c', { ...person('bob'), clientId: 'two' }))
    const failure = await revoked(choice).catch((error: unknown) => error)
    expect(failure).toMatchObject({
      status: 400,
      message: expect.stringContaining('2 grants'),
      nextStep: expect.stringContaining('--yes'),
    })
    expect(await listed()).toHaveLength(3)
    const facts = await revoked({ ...choice, yes: true })
    expect((facts['grants'] as string[]).sort()).toEqual(chosen)
    expect(await listed()).toHaveLength(1)
  })

  it('grants commands find every user with a grant that has the email address', async () => {
    const withAddress = (sub: string, email: string | undefined) => ({
      user: { ...person(sub).user, email },
    })
    await addGrant(store, grantSample('a', withAddress('ada', 'Ada@Example.com')))
    await addGrant(store, grantSample('b', withAddress('ada', undefined)))
    await addGrant(store, grantSample('c', withAddress('other', 'ada@example.com')))
    await addGrant(store, grantSample('d', withAddress('bob', 'bob@example.com')))
    // The Kelvin sign is not a K.
    await addGrant(store, grantSample('e', withAddress('kim', '\u212Aim@example.com')))
    // The sub of a person may be an address as well.
    await addGrant(store, grantSample('f', withAddress('ada@example.com', undefined)))
    const waiting = grantSample('w', withAddress('new', 'ADA@example.com'))
    await store.addAuthorizationCode({ ...waiting.code, expiresAt: start + 120 }, waiting.session)
    const meant = ['grant a', 'grant b', 'grant c', 'grant f', 'grant w']
    expect(ids(await listed({ user: 'ada@example.com' }))).toEqual(meant)
    expect(ids(await listed({ user: 'aDA@example.COM' }))).toEqual(meant.filter((id) => id !== 'grant f'))
    expect(ids(await listed({ user: 'ada@example.com', client: 'client c' }))).toEqual(['grant c'])
    expect(await listed({ user: 'kim@example.com' })).toEqual([])
    expect(await listed({ user: '@' })).toEqual([])
    await expect(revoked({ user: 'ada@example.com' })).rejects.toMatchObject({
      message: expect.stringContaining('5 grants'),
    })
    const facts = await revoked({ user: 'ada@example.com', yes: true })
    expect((facts['grants'] as string[]).toSorted()).toEqual(meant)
    expect(ids(await listed())).toEqual(['grant d', 'grant e'])
  })

  it('grants commands list and end waiting grants, whose tokens were not fetched', async () => {
    const waiting = grantSample('w', { ...person('ada'), clientId: 'two' })
    await store.addAuthorizationCode({ ...waiting.code, expiresAt: start + 120 }, waiting.session)
    expect(await listed({ user: 'ada' })).toMatchObject([
      { id: 'grant w', client_id: 'two', state: 'waiting', expires_at: start + 120 },
    ])
    expect(await listed({ user: 'ada', client: 'one' })).toEqual([])
    const command = line(false)
    await operate('grants list', command)
    expect(command.said().stdout).toMatch(/grant w .*waiting/)
    expect(await revoked({}, 'grant w')).toEqual({ ok: true, revoked: 1, grants: ['grant w'] })
    expect(await store.redeemAuthorizationCode('code w', waiting.tokens, start + 60)).toEqual({
      kind: 'expired',
    })
    expect(await listed()).toEqual([])
  })

  it('grants revoke fails for an unknown grant', async () => {
    await expect(revoked({}, 'grant x')).rejects.toMatchObject({
      message: 'There is no grant "grant x".',
      nextStep: 'List them: drawbridge-server grants list',
      status: 404,
    })
  })

  it('grants list prints the last use and the workspace, and names with control characters escaped', async () => {
    const workspace = { id: 'sales', name: 'Sales\u001B[2J' }
    const { grant } = await addGrant(store, grantSample('a', { ...person('ada'), workspace }))
    await addGrant(store, grantSample('b', person('bob')))
    await store.addClient(publicClient({ id: grant.clientId, name: 'Nice\u001B[2Jclient\u202E\n' }))
    const use = { grantId: grant.id, usedAt: start + 30, address: '192.0.2.9', tool: 'list_notes' }
    await store.recordGrantUses([use])
    const command = line(false)
    await operate('grants list', command)
    const [head, used, unused] = command.said().stdout.split('\n')
    expect(head).toMatch(/client +workspace +created/)
    expect(used).toContain(String.raw`  Sales\u001b[2J  `)
    expect(unused).toMatch(/\(?client b\)? +- +2027-/)
    expect(head).toMatch(/last used +from +tool +ends/)
    expect(used).toMatch(/2027-01-15T08:00Z +192\.0\.2\.9 +list_notes /)
    expect(unused).toMatch(/ - +- +- /)
    expect(used).toContain(String.raw`Nice\u001b[2Jclient\u202e\u000a (client a)`)
  })

  it.each([
    ['nothing', undefined, {}],
    ['a grant and a person', 'g', { user: 'ada' }],
    ['a person and a client', undefined, { user: 'ada', client: 'c' }],
  ])('grants revoke refuses %s', async (_, grantId, given) => {
    const operands = grantId === undefined ? [] : [grantId]
    await expect(operate('grants revoke', line(), given, { operands })).rejects.toMatchObject({
      status: 400,
      message: 'It is not clear which grants are meant.',
    })
  })

  it('grants list says so when there are none', async () => {
    const command = line(false)
    expect(await operate('grants list', command)).toBe(exitCode.ok)
    expect(command.said()).toEqual({ stdout: 'No grants.\n', stderr: '' })
  })
})
