import { isJsonObject } from '@drawbridge/shared/json-object.ts'
import { readJwt } from '@drawbridge/shared/oauth/jwt.ts'
import { type Accounts, createAccounts } from './accounts.ts'
import type { OpenTarget, Target } from './target.ts'
import { codeOf, createCaseFetch, createWire, textOf, type Wire } from './wire.ts'

/** Properties of the server's own tokens, as found. */
interface TokenFacts {
  /** A token of a live session. */
  sample: string
  algorithm: string
  issuer: string | undefined
  audience: string
  role: unknown
}

/** Reasons why something cannot be checked at this server; undefined where it can. */
interface Lacks {
  /** Accounts with a usable password. */
  accounts: string | undefined
  /** Accounts that are banned, unconfirmed or deleted. */
  admin: string | undefined
  social: string | undefined
  /** Single sign-on; whether a domain has it is another matter. */
  sso: string | undefined
  /** Verification by our own verifier. */
  verifier: string | undefined
}

/** A server with its detected features. */
export interface ContractServer extends OpenTarget {
  accounts: Accounts
  token: TokenFacts | undefined
  lacks: Lacks
  /** Requires a captcha that the tests cannot solve. */
  hasCaptcha: boolean
  /** Creates requests without a client, from a separate address. */
  wire(): Wire
}

/** Opens `target` and detects its features. */
export async function openContractServer(target: Target): Promise<ContractServer> {
  const open = await target.open()
  const wire = (): Wire => createWire(open.authUrl, open.apiKey, createCaseFetch())
  try {
    const found = await discover(open, wire)
    return {
      ...open,
      ...found,
      wire,
      async close() {
        if (!open.levers) await found.accounts.clean()
        await open.close()
      },
    }
  } catch (error) {
    await open.close()
    throw error
  }
}

async function discover(
  open: OpenTarget,
  wire: () => Wire,
): Promise<Pick<ContractServer, 'accounts' | 'token' | 'lacks' | 'hasCaptcha'>> {
  const settings = await wire()('GET', '/settings')
  const external = isJsonObject(settings.body?.['external']) ? settings.body['external'] : undefined
  if (!external) throw new Error(`${open.authUrl}/settings answered ${settings.status}: is this an auth API?`)
  const hasCaptcha = await asksForCaptcha(wire())
  const canSignUp = settings.body?.['mailer_autoconfirm'] === true && settings.body['disable_signup'] !== true
  const accounts = createAccounts({ wire, serviceKey: open.serviceKey, canSignUp: canSignUp && !hasCaptcha })
  const admin =
    open.serviceKey === undefined
      ? 'GOTRUE_SERVICE_KEY is not set'
      : await refusedAdmin(open.serviceKey, wire())
  const accountsLack = lackOfAccounts(external['email'] === true, hasCaptcha, canSignUp, admin)
  const token = accountsLack === undefined ? await readToken(accounts, wire()) : undefined
  return {
    accounts,
    token,
    hasCaptcha,
    lacks: {
      accounts: accountsLack,
      admin: accountsLack ?? admin,
      social:
        external[open.socialProvider] === true
          ? undefined
          : `${open.socialProvider} is switched off at this server`,
      sso: lackOfSso(settings.body?.['saml_enabled'] === true, hasCaptcha),
      verifier: lackOfVerifier(token, open.jwtSecret),
    },
  }
}

async function asksForCaptcha(wire: Wire): Promise<boolean> {
  const body = { email: 'nobody@example.com', password: 'not a real password' }
  return codeOf(await wire('POST', '/token?grant_type=password', { body })) === 'captcha_failed'
}

async function refusedAdmin(serviceKey: string, wire: Wire): Promise<string | undefined> {
  const { status } = await wire('GET', '/admin/users?page=1&per_page=1', {
    apiKey: serviceKey,
    bearer: serviceKey,
  })
  return status === 200 ? undefined : `GOTRUE_SERVICE_KEY is refused at /admin/users with ${status}`
}

function lackOfAccounts(
  hasPasswords: boolean,
  hasCaptcha: boolean,
  canSignUp: boolean,
  adminLack: string | undefined,
): string | undefined {
  if (!hasPasswords) return 'passwords are switched off at this server'
  if (hasCaptcha) return 'it requires a captcha that the tests cannot solve'
  return canSignUp || adminLack === undefined ? undefined : `sign-ups have to be confirmed, and ${adminLack}`
}

function lackOfSso(hasSaml: boolean, hasCaptcha: boolean): string | undefined {
  if (!hasSaml) return 'SAML is switched off at this server'
  return hasCaptcha ? 'it requires a captcha that the tests cannot solve' : undefined
}

async function readToken(accounts: Accounts, wire: Wire): Promise<TokenFacts> {
  const { email, password } = await accounts.shared()
  const answer = await wire('POST', '/token?grant_type=password', { body: { email, password } })
  const sample = textOf(answer, 'access_token')
  const jwt = readJwt(sample)
  if (!jwt) throw new Error('The access token is not a JWT.')
  const { iss, aud, role } = jwt.claims
  return {
    sample,
    algorithm: String(jwt.header['alg']),
    issuer: typeof iss === 'string' ? iss : undefined,
    audience: String(Array.isArray(aud) ? aud[0] : aud),
    role,
  }
}

function lackOfVerifier(token: TokenFacts | undefined, jwtSecret: string | undefined): string | undefined {
  if (!token) return 'there is no token to inspect'
  if (token.issuer === undefined) return 'tokens have no iss: GOTRUE_JWT_ISSUER is not set at the server'
  if (token.role !== 'authenticated')
    return 'tokens have no role "authenticated": see GOTRUE_JWT_DEFAULT_GROUP_NAME'
  return token.algorithm === 'HS256' && jwtSecret === undefined
    ? 'tokens are signed with HS256, and GOTRUE_JWT_SECRET is not set'
    : undefined
}
