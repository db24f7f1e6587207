import { text } from 'node:stream/consumers'
import { isJsonObject } from '@drawbridge/shared/json-object.ts'
import { readJsonText } from '@drawbridge/shared/json-text.ts'
import { readAccessFile } from '../../config/document-file.ts'
import { valueOr } from '../../core/document.ts'
import { AccessControl } from '../../core/access/access-control.ts'
import { type AccessDecision, type AccessRule, createAccessPolicy } from '../../core/access/access-rules.ts'
import {
  type Claims,
  type Profile,
  type ProviderCapabilities,
  ProviderError,
  type SessionProvider,
} from '../../core/session/session-provider.ts'
import type { ServerConfig } from '../../config/setting-table.ts'
import { openProvider } from '../../startup/open-provider.ts'
import { printFacts, type Terminal } from '../terminal.ts'
import {
  CommandFailure,
  type CommandInput,
  type CommandOptions,
  type ExitCode,
  exitCode,
  readConfig,
} from '../command.ts'

/** Reads stdin to its end. A token is a secret: arguments are visible to every user of the machine. */
export async function readToken({ note }: Pick<Terminal, 'note'>): Promise<string> {
  if (process.stdin.isTTY) note('Paste an access token of the provider, then press Enter and Ctrl-D.')
  return text(process.stdin)
}

type Person = Pick<CommandOptions, 'email' | 'unverified' | 'sub' | 'signsInWith' | 'claims'>

/**
 * Prints which rule of ACCESS decides about a person, described by `options` or else by an access token of the provider, and what it
 * allows. Fails if they are denied. Verifies a token as `/mcp`
 * does, and probes its session; believes a description, except that an address counts as unverified if the provider confirms none.
 */
export async function testAccess(
  input: CommandInput,
  options: Person,
  readToken: () => Promise<string>,
): Promise<ExitCode> {
  const config = readConfig(input, ['access'])
  const rules = rulesOf(config)
  const policy = createAccessPolicy(rules)
  const { email, unverified, sub, signsInWith: provider, claims } = options
  const provided = openProvider(config, input.runtime)
  const isDescribed = [email, sub, provider, claims].some((given) => given !== undefined)
  const person = isDescribed
    ? {
        sub: sub ?? '',
        email,
        emailVerified: email !== undefined && !unverified,
        name: undefined,
        providers: provider === undefined ? [] : [provider],
        claims: readClaims(claims),
      }
    : await personOfToken(provided, readToken)
  const askedProvider = isDescribed
    ? { ...provided, capabilities: () => provided.capabilities().catch(believe) }
    : provided
  const control = new AccessControl({ policy: () => policy, provider: askedProvider })
  const decision = await asked(() => control.decide(person.sub, person))
  const rule = decision.rule === undefined ? undefined : rules[decision.rule - 1]
  const byAddress = policy.decide({ ...person, emailVerified: false }).rule !== decision.rule
  const facts = { ...factsOf(decision, rule), ...(rule && { if_address_is_verified: byAddress }) }
  const texts = [
    textOf(decision, rule),
    ...(byAddress && isDescribed ? ['Only if the provider has verified the address.'] : []),
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

async function personOfToken(
  provider: SessionProvider,
  readToken: () => Promise<string>,
): Promise<Profile & { sub: string }> {
  const { verify } = provider
  if (!verify) {
    throw new CommandFailure(
      'Tokens of this provider cannot be verified: PROVIDER_AUDIENCE is not set.',
      'Describe the person instead: drawbridge-server access test --email ADDRESS --claims JSON',
      { code: exitCode.usage },
    )
  }
  const token = (await readToken()).trim()
  const identity = await asked(() => verify(token))
  const probe = await asked(async () => provider.probe?.(token))
  if (probe && probe.life !== 'live') {
    throw new CommandFailure(
      'The session of this token has ended.',
      'Take the token of somebody who is signed in.',
    )
  }
  return { ...provider.profileOf({ kind: 'identity', identity }, probe?.claims), sub: identity.sub }
}

async function asked<Answer>(ask: () => Promise<Answer>): Promise<Answer> {
  try {
    return await ask()
  } catch (error) {
    if (!(error instanceof ProviderError)) throw error
    throw new CommandFailure(
      error.failure === 'invalid_token'
        ? 'The token is not a valid one of the session provider.'
        : error.message,
      'Take a fresh one of somebody who is signed in; drawbridge-server doctor checks the provider.',
      { cause: error },
    )
  }
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
