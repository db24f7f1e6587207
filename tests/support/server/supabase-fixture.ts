import type { SignIn, SignInStep } from '../../../server/core/session/session-provider.ts'
import { createFakeRuntime, type FakeRuntime } from './fake-runtime.ts'
import { start } from './core/grant-sample.ts'
import { type ControlledProvider, createControlledProvider } from '../sandbox/controlled-provider.ts'
import { walkGoogle } from '../sandbox/provider-fixture.ts'
import { createGotrueProvider, type GotrueConfig } from '../../../server/providers/supabase/supabase.ts'

const siteUrl = 'http://localhost:8788'

/** Redirect address of the social provider. */
export const callbackUrl = 'http://localhost:8787/oauth/callback'

/** Our client of the provider's OAuth server; an adapter has it only if it is configured. */
export const oauthClient = { id: '0c1d2e3f-0000-4000-8000-00000000c11e', secret: 'client-secret' }

/** Settings of an adapter for the embedded provider. */
const gotrueConfig: GotrueConfig = {
  url: `${siteUrl}/auth/v1`,
  apiKey: 'sb_publishable_test',
  issuer: `${siteUrl}/auth/v1`,
  audience: 'authenticated',
  hs256Secret: undefined,
  social: undefined,
  captcha: undefined,
  password: true,
  email: undefined,
  secondFactor: 'if-enrolled',
}

/** Credentials as passed on by the login page. */
export const ada = { email: 'ada@example.com', password: 'correct horse battery', captchaToken: undefined }

/** The adapter in front of an embedded provider in memory. */
export interface GotrueFixture {
  runtime: FakeRuntime
  embedded: ControlledProvider
  provider: ReturnType<typeof createGotrueProvider>
  /** Creates another adapter for the same provider, or for `fetch` around it. */
  configured(
    changes: Partial<GotrueConfig>,
    fetch?: (request: Request) => Promise<Response>,
  ): ReturnType<typeof createGotrueProvider>
  /** Returns from the stand-in for Google after choosing its first account. */
  returned(): Promise<{ params: URLSearchParams; secret: string; callbackUrl: string }>
  /** Creates a session without a password, whose hash would take time. */
  signInSocially(): Promise<SignIn>
}

/** Starts a fixture at {@link start}. */
export function startGotrue(): GotrueFixture {
  const runtime = createFakeRuntime(start)
  const embedded = createControlledProvider(
    {
      url: gotrueConfig.url,
      siteUrl,
      redirectAllowList: [callbackUrl],
      oauthClient: { ...oauthClient, redirectUri: callbackUrl },
      tokenTtlSeconds: 3600,
      socialProviders: ['google', 'keycloak', 'azure'],
      database: ':memory:',
    },
    runtime,
  )
  const configured: GotrueFixture['configured'] = (changes, fetch = embedded.fetch) =>
    createGotrueProvider({ ...gotrueConfig, ...changes }, { ...runtime, fetch })
  const provider = configured({})

  async function returned() {
    const begun = await provider.socialStart({ method: 'google', callbackUrl })
    const back = await walkGoogle(embedded, begun.url, '@')
    if (back.origin + back.pathname !== callbackUrl) throw new Error(`Returned to ${back.origin}.`)
    return { params: back.searchParams, secret: begun.secret, callbackUrl }
  }

  return {
    runtime,
    embedded,
    provider,
    configured,
    returned,
    signInSocially: async () => completed(await provider.socialFinish(await returned())),
  }
}

/** Returns the sign-in of a step that needed no second one. */
export function completed(step: SignInStep): SignIn {
  if (step.kind !== 'signed_in') throw new Error(`The sign-in stopped at ${step.kind}.`)
  return step.signIn
}

/** Creates an adapter whose provider answers every call with `response`. */
export function answering(
  response: () => Response,
  changes: Partial<GotrueConfig> = {},
): ReturnType<typeof createGotrueProvider> {
  const runtime = createFakeRuntime(start)
  return createGotrueProvider({ ...gotrueConfig, ...changes }, { ...runtime, fetch: async () => response() })
}
