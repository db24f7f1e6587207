import { openSessionOf, type SessionOpening } from '../../../server/core/session/session-seal.ts'
import type { ListWorkspaces } from '../../../server/core/workspaces/workspace-list.ts'
import type { AccessControl } from '../../../server/core/access/access-control.ts'
import { accessSample } from './core/access-sample.ts'
import { OAuthError } from '@drawbridge/shared/oauth/oauth-error.ts'
import {
  type DeviceAuthorizationResponse,
  redeemDeviceCode,
  startDeviceAuthorization,
} from '../../../server/core/authorization/device-authorization.ts'
import { ScopeCatalogue } from '../../../server/core/tokens/scope.ts'
import { type ProviderSession, type SessionProvider } from '../../../server/core/session/session-provider.ts'
import type { SignInPorts } from '../../../server/core/sign-in/pending-sign-in.ts'
import { createAuthorizeEndpoint } from '../../../server/http/oauth/authorize.ts'
import { createAppSignInEndpoint } from '../../../server/http/login/app-sign-in.ts'
import { createCallbackEndpoint } from '../../../server/http/login/callback.ts'
import { createAccountEndpoint } from '../../../server/http/account/account.ts'
import { createDevicePageEndpoint } from '../../../server/http/login/device-page.ts'
import type { LoginPorts } from '../../../server/http/login/login-subject.ts'
import { plainLook } from '../pages/view-sample.ts'
import { createLoginCookies } from '../../../server/http/cookies.ts'
import { Languages } from '../../../server/texts/languages.ts'
import { publicUrls } from '../../../server/http/public-urls.ts'
import { createHttpApp } from '../../../server/http/http-app.ts'
import type { FetchHandler } from '../../../server/http/endpoint.ts'
import { type Browser, createBrowser, type Visit } from './browser.ts'
import type { FakeRuntime } from './fake-runtime.ts'
import { authorizationRequest, publicClient, signInPortsSample } from './core/sign-in-sample.ts'

/** The login flow over HTTP, with a provider defined by the test. */
export interface LoginFixture {
  fetch: FetchHandler
  /** State shared by all instances of one server. */
  shared: Pick<ReturnType<typeof signInPortsSample>, 'store' | 'sealer' | 'runtime'>
  runtime: FakeRuntime
  /** Waits for work that went on after its page was shown. */
  settle(): Promise<void>
  /** Creates a browser at an address; without one no limit per address applies. */
  browser(address?: string): Browser
  /** Opens the login page of a new request. */
  open(browser: Browser): Promise<Visit>
  authorizeUrl(): URL
  /** Starts a device of the fixture's client, at an address, which requests `scope`. */
  startDevice(address?: string, scope?: string): Promise<DeviceAuthorizationResponse>
  /** Polls for a device's tokens: returns the error, or `approved`. */
  pollDevice(deviceCode: string): Promise<string>
  /** Returns names and fields of reported events, as text. */
  logged: () => string
  /** Returns the ids of incomplete sessions that are due for sign-out. */
  toSignOut(): Promise<string[]>
}

/** Options of the flow, such as being another instance of an existing server. */
export interface LoginFixtureOptions {
  baseUrl?: string
  limitPerMinute?: number
  beside?: LoginFixture
  /** The provider takes longer to send a mail than a page waits for. */
  isSlow?: () => boolean
  access?: AccessControl
  workspaces?: ListWorkspaces
  scopes?: Readonly<Record<string, string>>
  signUpUrl?: string
  personalTokens?: boolean
  /** The page of the web app where users sign in. */
  signInUrl?: string
  sessionTtlSeconds?: number
}

/** Creates the flow for `provider`, with one client registered. */
export async function createLoginFixture(
  provider: SessionProvider,
  options: LoginFixtureOptions = {},
): Promise<LoginFixture> {
  const { baseUrl = 'http://localhost:8787', limitPerMinute = 1000, beside, isSlow = () => false } = options
  const sample = { ...signInPortsSample(provider), ...beside?.shared }
  const { runtime, store, sealer } = sample
  const signIn: SignInPorts = {
    ...sample,
    callbackUrl: `${baseUrl}/oauth/callback`,
    limitPerMinute,
    runtime: {
      ...runtime,
      // No real work takes time by the clock of the fixture, unless the test says so.
      async sleep(ms) {
        if (!isSlow()) await sample.background.settle()
        await runtime.sleep(ms)
      },
    },
  }
  const urls = publicUrls(baseUrl)
  const languages = new Languages()
  const scopes = new ScopeCatalogue(options.scopes ?? { 'notes:write': 'Change your notes' })
  const ports: LoginPorts = {
    urls,
    languages,
    app: {
      look: plainLook,
      appName: 'Notes',
      appUrl: 'http://localhost:8788',
      ...(options.signUpUrl !== undefined && { signUpUrl: options.signUpUrl }),
    },
    clients: store,
    ...signIn,
    store,
    providerIssuer: provider.issuer,
    sessionTtlSeconds: options.sessionTtlSeconds ?? 30 * 86_400,
    scopes,
    accessTokenTtlSeconds: 3600,
    reportGrantEnd: () => {},
    access: options.access ?? accessSample(),
    keeper: {
      keep: async (session) => ({ kind: 'live', session }),
      open: (session) => openedSession(openSessionOf(provider.issuer, session, sealer)),
    },
    workspaces: options.workspaces,
    cookies: createLoginCookies(baseUrl),
    signInUrl: options.signInUrl,
    personalTokens: options.personalTokens ?? false,
  }
  const lines: string[] = []
  const fetch = createHttpApp(
    [
      createAuthorizeEndpoint(ports),
      createCallbackEndpoint(ports),
      createDevicePageEndpoint(ports),
      createAccountEndpoint(ports),
      createAppSignInEndpoint(ports),
    ],
    {
      baseUrl,
      look: plainLook,
      createContext: (_request, peer) => ({
        id: 'request',
        address: peer?.address,
        report: (event, fields) => void lines.push(JSON.stringify({ event, ...fields })),
      }),
    },
  )
  const client = publicClient({ redirectUris: ['http://127.0.0.1/callback'] })
  if (!beside) await store.addClient(client)
  const devicePorts = { ...ports, issuer: urls.issuer, resource: urls.resource }
  const asked = authorizationRequest({ clientId: client.id, resource: urls.resource })
  return {
    fetch,
    shared: { store, sealer, runtime },
    runtime,
    settle: () => sample.background.settle(),
    browser: (address) =>
      createBrowser((request) =>
        new URL(request.url).origin === new URL(baseUrl).origin ? fetch(request, { address }) : undefined,
      ),
    open: (browser) => browser.visit(authorizeUrl()),
    authorizeUrl,
    startDevice: (address, scope) =>
      startDeviceAuthorization({ client, scope, resources: [], address }, devicePorts),
    async pollDevice(deviceCode) {
      try {
        await redeemDeviceCode({ client, deviceCode, resources: [] }, devicePorts)
        return 'approved'
      } catch (error) {
        if (error instanceof OAuthError) return error.code
        throw error
      }
    },
    logged: () => lines.join('\n'),
    async toSignOut() {
      const now = runtime.now()
      const due = await store.claimSignOuts({ limit: 100, until: now }, now)
      return due.map(({ session }) => session.grantId)
    },
  }

  function authorizeUrl(): URL {
    const url = new URL(`${baseUrl}/oauth/authorize`)
    url.search = new URLSearchParams({
      response_type: 'code',
      client_id: asked.clientId,
      redirect_uri: asked.redirectUri,
      state: asked.state ?? '',
      code_challenge: asked.codeChallenge,
      code_challenge_method: 'S256',
    }).toString()
    return url
  }
}

function openedSession(opening: SessionOpening): ProviderSession {
  if (opening.kind !== 'opened') throw new Error(`The session is ${opening.kind}.`)
  return opening.session
}
