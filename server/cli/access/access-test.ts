import { isJsonObject } from '@drawbridge/shared/json-object.ts'
import { readJsonText } from '@drawbridge/shared/json-text.ts'
import { readAccessFile } from '../../config/document-file.ts'
import { valueOr } from '../../core/document.ts'
import { AccessControl } from '../../core/access/access-control.ts'
import { type AccessDecision, type AccessRule, createAccessPolicy } from '../../core/access/access-rules.ts'
import { type Claims, type ProviderCapabilities, ProviderError } from '../../core/session/session-provider.ts'
import type { ServerConfig } from '../../config/setting-table.ts'
import { openProvider } from '../../startup/open-provider.ts'
import { printFacts } from '../terminal.ts'
import {
  CommandFailure,
  type CommandInput,
  type CommandOptions,
  type ExitCode,
  exitCode,
  readConfig,
} from '../command.ts'

type Person = Pick<CommandOptions, 'email' | 'unverified' | 'sub' | 'signsInWith' | 'claims'>

/**
 * Prints which rule of ACCESS decides about a person, whom `options` describe, and what it allows. Fails if they are denied. Believes
 * the description, except that an address counts as unverified if the provider confirms none.
 */
export async function testAccess(input: CommandInput, options: Person): Promise<ExitCode> {
  const config = readConfig(input, ['access'])
  const rules = rulesOf(config)
  const policy = createAccessPolicy(rules)
  const { email, unverified, sub = '', signsInWith: signIn, claims } = options
  if ([email, options.sub, signIn, claims].every((given) => given === undefined)) {
    throw new CommandFailure(
      'It is not said who is meant.',
      'Describe the person: drawbridge-server access test --email ADDRESS --claims JSON',
      { code: exitCode.usage },
    )
  }
  const person = {
    sub,
    email,
    emailVerified: email !== undefined && !unverified,
    name: undefined,
    providers: signIn === undefined ? [] : [signIn],
    claims: readClaims(claims),
  }
  const provided = openProvider(config, input.runtime)
  const provider = { ...provided, capabilities: () => provided.capabilities().catch(believe) }
  const decision = await new AccessControl({ policy: () => policy, provider }).decide(sub, person)
  const rule = decision.rule === undefined ? undefined : rules[decision.rule - 1]
  const byAddress = policy.decide({ ...person, emailVerified: false }).rule !== decision.rule
  const facts = { ...factsOf(decision, rule), ...(rule && { if_address_is_verified: byAddress }) }
  const texts = [
    textOf(decision, rule),
    ...(byAddress ? ['Only if the provider has verified the address.'] : []),
  ]
  printFacts(input, facts, texts.join('\n'))
  return decision.kind === 'allowed' ? exitCode.ok : exitCode.failed
}

/** Believes a description if the provider cannot say whether it confirms addresses. */
async function believe(error: unknown): Promise<ProviderCapabilities> {
  if (!(error instanceof ProviderError)) throw error
  return { password: false, social: [], captcha: undefined, confirmsEmail: true }
}

function rulesOf({ access }: ServerConfig): readonly AccessRule[] {
  if (access === undefined) {
    throw new CommandFailure(
      'There are no access rules: everyone whom the session provider signs in may come in.',
      'Write them to a file and name it with --access; docs/access.md has examples.',
      { code: exitCode.usage },
    )
  }
  return valueOr(readAccessFile(access), [])
}

function readClaims(text: string | undefined): Claims {
  if (text === undefined) return {}
  const json = readJsonText(text)
  if (json.kind === 'json' && isJsonObject(json.value)) return json.value
  throw new CommandFailure('--claims takes a JSON object.', `Such as --claims '{"groups":["staff"]}'.`, {
    code: exitCode.usage,
  })
}

function factsOf(decision: AccessDecision, rule: AccessRule | undefined): object {
  const { kind } = decision
  return {
    ok: kind === 'allowed',
    decision: kind,
    rule: decision.rule ?? null,
    ...(decision.kind === 'denied' && { reason: decision.reason }),
    ...(rule && { conditions: rule.conditions }),
    ...(rule?.effect === 'allow' && { scopes: rule.scopes ?? null, tools: rule.tools ?? null }),
  }
}

const unverifiedText =
  'Denied: a rule by email would fit, but the address is not verified.\nSee whether the provider confirms addresses (Supabase: Confirm email), or write a rule about something else.'

function noRuleText(decision: AccessDecision): string {
  const isUnverified = decision.kind === 'denied' && decision.reason === 'address_not_verified'
  return isUnverified ? unverifiedText : 'Denied: no rule allows this person.'
}

function textOf(decision: AccessDecision, rule: AccessRule | undefined): string {
  if (!rule) return noRuleText(decision)
  const lines = [
    `${decision.kind === 'allowed' ? 'Allowed' : 'Denied'} by rule ${decision.rule}: ${conditionText(rule)}.`,
  ]
  if (rule.effect === 'allow') {
    lines.push(
      `Scopes: ${rule.scopes?.join(' ') ?? 'all'}`,
      `Tools: ${rule.tools?.allow?.join(', ') ?? 'all'}${rule.tools?.deny ? `, but not ${rule.tools.deny.join(', ')}` : ''}`,
    )
  }
  return lines.join('\n')
}

function conditionText({ effect, conditions }: AccessRule): string {
  const text = JSON.stringify(conditions)
  return text === '{}' ? `${effect} everybody` : `${effect} ${text}`
}
