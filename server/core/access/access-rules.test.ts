import { describe, expect, it } from 'vitest'
import { type AccessRule, createAccessPolicy, type Person } from './access-rules.ts'

const ada: Person = {
  sub: 'user-1',
  email: 'Ada@Example.com',
  emailVerified: true,
  name: undefined,
  providers: ['google', 'email'],
  claims: {
    app_metadata: { role: 'partner', teams: ['red', 7, true], 'a.b': 'x' },
    groups: ['staff', 'admins'],
    'https://example.com/roles': ['owner'],
    level: 5,
  },
}

function outcome(rules: readonly AccessRule[], person: Person = ada): string {
  const { kind, rule } = createAccessPolicy(rules).decide(person)
  return `${kind} by ${rule}`
}

const allow = (conditions: AccessRule['conditions']): AccessRule => ({ effect: 'allow', conditions })
const deny = (conditions: AccessRule['conditions']): AccessRule => ({ effect: 'deny', conditions })

it('the first access rule whose conditions hold decides', () => {
  expect(outcome([deny({ sub: ['user-1'] }), allow({})])).toBe('denied by 1')
  expect(outcome([allow({}), deny({ sub: ['user-1'] })])).toBe('allowed by 1')
  expect(outcome([deny({ sub: ['user-2'] }), allow({})])).toBe('allowed by 2')
})

it('access rules refuse a user whom no rule allows', () => {
  expect(outcome([])).toBe('denied by undefined')
  expect(outcome([allow({ sub: ['user-2'] })])).toBe('denied by undefined')
  expect(outcome([deny({ sub: ['user-2'] })])).toBe('denied by undefined')
})

it('an access rule applies only if all its conditions hold', () => {
  expect(outcome([allow({ sub: ['user-1'], provider: ['google'] })])).toBe('allowed by 1')
  expect(outcome([allow({ sub: ['user-1'], provider: ['github'] })])).toBe('denied by undefined')
  expect(outcome([allow({ claim: { groups: ['staff'], level: [5] } })])).toBe('allowed by 1')
  expect(outcome([allow({ claim: { groups: ['staff'], level: [6] } })])).toBe('denied by undefined')
})

it.each<[named: string, clientId: string | undefined, holds: boolean]>([
  ['mcpc_1', 'mcpc_1', true],
  ['mcpc_1', 'mcpc_10', false],
  ['mcpc_1', 'MCPC_1', false],
  ['claude.ai', 'https://claude.ai/oauth/client.json', true],
  ['Claude.AI', 'https://claude.ai/oauth/client.json', true],
  ['https://claude.ai/oauth/client.json', 'https://claude.ai/oauth/client.json', true],
  ['claude.ai', 'https://claude.ai:8443/client.json', false],
  ['claude.ai:8443', 'https://claude.ai:8443/client.json', true],
  ['claude.ai', 'https://evil.claude.ai/client.json', false],
  ['claude.ai', 'https://claude.ai.evil.example/client.json', false],
  ['claude.ai', 'https://evil.example/claude.ai', false],
  ['claude.ai', 'https://claude.ai@evil.example/', false],
  ['claude.ai', 'claude.ai', true],
  ['personal_token', 'personal_token:CI', true],
  ['personal_token:CI', 'personal_token:CI', true],
  ['personal_token:Other', 'personal_token:CI', false],
  ['personal_token', 'mcpc_personal_token', false],
  ['mcpc_1', undefined, false],
])('the client condition %j holds for %j: %s', (named, clientId, holds) => {
  const person = { ...ada, clientId }
  expect(outcome([deny({ client: ['other', named] }), allow({})], person)).toBe(
    holds ? 'denied by 1' : 'allowed by 2',
  )
  expect(outcome([allow({ client: [named] })], person)).toBe(holds ? 'allowed by 1' : 'denied by undefined')
})

it('a client is confined by a rule of its own before the rule for the others', () => {
  const rules: AccessRule[] = [
    { effect: 'allow', conditions: { client: ['claude.ai'] }, tools: { allow: ['read_*'] } },
    allow({}),
  ]
  const decide = (clientId: string | undefined) => createAccessPolicy(rules).decide({ ...ada, clientId })
  expect(decide('https://claude.ai/c')).toMatchObject({ rule: 1 })
  expect(decide('mcpc_1')).toMatchObject({ rule: 2 })
  expect(decide(undefined)).toMatchObject({ rule: 2 })
})

describe('email', () => {
  it.each<[pattern: string, address: string, holds: boolean]>([
    ['*@example.com', 'ada@example.com', true],
    ['ada@example.com', 'Ada@Example.com', true],
    ['a*a@example.com', 'a@example.com', false],
    ['*@*.example.com', 'ada@mail.example.com', true],
    ['*@example.com', 'ada@example.com.evil.test', false],
    ['*@example.com', 'ada@notexample.com', false],
    ['*@example.com', 'ada@evil.test@example.com', false],
    ['*@exampleXcom', 'ada@example.com', false],
    ['a?a@example.com', 'ada@example.com', false],
    // The Kelvin sign is "k" to toLowerCase.
    ['kate@example.com', '\u{212A}ate@example.com', false],
    ['*@example.com', 'example.com', false],
  ])('the email pattern %s matches the address %s: %s', (pattern, address, holds) => {
    const person = { ...ada, email: address }
    expect(outcome([allow({ email: [pattern] })], person)).toBe(
      holds ? 'allowed by 1' : 'denied by undefined',
    )
  })

  it.each<[pattern: string, address: string, holds: boolean]>([
    ['*@blocked.example', '"a@b"@blocked.example', true],
    ['*@blocked.example', 'x@blocked.example.', true],
    ['"a@b"@blocked.example', '"a@b"@blocked.example', false],
    ['*@blocked.example', '"x@blocked.example"@example.com', false],
    ['*@blocked.example', 'blocked.example', false],
  ])('a rule that refuses %s goes by the domain of %s: %s', (pattern, address, holds) => {
    const person = { ...ada, email: address }
    expect(outcome([deny({ email: [pattern] }), allow({})], person)).toBe(
      holds ? 'denied by 1' : 'allowed by 2',
    )
    expect(outcome([allow({ email: [pattern] })], person)).toBe('denied by undefined')
  })

  it('allow rules ignore an unverified address, deny rules do not', () => {
    const unverified = { ...ada, emailVerified: false }
    expect(outcome([allow({ email: ['*@example.com'] })], unverified)).toBe('denied by undefined')
    expect(outcome([deny({ email: ['*@example.com'] }), allow({})], unverified)).toBe('denied by 1')
  })

  it('an email condition holds if one of several patterns matches', () => {
    const email = ['*@other.example', 'ada@*', '*@third.example']
    expect(outcome([allow({ email })])).toBe('allowed by 1')
    expect(outcome([deny({ email }), allow({})])).toBe('denied by 1')
  })

  it('an email condition does not match a user without an address', () => {
    expect(outcome([allow({ email: ['*@*'] })], { ...ada, email: undefined })).toBe('denied by undefined')
  })

  it('an email condition takes time proportional to the text', () => {
    const person = { ...ada, email: `${'a'.repeat(50_000)}@example.com` }
    expect(outcome([allow({ email: [`${'*a'.repeat(100)}*b@example.com`] })], person)).toBe(
      'denied by undefined',
    )
  })
})

it.each<[path: string, values: (string | number | boolean)[], holds: boolean]>([
  ['app_metadata.role', ['owner', 'partner'], true],
  ['app_metadata.role', ['Partner'], false],
  ['app_metadata.teams', ['red'], true],
  ['app_metadata.teams', ['7'], false],
  ['app_metadata.teams', [true], true],
  ['app_metadata.teams.0', ['red'], false],
  ['groups', ['admins'], true],
  ['https://example.com/roles', ['owner'], true],
  ['level', [5], true],
  ['app_metadata', ['[object Object]'], false],
  ['__proto__.constructor.name', ['Object'], false],
  ['missing.path', ['x'], false],
])('a condition on the claim %s with the values %j holds: %s', (path, values, holds) => {
  expect(outcome([allow({ claim: { [path]: values } })])).toBe(holds ? 'allowed by 1' : 'denied by undefined')
})

const former = { ...ada, claims: {}, formerClaims: ada.claims }

it('a claim that a token has and the provider no longer names counts for deny rules, but not for allow rules', () => {
  expect(outcome([allow({ claim: { groups: ['staff'] } })], former)).toBe('denied by undefined')
  expect(outcome([deny({ claim: { groups: ['staff'] } }), allow({})], former)).toBe('denied by 1')
})

describe('the reason for a refusal', () => {
  const unverified = { ...ada, emailVerified: undefined }
  const byEmail = { email: ['ada@example.com'] }

  it.each<[reason: string, rules: readonly AccessRule[], person: Person]>([
    ['deny_rule', [deny(byEmail), allow(byEmail)], unverified],
    ['deny_rule', [deny({})], ada],
    ['no_rule', [allow({ sub: ['user-2'] })], unverified],
    ['address_not_verified', [allow(byEmail)], unverified],
    ['address_not_verified', [allow(byEmail), deny({})], unverified],
  ])('a refusal gives the reason %s', (reason, rules, person) => {
    expect(createAccessPolicy(rules).decide(person)).toMatchObject({ kind: 'denied', reason })
  })
})

describe('what an allow rule gives', () => {
  const decide = (rule: AccessRule): ReturnType<ReturnType<typeof createAccessPolicy>['decide']> =>
    createAccessPolicy([rule]).decide(ada)

  it('an allow rule without scopes and tools gives all of them', () => {
    expect(decide(allow({}))).toEqual({ kind: 'allowed', rule: 1, scopes: undefined, allowsTool: undefined })
  })

  it.each<[tools: { allow?: string[]; deny?: string[] }, allowed: string[]]>([
    [{ allow: ['list_*'] }, ['list_notes', 'list_admin']],
    [{ allow: ['list_*'], deny: ['*_admin'] }, ['list_notes']],
    [{ deny: ['list_*'] }, ['add_note', 'drop_admin']],
    [{ allow: ['*'], deny: ['*'] }, []],
  ])('an allow rule gives the tools that match %j', (tools, allowed) => {
    const decision = decide({ effect: 'allow', conditions: {}, tools })
    const names = ['list_notes', 'list_admin', 'add_note', 'drop_admin']
    expect(names.filter((name) => decision.kind === 'allowed' && decision.allowsTool?.(name))).toEqual(
      allowed,
    )
  })
})

describe('tools that the rules may offer to a user', () => {
  const allowTools = (tools: object, scopes?: readonly string[]): AccessRule => ({
    effect: 'allow',
    conditions: { sub: ['user-1'] },
    tools,
    ...(scopes && { scopes }),
  })
  it.each<
    [what: string, rules: AccessRule[], name: string | undefined, scope: string | undefined, may: boolean]
  >([
    [
      'a rule that allows some, asked about any tool',
      [allowTools({ allow: ['read_*'] })],
      undefined,
      undefined,
      true,
    ],
    ['a rule that denies everyone, asked about any tool', [deny({}), allow({})], undefined, undefined, false],
    ['no rule', [], 'write', undefined, false],
    ['a rule that denies one user, and no other', [deny({ sub: ['user-2'] })], 'write', undefined, false],
    ['a rule that allows one user everything', [allow({ sub: ['user-1'] })], 'write', 'notes', true],
    ['a rule that allows other tools', [allowTools({ allow: ['read_*'] })], 'write', undefined, false],
    ['a rule that denies the tool', [allowTools({ deny: ['write'] })], 'write', undefined, false],
    ['a second rule that allows it', [allowTools({ deny: ['write'] }), allow({})], 'write', undefined, true],
    ['a rule without the scope', [allowTools({}, ['mcp'])], 'write', 'notes', false],
    ['a rule with the scope', [allowTools({}, ['mcp', 'notes'])], 'write', 'notes', true],
    ['a rule behind one that denies everyone', [deny({}), allow({})], 'write', undefined, false],
    ['a rule before one that denies everyone', [allowTools({}), deny({}), allow({})], 'x', undefined, true],
  ])('access rules offer a tool as their conditions allow: %s', (_what, rules, name, scope, may) => {
    expect(createAccessPolicy(rules).mayOffer(name, scope)).toBe(may)
  })
})
