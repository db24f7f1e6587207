import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { temporaryFolder } from '../../../tests/support/temporary-folder.ts'
import {
  type CommandFixture,
  createCommandFixture,
  operate,
} from '../../../tests/support/server/command-fixture.ts'
import { startDrawbridge } from '../../../tests/support/server/drawbridge-fixture.ts'
import { ConfigError } from '@drawbridge/shared/settings/setting.ts'
import { type CommandOptions, exitCode } from '../command.ts'

const folder = temporaryFolder(afterAll)
const access = join(folder, 'access.json')
const rules = [
  { deny: { email: ['mallory@example.com'] } },
  { allow: { email: ['*@example.com'] } },
  {
    allow: { claim: { groups: ['staff'] } },
    scopes: ['mcp'],
    tools: { allow: ['list_*'], deny: ['*_admin'] },
  },
]
writeFileSync(access, JSON.stringify({ rules }))
const drawbridge = await startDrawbridge()
afterAll(() => drawbridge.close())

const testAccess = (input: CommandFixture['input'], given: CommandOptions): Promise<number> =>
  operate('access test', { input }, given)

function line(settings: Record<string, string> = {}, json = true): ReturnType<typeof createCommandFixture> {
  return createCommandFixture({ ACCESS: access, ...settings }, { json })
}

describe('access test', () => {
  it.each<[given: CommandOptions, code: number, facts: object]>([
    [
      { email: 'ada@example.com' },
      exitCode.ok,
      { ok: true, decision: 'allowed', rule: 2, scopes: null, tools: null, if_address_is_verified: true },
    ],
    [{ email: 'Mallory@Example.com' }, exitCode.failed, { ok: false, decision: 'denied', rule: 1 }],
    [{ email: 'ada@example.com', unverified: true }, exitCode.failed, { reason: 'address_not_verified' }],
    [
      { claims: '{"groups":["staff"]}' },
      exitCode.ok,
      { rule: 3, scopes: ['mcp'], tools: { allow: ['list_*'] } },
    ],
    [{ sub: 'x' }, exitCode.failed, { decision: 'denied', rule: null }],
  ])('access test decides about a user described by %j', async (given, code, facts) => {
    const { input, facts: said } = line()
    expect(await testAccess(input, given)).toBe(code)
    expect(said()).toMatchObject(facts)
  })

  it('access test prints the rule, scopes and tools in words', async () => {
    const { input, said } = line({}, false)
    await testAccess(input, { claims: '{"groups":["staff"]}' })
    await testAccess(input, { sub: 'x' })
    await testAccess(input, { email: 'ada@example.com' })
    expect(said().stdout).toBe(
      'Allowed by rule 3: allow {"claim":{"groups":["staff"]}}.\nScopes: mcp\nTools: list_*, but not *_admin\n' +
        'Denied: no rule allows this user.\n' +
        'Allowed by rule 2: allow {"email":["*@example.com"]}.\nScopes: all\nTools: all\n' +
        'Only if the provider has verified the address.\n',
    )
  })

  it('access test treats an address as unverified if the provider confirms none', async () => {
    const runtime = {
      ...drawbridge.runtime,
      fetch: async (request: Request) => (await drawbridge.app.sandbox?.fetch(request)) ?? Response.error(),
    }
    const { input, said } = createCommandFixture({ ACCESS: access }, { runtime })
    drawbridge.admin.setConfirmation('off')
    expect(await testAccess(input, { email: 'ada@example.com' })).toBe(exitCode.failed)
    expect(said().stdout).toMatch(/^Denied: a rule by email would fit, but the address is not verified\./)
  })

  it.each<CommandOptions>([{}, { unverified: true }])(
    'access test refuses an incomplete description: %j',
    async (given) => {
      await expect(testAccess(line().input, given)).rejects.toMatchObject({ status: 400 })
    },
  )

  it.each(['[]', '{', '"x"'])('access test refuses claims that are not an object: %s', async (claims) => {
    await expect(testAccess(line().input, { claims })).rejects.toMatchObject({
      status: 400,
    })
  })
})

describe('access test --client', () => {
  const clients = join(folder, 'clients.json')
  const confined = { client: ['mcpc_1'], email: ['*@example.com'] }
  writeFileSync(
    clients,
    JSON.stringify({
      rules: [
        { deny: { client: ['blocked.example', 'mcpc_9'] } },
        { allow: confined, tools: { allow: ['list_*'] } },
        { allow: { sub: ['x'] } },
      ],
    }),
  )
  const email = 'ada@example.com'

  it.each<[given: CommandOptions, code: number, facts: object]>([
    [{ client: 'mcpc_9' }, exitCode.failed, { decision: 'denied', rule: 1, reason: 'deny_rule' }],
    [{ client: 'mcpc_9', sub: 'x' }, exitCode.failed, { rule: 1 }],
    [{ client: 'https://blocked.example/c.json', email }, exitCode.failed, { rule: 1 }],
    [
      { client: 'mcpc_1', email },
      exitCode.ok,
      { rule: 2, conditions: confined, tools: { allow: ['list_*'] } },
    ],
    [{ client: 'mcpc_1', email, unverified: true }, exitCode.failed, { reason: 'address_not_verified' }],
    [{ client: 'mcpc_1' }, exitCode.failed, { rule: null, reason: 'no_rule' }],
    [{ client: 'mcpc_2', sub: 'x' }, exitCode.ok, { rule: 3 }],
    [{ email }, exitCode.failed, { rule: null }],
    [{ sub: 'x' }, exitCode.ok, { rule: 3 }],
  ])('access test decides about the client and user of %j', async (given, code, facts) => {
    const { input, facts: said } = line({ ACCESS: clients })
    expect(await testAccess(input, given)).toBe(code)
    expect(said()).toMatchObject(facts)
  })

  it('access test names the rule about a client, and that it depends on the address', async () => {
    const { input, said } = line({ ACCESS: clients }, false)
    await testAccess(input, { client: 'mcpc_9' })
    await testAccess(input, { client: 'mcpc_1', email })
    expect(said().stdout).toBe(
      'Denied by rule 1: deny {"client":["blocked.example","mcpc_9"]}.\n' +
        'Allowed by rule 2: allow {"email":["*@example.com"],"client":["mcpc_1"]}.\nScopes: all\nTools: list_*\n' +
        'Only if the provider has verified the address.\n',
    )
  })
})

it('access test refuses to run without rules', async () => {
  const { input } = createCommandFixture({}, {})
  await expect(testAccess(input, { sub: 'x' })).rejects.toMatchObject({ status: 400 })
})

it('access test reports every fault of the rules', async () => {
  const faulty = join(folder, 'faulty.json')
  writeFileSync(faulty, '{"rules":[{"allow":{"emial":[]}},{"deny":{},"scopes":["mcp"]}]}')
  const { input } = createCommandFixture({ ACCESS: faulty }, {})
  const error = await testAccess(input, { sub: 'x' }).catch((thrown: unknown) => thrown)
  expect(error).toBeInstanceOf(ConfigError)
  expect((error as ConfigError).problems).toHaveLength(2)
})
