import { isJsonObject } from '@drawbridge/shared/json-object.ts'
import type { Runtime } from '@drawbridge/shared/runtime.ts'
import {
  type Captcha,
  type EmailMethod,
  type ProviderCapabilities,
  ProviderError,
  type SocialMethod,
} from '../../core/session/session-provider.ts'
import { type AppClientConfig, appMethod } from './app-client.ts'

const freshSeconds = 60

// Entries of `external` that are not social providers.
const notSocial = /^(?:email|phone|anonymous_users|saml|sso|passkeys?|web3.*)$/

/** Settings that the auth API does not report about itself. */
export interface OfferedMethods {
  /** Our client of the OAuth server. */
  client?: AppClientConfig | undefined
  /** Social sign-in methods to offer, by name; undefined offers what the provider reports. */
  social: readonly string[] | undefined
  captcha: Captcha | undefined
  /** Whether to offer a password where the provider has them. */
  password: boolean
  /** The content of its mails, which the provider does not report; undefined offers none. */
  email: EmailMethod | undefined
}

/**
 * Creates the function that returns the provider's capabilities from its `/settings`, fetched by `ask` once a minute. An outdated
 * response is better than no login page: if fetching fails, the last one is used for another minute.
 */
export function createCapabilities(
  ask: () => Promise<unknown>,
  offered: OfferedMethods,
  runtime: Pick<Runtime, 'now'>,
): () => Promise<ProviderCapabilities> {
  let known: { askedAt: number; capabilities: ProviderCapabilities } | undefined
  let asking: Promise<ProviderCapabilities> | undefined

  async function refresh(): Promise<ProviderCapabilities> {
    try {
      const settings = await ask()
      const enabled = enabledMethods(settings)
      const social = offered.social ?? googleFirst(enabled.filter((name) => !notSocial.test(name)))
      const label = offered.client?.label
      const app = label === undefined ? [] : [{ id: appMethod, label }]
      const capabilities = {
        password: offered.password && enabled.includes('email'),
        email: enabled.includes('email') ? offered.email : undefined,
        social: [...app, ...social.map(describeSocialMethod)],
        sso: isJsonObject(settings) && settings['saml_enabled'] === true,
        captcha: offered.captcha,
        // With autoconfirm every address counts as confirmed, even a mistyped one.
        confirmsEmail: isJsonObject(settings) && settings['mailer_autoconfirm'] === false,
      }
      known = { askedAt: runtime.now(), capabilities }
      return capabilities
    } catch (error) {
      if (!known) throw error
      known = { ...known, askedAt: runtime.now() }
      return known.capabilities
    } finally {
      asking = undefined
    }
  }

  return async () => {
    if (known && runtime.now() - known.askedAt < freshSeconds) return known.capabilities
    // Calls at /mcp need the result too: an API that hangs must hold up one of them, not all.
    if (known && asking) return known.capabilities
    return (asking ??= refresh())
  }
}

function googleFirst(names: readonly string[]): readonly string[] {
  return names.toSorted((a, b) => Number(b === 'google') - Number(a === 'google'))
}

function enabledMethods(settings: unknown): string[] {
  const external = isJsonObject(settings) ? settings['external'] : undefined
  if (!isJsonObject(external)) {
    throw new ProviderError('protocol', 'The settings of the auth API have no external member.')
  }
  return Object.keys(external).filter((name) => external[name] === true)
}

const labels: ReadonlyMap<string, string> = new Map([
  ['azure', 'Microsoft'],
  ['bitbucket', 'Bitbucket'],
  ['fly', 'Fly.io'],
  ['github', 'GitHub'],
  ['gitlab', 'GitLab'],
  ['kakao', 'Kakao'],
  ['linkedin', 'LinkedIn'],
  ['linkedin_oidc', 'LinkedIn'],
  ['slack_oidc', 'Slack'],
  ['vercel_marketplace', 'Vercel'],
  ['workos', 'WorkOS'],
])

/**
 * Describes a social sign-in method of the auth API with its display name. An unknown name is capitalized, with spaces and without
 * the prefix `custom:` of a project's own methods.
 */
function describeSocialMethod(id: string): SocialMethod {
  const name =
    id
      .replace(/^custom:/, '')
      .replaceAll(/[_-]+/g, ' ')
      .trim() || id
  return { id, label: labels.get(id) ?? name.charAt(0).toUpperCase() + name.slice(1) }
}
