import { createCodeVerifier, deriveCodeChallenge } from '@drawbridge/shared/oauth/pkce.ts'
import { BackgroundWork } from '../../../../server/core/background-work.ts'
import type { AuthorizationRequest } from '../../../../server/core/authorization/authorization-request.ts'
import type { Client } from '../../../../server/core/clients/client.ts'
import type {
  ProviderCapabilities,
  SecondFactor,
  SessionProvider,
  SignIn,
  SignInStep,
} from '../../../../server/core/session/session-provider.ts'
import type { SignInPorts } from '../../../../server/core/sign-in/pending-sign-in.ts'
import { createBrowserBinding } from '../../../../server/core/sign-in/browser-seal.ts'
import type { SignInPurpose } from '../../../../server/core/sign-in/sign-in-transaction.ts'
import type { SignInVisitor } from '../../../../server/core/sign-in/sign-in-limit.ts'
import type { Store } from '../../../../server/core/store.ts'
import { openMemoryStore } from '../../../../server/store/sqlite/sqlite.ts'
import { createFakeRuntime, type FakeRuntime } from '../fake-runtime.ts'
import { start, sealerSample } from './grant-sample.ts'

/** The only resource of the samples. */
export const resource = 'https://mcp.example.com/mcp'

/** PKCE verifier of every {@link authorizationRequest}. */
export const challengeVerifier: string = createCodeVerifier((length) => new Uint8Array(length).fill(9))

const codeChallenge = await deriveCodeChallenge(challengeVerifier)

/** Creates a public client with one loopback redirect URI. */
export function publicClient(overrides: Partial<Client> = {}): Client {
  return {
    id: 'mcpc_public',
    kind: 'registered',
    name: 'Sample',
    uri: undefined,
    redirectUris: ['http://127.0.0.1/callback'],
    grantTypes: ['authorization_code', 'refresh_token'],
    scope: undefined,
    authMethod: 'none',
    secretHash: undefined,
    keys: undefined,
    managementHash: undefined,
    document: undefined,
    introspects: false,
    createdAt: start,
    expiresAt: undefined,
    ...overrides,
  }
}

/** Creates an accepted request of {@link publicClient}. */
export function authorizationRequest(overrides: Partial<AuthorizationRequest> = {}): AuthorizationRequest {
  return {
    clientId: 'mcpc_public',
    redirectUri: 'http://127.0.0.1:4711/callback',
    state: 'state',
    scope: 'mcp offline_access',
    resource,
    codeChallenge,
    ...overrides,
  }
}

/** Returns the purpose of a sign-in for {@link authorizationRequest}. */
export function authorizationPurpose(
  overrides: Partial<AuthorizationRequest> = {},
): Extract<SignInPurpose, { kind: 'authorization' }> {
  return { kind: 'authorization', language: 'en', request: authorizationRequest(overrides) }
}

/** Returns a browser without an address or earlier sign-ins. */
export function visitorSample(overrides: Partial<SignInVisitor> = {}): SignInVisitor {
  const binding = createBrowserBinding((length) => new Uint8Array(length).fill(1))
  return { binding, address: undefined, knownAccounts: [], ...overrides }
}

/** The form as Ada fills it in. */
export const adasPassword = { email: 'ada@example.com', password: 'correct horse' } as const

/** Returns a completed sign-in at the provider, at {@link start}; its token lasts an hour. */
export function signInSample(name = 'ada', expiresAt: number = start + 3600): SignIn {
  return {
    session: {
      accessToken: `provider-access-token-of-${name}`,
      refreshToken: `provider-refresh-token-of-${name}`,
      expiresAt,
    },
    identity: {
      sub: `sub ${name}`,
      email: `${name}@example.com`,
      claims: {},
      name: undefined,
      secondFactor: false,
      expiresAt,
    },
  }
}

/** Returns the profile of the user of {@link signInSample} from a provider that verifies addresses. */
export const profileOfSample: SessionProvider['profileOf'] = (of, probed) => {
  const email =
    of.kind === 'identity'
      ? of.identity.email
      : of.session.accessToken.replace(/^provider-access-token-of-(.*)$/, '$1@example.com')
  const claims = probed ?? (of.kind === 'identity' ? of.identity.claims : {})
  return { email, emailVerified: email !== undefined, name: undefined, providers: ['email'], claims }
}

/** Returns the answer of a provider whose first step is enough. */
export function signedIn(name = 'ada'): SignInStep {
  return { kind: 'signed_in', signIn: signInSample(name) }
}

/** Returns the answer of a provider that requires a code as well. */
export function secondFactorStep(
  factors: readonly SecondFactor[] = [{ id: 'phone', label: 'Phone' }],
): SignInStep {
  return { kind: 'second_factor', session: signInSample('half-way').session, factors }
}

/** Returns what a provider offers: a password and Google, unless `overrides` say otherwise. */
export function capabilitiesSample(overrides: Partial<ProviderCapabilities> = {}): ProviderCapabilities {
  const social = [{ id: 'google', label: 'Google' }]
  return { password: true, social, captcha: undefined, confirmsEmail: true, ...overrides }
}

/** Creates a provider that signs ada in at her first step, whichever that is. */
export function welcomingProvider(methods: Partial<SessionProvider> = {}): SessionProvider {
  return providerSample({
    passwordSignIn: async () => signedIn(),
    socialStart: async () => ({ url: 'https://provider/authorize', secret: 'secret' }),
    socialFinish: async () => signedIn(),
    ...methods,
  })
}

/** Creates a provider from the given methods; all others reject. Offers what {@link capabilitiesSample} says. */
export function providerSample(methods: Partial<SessionProvider> = {}): SessionProvider {
  const unexpected = (): Promise<never> => Promise.reject(new Error('The provider was called unexpectedly.'))
  return {
    issuer: 'https://provider',
    capabilities: async () => capabilitiesSample(),
    ping: async () => {},
    socialStart: unexpected,
    socialFinish: unexpected,
    refresh: unexpected,
    profileOf: profileOfSample,
    profileNeedsProbe: false,
    signOut: unexpected,
    ...methods,
  }
}

/**
 * Returns ports of a fresh sign-in at {@link start}, with a store in memory and a limit that no test reaches by
 * chance.
 */
export function signInPortsSample(
  provider: SessionProvider,
): SignInPorts & { store: Store; runtime: FakeRuntime; background: BackgroundWork } {
  const runtime = createFakeRuntime(start)
  return {
    store: openMemoryStore(),
    provider,
    sealer: sealerSample(),
    runtime,
    callbackUrl: 'https://mcp.example.com/oauth/callback',
    limitPerMinute: 1000,
    background: new BackgroundWork(),
  }
}
