import { isJsonObject } from '@drawbridge/shared/json-object.ts'
import { readJsonText } from '@drawbridge/shared/json-text.ts'
import { z } from 'zod'
import { readAccessFile } from '../../config/document-file.ts'
import { valueOr } from '../../core/document.ts'
import { AccessControl } from '../../core/access/access-control.ts'
import { type AccessRule, createAccessPolicy, type Person } from '../../core/access/access-rules.ts'
import { type Claims, type ProviderCapabilities, ProviderError } from '../../core/session/session-provider.ts'
import type { ServerConfig } from '../../config/setting-table.ts'
import { openProvider } from '../../startup/open-provider.ts'
import { operation, OperatorRefusal, optionalText, switchParameter } from '../../core/operator/operation.ts'
import type { CommandPorts } from './command-ports.ts'

const inputSchema = z.strictObject({
  email: optionalText('the email address, which counts as verified', '<address>'),
  unverified: switchParameter('the address is not verified'),
  sub: optionalText('the id at the session provider', '<sub>'),
  signsInWith: optionalText('how the account signs in, such as google', '<name>'),
  client: optionalText('the id of the client that acts for the user', '<id>'),
  claims: optionalText('the claims, as a JSON object', '<json>'),
})

const patterns = z.array(z.string()).readonly().optional()

const factsSchema = z.object({
  ok: z.boolean(),
  decision: z.enum(['allowed', 'denied']),
  rule: z.int().nullable().describe('counts from 1; null if none matches'),
  reason: z.string().optional(),
  conditions: z.looseObject({}).optional(),
  scopes: z.array(z.string()).readonly().nullable().optional().describe('null: all'),
  tools: z.object({ allow: patterns, deny: patterns }).nullable().optional().describe('null: all'),
  if_address_is_verified: z.boolean().optional(),
})

type AccessFacts = z.output<typeof factsSchema>

/** Believes the description of the user, except that an address counts as unverified if the provider confirms none. */
export const testAccessOperation = operation({
  summary: 'Show which access rule applies to a user, and what it allows.',
  input: inputSchema,
  result: factsSchema,
  command: {
    usage: 'access test',
    examples: [
      'access test --email ada@example.com',
      `access test --sub 8f14e45f-ceea-467f-a0e6-1c2d3e4f5a6b --claims '{"app_metadata":{"role":"partner"}}' --json`,
    ],
    settings: ['access', 'provider', 'providerUrl'],
    text: textOf,
  },
  async handle(given, { config, runtime }: CommandPorts) {
    const rules = rulesOf(config)
    const policy = createAccessPolicy(rules)
    if (
      [given.email, given.sub, given.signsInWith, given.client, given.claims].every(
        (each) => each === undefined,
      )
    ) {
      throw new OperatorRefusal(
        400,
        'No user is described.',
        'Describe one: drawbridge-server access test --email ADDRESS --claims JSON',
      )
    }
    const user = describe(given)
    const provided = openProvider(config, runtime)
    const provider = { ...provided, capabilities: () => provided.capabilities().catch(believe) }
    const decision = await new AccessControl({ policy: () => policy, provider }).decide(
      user.sub,
      user,
      given.client,
    )
    const rule = decision.rule === undefined ? undefined : rules[decision.rule - 1]
    const byAddress = policy.decide({ ...user, emailVerified: false }).rule !== decision.rule
    return {
      ok: decision.kind === 'allowed',
      decision: decision.kind,
      rule: decision.rule ?? null,
      ...(decision.kind === 'denied' && { reason: decision.reason }),
      ...(rule && { conditions: { ...rule.conditions }, if_address_is_verified: byAddress }),
      ...(rule?.effect === 'allow' && { scopes: rule.scopes ?? null, tools: rule.tools ?? null }),
    }
  },
})

function describe({
  email,
  unverified,
  sub = '',
  signsInWith,
  client,
  claims,
}: z.output<typeof inputSchema>): Person {
  return {
    sub,
    email,
    emailVerified: email !== undefined && !unverified,
    name: undefined,
    providers: signsInWith === undefined ? [] : [signsInWith],
    clientId: client,
    claims: readClaims(claims),
  }
}

/** Believes a description if the provider cannot say whether it confirms addresses. */
async function believe(error: unknown): Promise<ProviderCapabilities> {
  if (!(error instanceof ProviderError)) throw error
  return { password: false, social: [], captcha: undefined, confirmsEmail: true }
}

function rulesOf({ access }: ServerConfig): readonly AccessRule[] {
  if (access === undefined) {
    throw new OperatorRefusal(
      400,
      'There are no access rules: everyone the session provider signs in has access.',
      'Write rules to a file and name it with --access: docs/access.md has examples.',
    )
  }
  return valueOr(readAccessFile(access), [])
}

function readClaims(text: string | undefined): Claims {
  if (text === undefined) return {}
  const json = readJsonText(text)
  if (json.kind === 'json' && isJsonObject(json.value)) return json.value
  throw new OperatorRefusal(400, '--claims takes a JSON object.', `Such as --claims '{"groups":["staff"]}'.`)
}

const unverifiedText =
  'Denied: a rule by email would fit, but the address is not verified.\nSee whether the provider confirms addresses (Supabase: Confirm email), or write a rule about something else.'

function textOf({ rule, reason, ...facts }: AccessFacts): string {
  if (rule === null) {
    return reason === 'address_not_verified' ? unverifiedText : 'Denied: no rule allows this user.'
  }
  const conditions = JSON.stringify(facts.conditions)
  const whom = conditions === '{}' ? 'everyone' : conditions
  if (facts.decision === 'denied') return `Denied by rule ${rule}: deny ${whom}.`
  return [
    `Allowed by rule ${rule}: allow ${whom}.`,
    `Scopes: ${facts.scopes?.join(' ') ?? 'all'}`,
    `Tools: ${toolsText(facts.tools ?? {})}`,
    ...(facts.if_address_is_verified ? ['Only if the provider has verified the address.'] : []),
  ].join('\n')
}

function toolsText({ allow, deny }: NonNullable<AccessFacts['tools']>): string {
  return `${allow?.join(', ') ?? 'all'}${deny ? `, but not ${deny.join(', ')}` : ''}`
}
