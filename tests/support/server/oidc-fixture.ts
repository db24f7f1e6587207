import type { SessionProvider, SignIn } from '../../../server/core/session/session-provider.ts'
import {
  createOidcProvider,
  type OidcConfig,
} from '../../../server/providers/openid-connect/openid-connect.ts'
import { createFakeRuntime, type FakeRuntime } from './fake-runtime.ts'
import { oidcClient, type OidcServer, type OidcServerOptions, startOidcServer } from './oidc-server.ts'

/** The provider's redirect address; no program listens there. */
export const callbackUrl = 'http://localhost:8787/oauth/callback'

/** The adapter under test in front of a real provider. */
export interface OidcFixture {
  server: OidcServer
  runtime: FakeRuntime
  provider: SessionProvider
  /** Creates an adapter with other settings, or another clock or network, for the same provider. */
  providerWith(config: Partial<OidcConfig>, changes?: Partial<FakeRuntime>): SessionProvider
  /** Handles the next request to `path` with `play`; `send` lets the provider answer. */
  intercept(path: string, play: Interception): void
  /** Starts a sign-in and lets the user do `what`; returns the result for `socialFinish`. */
  goAndReturn(what?: 'sign in' | 'refuse'): Promise<Returned>
  /** Completes a whole sign-in. */
  signIn(): Promise<SignIn>
}

/** Input of `socialFinish`. */
export interface Returned {
  params: URLSearchParams
  secret: string
  callbackUrl: string
}

/** Replaces or wraps one request. */
export type Interception = (request: Request, send: () => Promise<Response>) => Promise<Response> | Response

/** Starts a provider and the adapter. Requests consent, since this provider otherwise issues no refresh token. */
export async function startOidcFixture(
  options: Partial<OidcServerOptions> = {},
  config: Partial<OidcConfig> = {},
): Promise<OidcFixture> {
  const server = await startOidcServer({ callbackUrl, ...options })
  const interceptions: { path: string; play: Interception }[] = []
  const clock = createFakeRuntime()
  const runtime: FakeRuntime = {
    ...clock,
    async fetch(request, options) {
      const { pathname } = new URL(request.url)
      const found = interceptions.findIndex(({ path }) => path === pathname)
      const [interception] = found === -1 ? [] : interceptions.splice(found, 1)
      const send = (): Promise<Response> => fetch(request, options)
      return interception ? interception.play(request, send) : send()
    },
  }
  const providerWith = (other: Partial<OidcConfig>, changes: Partial<FakeRuntime> = {}): SessionProvider =>
    createOidcProvider(
      {
        issuer: server.issuer,
        clientId: oidcClient.id,
        clientSecret: oidcClient.secret,
        scope: 'openid email profile offline_access',
        parameters: { prompt: 'consent' },
        label: 'Example ID',
        audience: undefined,
        readsUserinfo: false,
        ...config,
        ...other,
      },
      { ...runtime, ...changes },
    )
  const provider = providerWith({})

  const fixture: OidcFixture = {
    server,
    runtime,
    provider,
    providerWith,
    intercept: (path, play) => void interceptions.push({ path, play }),
    async goAndReturn(what = 'sign in') {
      const { url, secret } = await provider.socialStart({ method: 'oidc', callbackUrl })
      return { params: (await server.visit(url, what)).searchParams, secret, callbackUrl }
    },
    async signIn() {
      const step = await provider.socialFinish(await fixture.goAndReturn())
      if (step.kind !== 'signed_in') throw new Error('A second factor was asked for.')
      return step.signIn
    },
  }
  return fixture
}

/** Replaces members in the JSON of the response; undefined removes one. */
export function replacing(members: Record<string, unknown>): Interception {
  return async (_request, send) => {
    const body = (await (await send()).json()) as Record<string, unknown>
    return Response.json({ ...body, ...members })
  }
}
