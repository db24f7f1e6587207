import { isJsonObject } from '@drawbridge/shared/json-object.ts'
import { readJsonText } from '@drawbridge/shared/json-text.ts'
import { readAccessFile } from '../../config/access-file.ts'
import { AccessControl } from '../../core/access/access-control.ts'
import { type AccessDecision, type AccessRule, createAccessPolicy } from '../../core/access/access-rules.ts'
import { type Claims, type Profile, ProviderError } from '../../core/session/session-provider.ts'
import type { ServerConfig } from '../../config/setting.ts'
import { openProvider } from '../../startup/open-provider.ts'
import { CommandFailure, type CommandInput, type ExitCode, exitCode, readConfig } from '../command.ts'

/** The person in question. When nothing is given, an access token of the provider says who it is. */
export interface AccessTestOptions {
  email: string | undefined
  isUnverified: boolean
  sub: string | undefined
  provider: string | undefined
  claims: string | undefined
  /** Reads the token. */
  readToken: () => Promise<string>
}

/**
 * Says which rule of ACCESS decides about a person, and what they may do. Exits with 1 for somebody who may not come in. A token is
 * verified as at `/mcp`, and the provider is asked about its session; a person who is described is believed.
 */
export async function testAccess(input: CommandInput, options: AccessTestOptions): Promise<ExitCode> {
  const config = readConfig(input, ['access'])
  const rules = rulesOf(config)
  const policy = createAccessPolicy(rules)
  const { email, isUnverified, sub, provider, claims } = options
  const isDescribed = [email, sub, provider, claims].some((given) => given !== undefined)
  const person = isDescribed
    ? {
        sub: sub ?? '',
        email,
        emailVerified: email !== undefined && !isUnverified,
        providers: provider === undefined ? [] : [provider],
        claims: readClaims(claims),
      }
    : await personOfToken(config, options.readToken, input)
  const control = new AccessControl({
    policy: () => policy,
    // A person who is described is believed.
    provider: isDescribed ? believed : openProvider(config, input.runtime),
  })
  const decision = await asked(() => control.decide(person.sub, person))
  const rule = decision.rule === undefined ? undefined : rules[decision.rule - 1]
  input.terminal.print(input.json ? JSON.stringify(factsOf(decision, rule)) : textOf(decision, rule))
  return decision.kind === 'allowed' ? exitCode.ok : exitCode.failed
}

const believed: ConstructorParameters<typeof AccessControl>[0]['provider'] = {
  capabilities: async () => ({ password: false, social: [], captcha: undefined, confirmsEmail: true }),
  profileOf: () => ({ email: undefined, emailVerified: false, providers: [], claims: {} }),
}

function rulesOf({ access }: ServerConfig): readonly AccessRule[] {
  if (access === undefined) {
    throw new CommandFailure(
      'There are no access rules: everyone whom the session provider signs in may come in.',
      'Write them to a file and name it with --access; docs/access.md has examples.',
      { code: exitCode.usage },
    )
  }
  const reading = readAccessFile(access)
  return reading.kind === 'rules' ? reading.rules : []
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
  config: ServerConfig,
  readToken: () => Promise<string>,
  { runtime }: CommandInput,
): Promise<Profile & { sub: string }> {
  const provider = openProvider(config, runtime)
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
      'drawbridge-server doctor --token-stdin says more.',
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
    ...(rule && { conditions: rule.conditions }),
    ...(rule?.effect === 'allow' && { scopes: rule.scopes ?? null, tools: rule.tools ?? null }),
  }
}

function textOf(decision: AccessDecision, rule: AccessRule | undefined): string {
  if (decision.rule === undefined || !rule) return 'Denied: no rule allows this person.'
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
