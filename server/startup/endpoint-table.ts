import type { Runtime } from '@drawbridge/shared/runtime.ts'
import type { AccessControl } from '../core/access/access-control.ts'
import type { BackgroundWork } from '../core/background-work.ts'
import { CallLimit } from '../core/limits/call-limit.ts'
import { GrantAccess } from '../core/access/grant-access.ts'
import { createClientKeeper } from '../core/clients/client-life.ts'
import type { GrantUses } from '../core/session/grant-use.ts'
import { RefreshLimit } from '../core/tokens/refresh-token.ts'
import { createServiceCheck } from '../core/tokens/service-token.ts'
import type { ScopeCatalogue } from '../core/tokens/scope.ts'
import type { Sealer } from '../core/seal.ts'
import type { SessionKeeper } from '../core/session/session-keeper.ts'
import type { SessionProvider } from '../core/session/session-provider.ts'
import type { Store } from '../core/store.ts'
import type { DevicePorts } from '../core/authorization/device-authorization.ts'
import { createConnectionsApi } from '../http/account/connections-api.ts'
import { createAccountEndpoint } from '../http/account/account.ts'
import {
  createConnectEndpoint,
  createHelpEndpoint,
  createConnectHandler,
  withConnectPage,
} from '../http/connect.ts'
import { describeScope } from '../http/describe-scope.ts'
import { createAppSignInEndpoint } from '../http/login/app-sign-in.ts'
import { createAuthorizeEndpoint } from '../http/oauth/authorize.ts'
import { createCallbackEndpoint } from '../http/login/callback.ts'
import { type PublicUrls, withDefaultPaths } from '../http/public-urls.ts'
import { createDeviceAuthorizationEndpoint } from '../http/oauth/device-endpoint.ts'
import { createDevicePageEndpoint } from '../http/login/device-page.ts'
import { type Endpoint, wrapHandlers } from '../http/endpoint.ts'
import { createHealthEndpoints, type ReadinessChecks } from '../http/health.ts'
import { createStreamCheckEndpoint } from '../http/stream-check.ts'
import { createBackchannelLogoutEndpoint } from '../http/oauth/backchannel-logout.ts'
import { createIntrospectEndpoint, createRevokeEndpoint } from '../http/oauth/revoke-introspect.ts'
import type { LoginCookies } from '../http/cookies.ts'
import { accountPath, type LoginPorts } from '../http/login/login-subject.ts'
import { createMcpGate, type McpPorts } from '../http/mcp/mcp-gate.ts'
import type { AppView } from '../http/pages/layout.ts'
import type { Look } from '../http/pages/look.ts'
import {
  createKeySetEndpoint,
  createMetadataEndpoints,
  createWellKnownEndpoints,
} from '../http/oauth/metadata.ts'
import { createRegistrationEndpoints, type RegistrationPorts } from '../http/oauth/registration.ts'
import { createTokenEndpoint } from '../http/oauth/token.ts'
import type { Languages } from '../texts/languages.ts'
import { WorkspaceMembership } from '../core/workspaces/workspace-membership.ts'
import type { Report } from '../observability/log.ts'
import type { Telemetry } from '../observability/telemetry/telemetry.ts'
import { createScopesOfCalls } from '../mcp/tools/tool-scope.ts'
import type { Clients } from './open-clients.ts'
import type { Tools } from './open-tools.ts'
import { providers } from '../config/provider.ts'
import type { ServerConfig } from '../config/setting-table.ts'
import { valueOr } from '../core/document.ts'
import { readWellKnownFile } from '../config/document-file.ts'

export interface EndpointParts {
  config: ServerConfig
  look: Look
  background: BackgroundWork
  cookies: LoginCookies
  runtime: Runtime
  store: Store
  provider: SessionProvider
  sealer: Sealer
  keeper: SessionKeeper
  urls: PublicUrls
  scopes: ScopeCatalogue
  languages: Languages
  clients: Clients
  tools: Tools
  /** Names of the tools that can be called without signing in. */
  publicTools: ReadonlySet<string>
  grantUses: GrantUses
  access: AccessControl
  readiness: ReadinessChecks
  isDraining: () => boolean
  telemetry: Pick<Telemetry, 'serve'> | undefined
  report: Report
}

/** Returns the endpoint with a span around each of its requests. */
function traced(endpoint: Endpoint, telemetry: EndpointParts['telemetry']): Endpoint {
  if (!telemetry) return endpoint
  return wrapHandlers(
    endpoint,
    (handler) => (request, context) =>
      telemetry.serve(request, context, (watched) => handler(request, watched)),
  )
}

/**
 * Creates the endpoint table: everything served under BASE_URL. Each endpoint gets the settings and the parts that it uses, by
 * name.
 */
export function createEndpoints(parts: EndpointParts): Endpoint[] {
  const { config, urls, scopes, tools, provider, runtime, store, languages } = parts
  const { basePath } = urls
  const app = appViewOf(parts)
  const login = loginPortsOf(parts, app)
  const showConnect = createConnectHandler(urls, app, {
    connectionsPath: accountPath(login),
    languages,
    permissions: (language) => describeScope(scopes.resource.join(' '), scopes, language),
    publicTools: parts.publicTools,
  })
  const { reportGrantEnd } = login
  const grantAccess = new GrantAccess({
    access: parts.access,
    keeper: parts.keeper,
    store,
    runtime,
    reportGrantEnd,
  })
  const { readLogout, verifyUser } = provider
  const logout = { store, provider, sealer: parts.sealer, runtime, reportGrantEnd }
  const isApp = providers[config.provider].protocol === 'app'
  const gate = gatePortsOf(parts, grantAccess)
  const endpoints = [
    createConnectEndpoint(basePath, showConnect),
    createHelpEndpoint(urls, app, languages),
    ...createMetadataEndpoints(urls, {
      scopes,
      resourceName: config.appName,
      registration: config.registration,
      clientDocuments: config.clientDocuments !== undefined,
      signsAssertions: tools.keySet !== undefined,
      hasServices: createServiceCheck(store, runtime),
      links: app.links,
      languages,
    }),
    ...createWellKnownEndpoints(new Map(Object.entries(valueOr(readWellKnownFile(config), {})))),
    ...(config.registration ? createRegistrationEndpoints(basePath, registrationPortsOf(parts)) : []),
    createAuthorizeEndpoint(login),
    createCallbackEndpoint(login),
    createDevicePageEndpoint(login),
    createAccountEndpoint(login),
    ...(config.signInUrl === undefined ? [] : [createAppSignInEndpoint(login)]),
    ...createConnectionsApi({
      allowedOrigins: gate.allowedOrigins,
      callers: verifyUser
        ? { ...gate.callers, provider: { issuer: provider.issuer, verify: verifyUser }, sessionTokens: true }
        : gate.callers,
      login,
    }),
    ...clientEndpoints(parts, login, grantAccess),
    ...(readLogout ? [createBackchannelLogoutEndpoint(basePath, isApp, { ...logout, readLogout })] : []),
    withConnectPage(traced(createMcpGate(gate), parts.telemetry), showConnect),
    createStreamCheckEndpoint(basePath, runtime),
    ...(tools.keySet ? [createKeySetEndpoint(basePath, tools.keySet)] : []),
    ...createHealthEndpoints(basePath, parts.readiness, { isDraining: parts.isDraining }),
  ]
  return withDefaultPaths(endpoints, basePath)
}

/** Returns what pages show of the web app. */
function appViewOf({ config, look }: EndpointParts) {
  const { appName, appUrl, privacyUrl, termsUrl, supportUrl } = config
  return {
    look,
    appName,
    appUrl,
    signUpUrl: providers[config.provider].isTrial ? `${appUrl}/sign-up` : undefined,
    links: { privacyUrl, termsUrl, supportUrl },
  } satisfies AppView
}

function loginPortsOf(parts: EndpointParts, app: AppView): LoginPorts {
  const { config, urls, store, provider, sealer, runtime, report } = parts
  return {
    urls,
    app,
    languages: parts.languages,
    clients: parts.clients.finder,
    store,
    provider,
    sealer,
    runtime,
    keeper: parts.keeper,
    workspaces: parts.tools.workspaces,
    scopes: parts.scopes,
    providerIssuer: provider.issuer,
    sessionTtlSeconds: config.sessionTtl,
    accessTokenTtlSeconds: config.accessTokenTtl,
    reportGrantEnd: ({ id, clientId, user }, reason) =>
      report('grant_ended', { grant_id: id, client_id: clientId, sub: user.sub, reason }),
    callbackUrl: `${urls.issuer}/oauth/callback`,
    background: parts.background,
    limitPerMinute: config.signInLimit,
    access: parts.access,
    cookies: parts.cookies,
    signInUrl: config.signInUrl,
    personalTokens: config.personalTokens,
  }
}

function registrationPortsOf({
  config,
  urls,
  scopes,
  runtime,
  store,
  clients,
}: EndpointParts): RegistrationPorts {
  return {
    clients: clients.finder,
    store,
    runtime,
    policy: { ...clients.policy, scope: scopes.authorizationServer.join(' ') },
    issuer: urls.issuer,
    limitPerHour: config.registrationLimit,
  }
}

/** Creates the endpoints where clients authenticate. */
function clientEndpoints(
  { config, urls, runtime, store, clients, keeper }: EndpointParts,
  codes: DevicePorts,
  grantAccess: GrantAccess,
): Endpoint[] {
  const { basePath, issuer, resource, tokenEndpoint } = urls
  const { finder, fetchKeys } = clients
  const authentication = { clients: finder, store, runtime, issuer, tokenEndpoint, fetchKeys }
  const devices = { ...codes, authentication }
  const { reportGrantEnd } = codes
  return [
    createTokenEndpoint(basePath, {
      ...devices,
      store,
      resource,
      refreshLimit: new RefreshLimit(config.accessTokenTtl),
      keeper,
      keepClient: createClientKeeper(store),
    }),
    createRevokeEndpoint(basePath, { store, runtime, reportGrantEnd, authentication }),
    createIntrospectEndpoint(basePath, {
      store,
      runtime,
      issuer,
      grantAccess,
      authentication,
      personalTokens: config.personalTokens,
    }),
    createDeviceAuthorizationEndpoint(basePath, { ...devices, issuer, resource, attempts: store }),
  ]
}

function gatePortsOf(parts: EndpointParts, grantAccess: GrantAccess): McpPorts {
  const { config, urls, store, provider, runtime, tools, keeper } = parts
  const { endpoint } = tools
  return {
    urls,
    allowedOrigins: config.allowedOrigins,
    callers: {
      store,
      keeper,
      provider,
      access: parts.access,
      grantAccess,
      membership: new WorkspaceMembership({
        list: tools.workspaces,
        keeper,
        runtime,
        checkSeconds: config.sessionCheck,
      }),
      runtime,
      resource: urls.resource,
      scopes: parts.scopes,
      // A provider whose tokens cannot be verified here has no cookie either.
      personalTokens: config.personalTokens,
      sessionTokens: config.sessionTokens && provider.verify !== undefined,
      cookieName: config.cookieName,
      checkSeconds: config.sessionCheck,
    },
    methods: endpoint.methods,
    serve: endpoint.handle,
    has: endpoint.has,
    scopesOfCalls: createScopesOfCalls((name) => endpoint.scopeOf(name)),
    learn: endpoint.learn?.bind(endpoint),
    publicTools: parts.publicTools,
    callLimit: new CallLimit({ rate: config.callLimit, atOnce: config.callsAtOnce }, runtime),
    forwardedHeaders: tools.forwardedHeaders ?? [],
    grantUses: parts.grantUses,
  }
}
