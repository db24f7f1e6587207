import { readAccessFile } from '../../config/access-file.ts'
import type { ServerConfig } from '../../config/setting.ts'
import type { ProviderCapabilities } from '../../core/session/session-provider.ts'
import { type Finding, note, ok, warn } from '@drawbridge/shared/terminal/finding.ts'

/** What the `/token` endpoint of a Supabase project allows one address, by default: 150 in five minutes. */
const tokenCallsPerMinute = 30

/** The embedded provider is not for others. */
export function noteEmbedded(): Finding {
  return warn(
    'embedded-provider',
    'The embedded provider, its stand-in Google and the demo web app are for trying out only.',
    'Set DRAWBRIDGE_PROVIDER to supabase or oidc to put this in front of a web app.',
  )
}

/** The address to allow at the provider. Whether it is allowed cannot be asked from outside. */
export function noteRedirectUrl({ baseUrl, provider }: Pick<ServerConfig, 'baseUrl' | 'provider'>): Finding {
  const name = 'redirect-url'
  const url = `${baseUrl}/oauth/callback`
  if (provider === 'embedded') return ok(name, `${url} is allowed at the embedded provider.`)
  if (provider === 'oidc') {
    return note(
      name,
      `The client at the provider must have the redirect URI ${url}, to the letter; that cannot be seen from outside.`,
      `Register ${url} there.`,
    )
  }
  return note(
    name,
    'A redirect URL that the project does not allow is silently replaced by its Site URL, and the sign-in never comes back; that cannot be seen from outside.',
    `Add ${url} to the redirect URLs of the project (Authentication, URL configuration).`,
  )
}

/** What may end the sessions behind connections before their time. */
export function noteSessionLimits({
  provider,
  sessionTtl,
}: Pick<ServerConfig, 'provider' | 'sessionTtl'>): Finding[] {
  const days = sessionTtl / 86_400
  const length =
    days >= 2 ? `${Math.round(days * 10) / 10} days` : `${Math.round(sessionTtl / 360) / 10} hours`
  const name = 'session-limits'
  if (provider === 'embedded') return []
  if (provider === 'oidc') {
    return [
      note(
        name,
        `Connections last ${length} only if the provider's refresh tokens do; that cannot be seen from outside.`,
        'Look at the idle and maximum life of sessions and offline sessions at the provider.',
      ),
    ]
  }
  return [
    note(
      name,
      `Three settings of the project end connections before their ${length}: time-box, inactivity timeout and single session per user; they cannot be seen from outside.`,
      'Look at them under Authentication, Sessions. With a single session, connecting a client signs the user out of the web app, and of every other client they connected.',
    ),
  ]
}

/** Sign-ins and refreshes come from one address and share one limit of the project. */
export function noteRateLimit({
  provider,
  signInLimit,
}: Pick<ServerConfig, 'provider' | 'signInLimit'>): Finding[] {
  if (provider !== 'supabase') return []
  const name = 'rate-limit'
  const allowed = `${tokenCallsPerMinute} sign-ins and refreshes a minute from one address`
  if (signInLimit < tokenCallsPerMinute) {
    return [
      ok(
        name,
        `DRAWBRIDGE_SIGN_IN_LIMIT leaves ${tokenCallsPerMinute - signInLimit} of the ${allowed} that a project allows by default to refreshes.`,
      ),
    ]
  }
  return [
    warn(
      name,
      `DRAWBRIDGE_SIGN_IN_LIMIT is ${signInLimit}; a project allows ${allowed} by default, so a flood of sign-ins keeps sessions from being refreshed.`,
      `Set it below ${tokenCallsPerMinute}, or raise the token refresh limit of the project first.`,
    ),
  ]
}

/** Whether `/mcp` takes credentials that were not made for it. */
export function noteSessionTokens({
  provider,
  providerAudience,
  sessionTokens,
}: Pick<ServerConfig, 'provider' | 'providerAudience' | 'sessionTokens'>): Finding {
  const name = 'session-tokens'
  if (!sessionTokens) return ok(name, 'Off: /mcp takes nothing but tokens of this server.')
  if (provider === 'oidc') {
    return providerAudience === undefined
      ? ok(name, 'Without DRAWBRIDGE_PROVIDER_AUDIENCE /mcp takes nothing but tokens of this server.')
      : ok(name, `/mcp also takes access tokens of the provider for ${providerAudience}.`)
  }
  return ok(
    name,
    'On: /mcp also takes access tokens of the provider and the session cookie. DRAWBRIDGE_SESSION_TOKENS=off ends that.',
  )
}

const publicIssuers = [
  /^https:\/\/accounts\.google\.com$/,
  /^https:\/\/login\.microsoftonline\.com\/(?:common|organizations|consumers|9188040d-6c67-4c5b-b112-36a304b66dad)(?:\/|$)/,
  /^https:\/\/appleid\.apple\.com$/,
]

/** Who may come in, where that is easily overlooked. `capabilities` are undefined when the provider does not answer. */
export function noteAccess(
  { provider, providerIssuer, access }: Pick<ServerConfig, 'provider' | 'providerIssuer' | 'access'>,
  capabilities: Pick<ProviderCapabilities, 'confirmsEmail'> | undefined,
): Finding[] {
  const name = 'access'
  if (access === undefined) {
    if (provider !== 'oidc' || !publicIssuers.some((form) => form.test(providerIssuer))) return []
    return [
      warn(
        name,
        `Everybody in the world can have an account of ${providerIssuer}, and may come in.`,
        'Say who may with DRAWBRIDGE_ACCESS; docs/access.md has examples.',
      ),
    ]
  }
  const reading = readAccessFile(access)
  const rules = reading.kind === 'rules' ? reading.rules : []
  const byEmail = rules.some(({ effect, conditions }) => effect === 'allow' && conditions.email)
  if (!byEmail || capabilities?.confirmsEmail !== false) return []
  return [
    warn(
      name,
      'The provider confirms no email addresses, so no rule that allows by email lets anybody in.',
      'Turn on the confirmation of email addresses at the provider, or let rules ask for app_metadata.',
    ),
  ]
}
