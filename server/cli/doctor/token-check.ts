import { readJwt, type UnverifiedJwt } from '@drawbridge/shared/oauth/jwt.ts'
import { ProviderError, type SessionProvider } from '../../core/session/session-provider.ts'
import type { ServerConfig } from '../../config/setting.ts'
import { fail, type Finding, ok, warn } from '@drawbridge/shared/terminal/finding.ts'

type TokenConfig = Pick<
  ServerConfig,
  'provider' | 'providerIssuer' | 'providerAudience' | 'providerJwtSecret' | 'sessionCheck'
>

/** One rule about what a token says: undefined where it holds, else what is wrong and what to do about it. */
type Rule = (jwt: UnverifiedJwt, config: TokenConfig, now: number) => Broken | undefined
interface Broken {
  message: string
  fix: string
}

const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i
const maxIssuedAheadSeconds = 60
const takeUserToken = 'Take the access_token of somebody who is signed in to the web app.'

/** Rules of every provider, by the name of what they are about. */
const commonRules: readonly (readonly [name: string, rule: Rule])[] = [
  [
    'alg',
    ({ header }, { providerJwtSecret }) => {
      const allowed = ['ES256', 'RS256', ...(providerJwtSecret === undefined ? [] : ['HS256'])]
      if (allowed.includes(String(header['alg']))) return undefined
      return {
        message: `It is signed with ${quote(header['alg'])}, not with ${allowed.join(' or ')}.`,
        fix:
          header['alg'] === 'HS256'
            ? 'Set DRAWBRIDGE_PROVIDER_JWT_SECRET, or move the project to asymmetric signing keys.'
            : 'Let the provider sign with ES256 or RS256.',
      }
    },
  ],
  [
    'iss',
    ({ claims: { iss } }, { providerIssuer }) =>
      iss === providerIssuer
        ? undefined
        : {
            message: `iss is ${quote(iss)}, and ${quote(providerIssuer)} is expected.`,
            fix:
              iss === undefined
                ? 'Set GOTRUE_JWT_ISSUER at the provider: without it tokens say nothing about where they come from.'
                : `If that is the provider, set DRAWBRIDGE_PROVIDER_ISSUER=${quote(iss)}`,
          },
  ],
  [
    'aud',
    ({ claims }, { providerAudience }) =>
      [claims['aud']].flat().includes(providerAudience)
        ? undefined
        : {
            message: `aud is ${quote(claims['aud'])}, and ${quote(providerAudience)} is expected.`,
            fix: 'Correct DRAWBRIDGE_PROVIDER_AUDIENCE, or take a token that is meant for this.',
          },
  ],
  [
    'exp',
    ({ expiresAt }, _, now) => {
      if (expiresAt !== undefined && expiresAt > now) return undefined
      const since = expiresAt === undefined ? 'It never expires' : `It expired ${now - expiresAt} s ago`
      return { message: `${since}.`, fix: 'Take a fresh one; also compare the clock above.' }
    },
  ],
  [
    'iat',
    ({ claims: { iat } }, _, now) =>
      typeof iat !== 'number' || iat <= now + maxIssuedAheadSeconds
        ? undefined
        : {
            message: `It was issued ${iat - now} s in the future.`,
            fix: 'Set the clock of this machine by NTP.',
          },
  ],
]

const supabaseRules: readonly (readonly [name: string, rule: Rule])[] = [
  ['sub', claimRule('sub', isUuid, 'is no UUID', takeUserToken)],
  [
    'role',
    claimRule(
      'role',
      (role) => role === 'authenticated',
      'is not "authenticated": this is no user, perhaps an API key',
      takeUserToken,
    ),
  ],
  ['session_id', claimRule('session_id', isUuid, 'is no UUID: it belongs to no session', takeUserToken)],
  [
    'is_anonymous',
    claimRule(
      'is_anonymous',
      (value) => value !== true,
      'is true: anonymous users are refused',
      takeUserToken,
    ),
  ],
  [
    'client_id',
    claimRule(
      'client_id',
      (value) => value === undefined,
      'is there: it was issued to another OAuth client',
      takeUserToken,
    ),
  ],
]

function claimRule(claim: string, holds: (value: unknown) => boolean, problem: string, fix: string): Rule {
  return ({ claims }) => (holds(claims[claim]) ? undefined : { message: `${claim} ${problem}.`, fix })
}

function isUuid(value: unknown): boolean {
  return typeof value === 'string' && uuid.test(value)
}

/** A claim as text: of whoever sent the token, so quoted and cut. */
function quote(value: unknown): string {
  return value === undefined ? 'missing' : JSON.stringify(value).slice(0, 200)
}

/**
 * Which rules for provider tokens `text` passes and fails, one finding each, then what the verifier itself says, and
 * whether the provider says that the session lives, unless sessions are not checked here. The token is in none of them; its issuer, audience, algorithm and ages are.
 */
export async function checkToken(
  text: string,
  config: TokenConfig,
  { verify, probe }: Pick<SessionProvider, 'verify' | 'probe'>,
  now: number,
): Promise<Finding[]> {
  const token = tokenIn(text)
  const jwt = readJwt(token)
  if (!jwt) return [fail('token-form', 'What came on stdin is no JWT.', takeUserToken)]
  if (!verify) {
    return [
      warn(
        'token',
        'With this configuration /mcp takes no tokens of the provider.',
        'For oidc they need DRAWBRIDGE_PROVIDER_AUDIENCE.',
      ),
    ]
  }
  const rules = config.provider === 'oidc' ? commonRules : [...commonRules, ...supabaseRules]
  const findings = rules.map(([name, rule]) => {
    const broken = rule(jwt, config, now)
    return broken ? fail(`token-${name}`, broken.message, broken.fix) : ok(`token-${name}`, 'It passes.')
  })
  const verified = await verdict(token, verify)
  if (verified.state !== 'ok' || !probe || config.sessionCheck === undefined) return [...findings, verified]
  return [...findings, verified, await checkLife(token, probe)]
}

/** What came on stdin, read as a JWT whose signature nobody has looked at; undefined when it is none. */
export function readGivenToken(text: string): UnverifiedJwt | undefined {
  return readJwt(tokenIn(text))
}

function tokenIn(text: string): string {
  return text.trim().replace(/^Bearer +/i, '')
}

/** Whether the session behind a token that is sound still lives, which `/mcp` asks as well. */
async function checkLife(token: string, probe: NonNullable<SessionProvider['probe']>): Promise<Finding> {
  const name = 'token-session'
  try {
    if ((await probe(token)).life === 'live') return ok(name, 'Its session lives at the provider.')
    return fail(
      name,
      'The provider says that its session has ended, so /mcp refuses it.',
      'Sign in to the web app again, and take the new token.',
    )
  } catch (error) {
    if (!(error instanceof ProviderError)) throw error
    return warn(
      name,
      `Whether its session lives cannot be told: ${error.message}`,
      'See the findings about the provider above.',
    )
  }
}

async function verdict(token: string, verify: NonNullable<SessionProvider['verify']>): Promise<Finding> {
  try {
    await verify(token)
    return ok('token', 'The token passes every rule; its signature is verified.')
  } catch (error) {
    if (!(error instanceof ProviderError)) throw error
    if (error.failure === 'invalid_token') {
      return fail(
        'token',
        error.message,
        'See the rules above; with none broken it is the signature or its key.',
      )
    }
    return fail(
      'token',
      `It cannot be verified: ${error.message}`,
      'See the findings about the provider above.',
    )
  }
}
