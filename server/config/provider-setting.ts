import { oneOf, parseToken, parseSwitch, parseText } from '@drawbridge/shared/settings/value.ts'
import {
  parseBaseUrl,
  parseCaptcha,
  parseCount,
  orOff,
  parseDuration,
  parsePageUrl,
  parseParameters,
  parseSharedSecret,
  parseSocial,
} from './config-value.ts'

export const providerTable = {
  provider: {
    ...oneOf('embedded', 'supabase', 'oidc', 'app'),
    default: 'embedded',
    doc: 'Session provider that signs users in: embedded (for trying out), supabase (Supabase Auth, GoTrue), oidc (OpenID Connect) or app (a web app with sessions of its own).',
  },
  providerUrl: {
    parse: parseBaseUrl,
    derived: true,
    defaultText: 'APP_URL/auth/v1 for embedded, the origin of APP_URL for app, needed otherwise',
    doc: 'Base URL of the auth API of the session provider, for Supabase https://REF.supabase.co/auth/v1; for oidc the issuer.',
  },
  providerKey: {
    parse: parseToken,
    doc: 'Publishable API key of a Supabase project, sent as apikey.',
    secret: true,
  },
  providerIssuer: {
    parse: parseText,
    derived: true,
    defaultText: 'PROVIDER_URL',
    doc: 'The iss claim that a provider token must carry.',
  },
  providerAudience: {
    parse: parseText,
    defaultText: 'authenticated; none for oidc',
    doc: 'The aud claim that a provider token must carry. For oidc: accept JWT access tokens of the issuer with this audience at /mcp.',
  },
  providerJwtSecret: {
    parse: parseText,
    doc: 'Shared secret of a Supabase project that signs its tokens with HS256. Without it only signatures with published keys are accepted.',
    secret: true,
  },
  providerClientId: {
    parse: parseText,
    defaultText: 'needed for oidc',
    doc: 'Client id of this server at the OpenID provider, or at the OAuth server of the Supabase project, whose users then sign in with one click in the app.',
  },
  providerClientSecret: {
    parse: parseText,
    defaultText: 'none: a public client',
    doc: 'Client secret of this server there. Supabase needs it.',
    secret: true,
  },
  signInUrl: {
    parse: parsePageUrl,
    defaultText: 'the login page of this server',
    doc: 'Page of the web app where its users allow a client, at the origin of APP_URL; see docs/app-sign-in.md. For app, and for supabase with PROVIDER_CLIENT_ID.',
  },
  signInSecret: {
    parse: parseSharedSecret,
    defaultText: 'needed for app',
    doc: 'Secret that this server shares with the web app, which signs with it who its users are: at least 32 bytes.',
    secret: true,
  },
  sessionUrl: {
    parse: parsePageUrl,
    defaultText: 'none: a connection lasts for its SESSION_TTL',
    doc: 'Address of the web app that says whether a user may stay connected, asked every SESSION_CHECK. For app only.',
  },
  providerScope: {
    parse: parseText,
    default: 'openid email profile offline_access',
    doc: 'Scope to request from the OpenID provider, which must issue refresh tokens for it.',
  },
  providerParameters: {
    parse: parseParameters,
    derived: true,
    doc: 'Further parameters of the authorization request to the OpenID provider, such as access_type=offline&prompt=consent.',
  },
  providerSessions: {
    ...oneOf('many', 'one'),
    default: 'many',
    doc: 'How many sessions the OpenID provider keeps for one person and this client. With one, as in dex, all connections of a person share it.',
  },
  social: {
    parse: parseSocial,
    defaultText: 'what the provider reports',
    doc: 'Social sign-in methods to offer, comma-separated and in this order, for example google. One that needs other scopes than by default has them after it: keycloak=openid profile.',
  },
  password: {
    parse: parseSwitch,
    default: 'on',
    doc: 'Whether signing in with email and password is offered, where the provider has it: on or off.',
  },
  emailSignIn: {
    parse: orOff(oneOf('code', 'link', 'both').parse),
    default: 'off',
    doc: 'Signing in with a mail: code, link, both or off. The mail template of the Supabase project decides which of them it has.',
  },
  captcha: {
    parse: parseCaptcha,
    doc: 'Captcha that the Supabase project requires with a password, as hcaptcha:SITE_KEY or turnstile:SITE_KEY.',
  },
  secondFactor: {
    ...oneOf('if-enrolled', 'require', 'ignore'),
    default: 'if-enrolled',
    doc: 'Whether signing in asks for a second factor: if-enrolled asks accounts that have one, require refuses the others, ignore never asks.',
  },
  sessionCheck: {
    parse: orOff(parseDuration),
    default: '5m',
    doc: 'How long to trust that a session is still alive before asking the provider again; off trusts its tokens until they expire.',
  },
  signInLimit: {
    parse: parseCount,
    default: '20',
    doc: 'Sign-in attempts per minute across all instances; a third is reserved for browsers that have signed in before. Keep it below the rate limit of the provider, which also covers refreshing sessions.',
  },
} as const
