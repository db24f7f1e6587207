import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { temporaryFolder } from '../../../tests/support/temporary-folder.ts'
import { createCommandFixture } from '../../../tests/support/server/command-fixture.ts'
import { account, startDrawbridge } from '../../../tests/support/server/drawbridge-fixture.ts'
import { signInToWebApp } from '../../../tests/support/server/web-app-session.ts'
import { ConfigError } from '../../config/config.ts'
import { type CommandOptions, exitCode } from '../command.ts'
import { testAccess } from './access-test.ts'

const unasked = (): Promise<string> => Promise.reject(new Error('No token is wanted.'))

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

function line(settings: Record<string, string> = {}, json = true): ReturnType<typeof createCommandFixture> {
  return createCommandFixture({ ACCESS: access, ...settings }, { json })
}

describe('a person who is described', () => {
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
  ])('%j', async (given, code, facts) => {
    const { input, facts: said } = line()
    expect(await testAccess(input, given, unasked)).toBe(code)
    expect(said()).toMatchObject(facts)
  })

  it('is told about in words', async () => {
    const { input, said } = line({}, false)
    await testAccess(input, { claims: '{"groups":["staff"]}' }, unasked)
    await testAccess(input, { sub: 'x' }, unasked)
    await testAccess(input, { email: 'ada@example.com' }, unasked)
    expect(said().stdout).toBe(
      'Allowed by rule 3: allow {"claim":{"groups":["staff"]}}.\nScopes: mcp\nTools: list_*, but not *_admin\n' +
        'Denied: no rule allows this person.\n' +
        'Allowed by rule 2: allow {"email":["*@example.com"]}.\nScopes: all\nTools: all\n' +
        'Only if the provider has verified the address.\n',
    )
  })

  it('is not promised what the server refuses: this provider confirms no address', async () => {
    const runtime = {
      ...drawbridge.runtime,
      fetch: async (request: Request) => (await drawbridge.app.sandbox?.fetch(request)) ?? Response.error(),
    }
    const { input, said } = createCommandFixture({ ACCESS: access }, { runtime })
    drawbridge.admin.setConfirmation('off')
    expect(await testAccess(input, { email: 'ada@example.com' }, unasked)).toBe(exitCode.failed)
    expect(said().stdout).toMatch(/^Denied: a rule by email would fit, but the address is not verified\./)
  })

  it.each(['[]', '{', '"x"'])('with claims that are no object (%s) is a usage fault', async (claims) => {
    await expect(testAccess(line().input, { claims }, unasked)).rejects.toMatchObject({
      code: exitCode.usage,
    })
  })
})

describe('an access token of the provider', () => {
  const lineAt = (
    change: (path: string, answer: Response) => Response | Promise<Response> = (_path, answer) => answer,
  ): ReturnType<typeof createCommandFixture> => {
    const runtime = {
      ...drawbridge.runtime,
      async fetch(request: Request) {
        const answer = (await drawbridge.app.sandbox?.fetch(request)) ?? Response.error()
        return change(new URL(request.url).pathname, answer)
      },
    }
    return createCommandFixture({ ACCESS: access }, { json: true, runtime })
  }

  it('is verified, its session is looked at, and its claims decide', async () => {
    const session = await signInToWebApp(drawbridge)
    const readToken = async (): Promise<string> => `${session.access_token}\n`
    const { input, facts } = lineAt()
    drawbridge.admin.setConfirmation('done')
    expect(await testAccess(input, {}, readToken)).toBe(exitCode.ok)
    expect(facts()).toMatchObject({ decision: 'allowed', rule: 2 })
    // A provider that confirms no address proves none.
    drawbridge.admin.setConfirmation('off')
    expect(await testAccess(input, {}, readToken)).toBe(exitCode.failed)
    const [{ id } = { id: '' }] = drawbridge.admin.listSessions(
      drawbridge.admin.findUser(account.email)?.id ?? '',
    )
    drawbridge.admin.endSession(id)
    await expect(testAccess(input, {}, readToken)).rejects.toThrow('session of this token has ended')
  })

  it('goes by what the provider says of the person now, as at /mcp', async () => {
    const { access_token: token } = await signInToWebApp(drawbridge)
    drawbridge.admin.setConfirmation('done')
    const { input, facts } = lineAt(async (path, answer) => {
      if (!path.endsWith('/user')) return answer
      return Response.json({ ...((await answer.json()) as object), email: 'mallory@example.com' })
    })
    expect(await testAccess(input, {}, async () => token)).toBe(exitCode.failed)
    expect(facts()).toMatchObject({ decision: 'denied', rule: 1, reason: 'deny_rule' })
  })

  it('promises nothing while the provider does not say whether it confirms addresses', async () => {
    const { access_token: token } = await signInToWebApp(drawbridge)
    const { input } = lineAt((path, answer) =>
      path.endsWith('/settings') ? new Response('', { status: 500 }) : answer,
    )
    await expect(testAccess(input, {}, async () => token)).rejects.toMatchObject({
      nextStep: expect.stringContaining('drawbridge-server doctor') as string,
    })
  })

  it('that is none says so', async () => {
    const readToken = async (): Promise<string> => 'eyJhbGciOiJFUzI1NiJ9.e30.c2ln'
    await expect(testAccess(lineAt().input, {}, readToken)).rejects.toThrow('not a valid one')
  })
})

it('without rules there is nothing to try', async () => {
  const { input } = createCommandFixture({}, {})
  await expect(testAccess(input, { sub: 'x' }, unasked)).rejects.toMatchObject({ code: exitCode.usage })
})

it('rules with faults are a configuration fault, with every one of them', async () => {
  const faulty = join(folder, 'faulty.json')
  writeFileSync(faulty, '{"rules":[{"allow":{"emial":[]}},{"deny":{},"scopes":["mcp"]}]}')
  const { input } = createCommandFixture({ ACCESS: faulty }, {})
  const error = await testAccess(input, { sub: 'x' }, unasked).catch((thrown: unknown) => thrown)
  expect(error).toBeInstanceOf(ConfigError)
  expect((error as ConfigError).problems).toHaveLength(2)
})
