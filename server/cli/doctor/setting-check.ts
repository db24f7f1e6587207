import { isLoopbackHostname } from '@drawbridge/shared/oauth/redirect-uri.ts'
import { type Checks, fail, note, ok, warn } from '@drawbridge/shared/terminal/check.ts'
import { readAccessFile } from '../../config/document-file.ts'
import { providers } from '../../config/provider.ts'
import type { ServerConfig } from '../../config/setting-table.ts'
import { valueOr } from '../../core/document.ts'
import type { ProviderCapabilities } from '../../core/session/session-provider.ts'

const minTokenLifeSeconds = 600

/** Reports the faults of the settings, and which settings were given (`given` has their names). */
export const settingChecks: Checks<{ problems: readonly string[]; given: readonly string[] }> = {
  configuration({ problems, given }) {
    const fix = 'Every setting: drawbridge-server serve --help, or docs/configuration.md'
    if (problems.length > 0) return problems.map((problem) => fail(problem, fix))
    return given.length === 0
      ? ok('Every setting has its default.')
      : ok(`${given.join(', ')}; all others have their defaults.`)
  },
}

/** Checks how the server is reached. The parser of the settings refuses plain http to other hosts. */
export const reachChecks: Checks<
  Pick<ServerConfig, 'baseUrl' | 'listen' | 'trustedProxies' | 'accessTokenTtl'>
> = {
  transport({ baseUrl, listen }) {
    const { hostname, protocol } = new URL(baseUrl)
    const isLocal = isLoopbackHostname(hostname)
    if (isLocal && !isLoopbackHostname(listen.host)) {
      return warn(
        `Others can reach the server on ${listen.host} without TLS, although BASE_URL is for this computer only.`,
        'Set DRAWBRIDGE_BASE_URL to the https URL that others use, or DRAWBRIDGE_LISTEN to 127.0.0.1.',
      )
    }
    return isLocal
      ? ok('Only programs on this computer can connect.')
      : ok(
          `Clients connect by ${protocol.slice(0, -1)}; the proxy that ends TLS passes on to port ${listen.port}.`,
        )
  },
  'trusted-proxies'({ baseUrl, trustedProxies }) {
    if (trustedProxies.length > 0)
      return ok(`X-Forwarded-For of ${trustedProxies.join(', ')} names the client's address.`)
    const { protocol, hostname } = new URL(baseUrl)
    if (protocol === 'http:' && isLoopbackHostname(hostname))
      return ok('Clients connect without a proxy, as BASE_URL is on this computer.')
    return warn(
      "A proxy in front of this server speaks https, but none is trusted to name the client's address: limits per address do not apply.",
      'Set DRAWBRIDGE_TRUSTED_PROXIES to its address, such as 127.0.0.1 or 10.0.0.0/8, or to private.',
    )
  },
  'token-life': ({ accessTokenTtl }) =>
    accessTokenTtl >= minTokenLifeSeconds
      ? undefined
      : warn(
          `Access tokens expire after ${accessTokenTtl} s: clients that refresh up to 5 minutes early do so at every call, or fail.`,
          'Set DRAWBRIDGE_ACCESS_TOKEN_TTL to 10m or more (docs/configuration.md).',
        ),
}

/** `capabilities` are undefined if the provider does not respond. */
export interface ProviderUse {
  config: Pick<ServerConfig, 'access' | 'baseUrl' | 'provider' | 'providerIssuer'>
  capabilities: Pick<ProviderCapabilities, 'confirmsEmail'> | undefined
}

/** Notes what must be configured at the provider, and who may sign in. */
export const providerUseChecks: Checks<ProviderUse> = {
  'redirect-url'({ config: { baseUrl, provider } }) {
    const url = `${baseUrl}/oauth/callback`
    const { isTrial, protocol } = providers[provider]
    if (isTrial) return ok(`${url} is allowed at the embedded provider.`)
    return protocol === 'openid_connect'
      ? note(
          `The client at the provider must have exactly the redirect URI ${url}, which no request can check.`,
          `Register ${url} there.`,
        )
      : note(
          'The project silently replaces a redirect URL that it does not allow by its Site URL, so the sign-in never returns. No request can check that.',
          `Add ${url} to the redirect URLs of the project (Authentication, URL configuration).`,
        )
  },
  access({ config: { provider, providerIssuer, access }, capabilities }) {
    if (access === undefined) {
      const { protocol } = providers[provider]
      const isOpen = protocol === 'openid_connect' && publicIssuers.some((form) => form.test(providerIssuer))
      if (!isOpen) return undefined
      return warn(
        `Anyone can get an account of ${providerIssuer}, and sign in here.`,
        'Limit who may sign in with DRAWBRIDGE_ACCESS; docs/access.md has examples.',
      )
    }
    const rules = valueOr(readAccessFile(access), [])
    const byEmail = rules.some(({ effect, conditions }) => effect === 'allow' && conditions.email)
    if (!byEmail || capabilities?.confirmsEmail !== false) return undefined
    return warn(
      'The provider does not confirm email addresses, so rules that allow by email match no one.',
      'Turn on the confirmation of email addresses at the provider, or write rules on app_metadata.',
    )
  },
}

const publicIssuers = [
  /^https:\/\/accounts\.google\.com$/,
  /^https:\/\/login\.microsoftonline\.com\/(?:common|organizations|consumers|9188040d-6c67-4c5b-b112-36a304b66dad)(?:\/|$)/,
  /^https:\/\/appleid\.apple\.com$/,
]
