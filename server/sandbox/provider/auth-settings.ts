import type { AuthServices } from './auth-services.ts'

const SOCIAL_PROVIDERS = [
  'apple',
  'azure',
  'bitbucket',
  'discord',
  'facebook',
  'github',
  'gitlab',
  'google',
  'keycloak',
  'linkedin_oidc',
] as const

/** The names of the social sign-in methods that are on. */
export function socialProviders({ config }: Pick<AuthServices, 'config'>): readonly string[] {
  return config.socialProviders ?? ['google']
}

/** The document of `/settings`. */
export function describeSettings(services: AuthServices): Record<string, unknown> {
  const names = [...SOCIAL_PROVIDERS, 'anonymous_users', 'phone']
  return {
    external: {
      ...Object.fromEntries(names.map((name) => [name, false])),
      ...Object.fromEntries(socialProviders(services).map((name) => [name, true])),
      email: true,
    },
    disable_signup: false,
    mailer_autoconfirm: services.autoconfirm,
    phone_autoconfirm: false,
    sms_provider: '',
    saml_enabled: false,
  }
}
