import type { Runtime } from '@drawbridge/shared/runtime.ts'
import type { AccessControl } from '../core/access/access-control.ts'
import type { BackgroundWork } from '../core/background-work.ts'
import { CallLimit } from '../core/limits/call-limit.ts'
import { GrantAccess } from '../core/access/grant-access.ts'
import { createClientKeeper } from '../core/clients/client-life.ts'
import type { GrantUses } from '../core/session/grant-use.ts'
import { RefreshPace } from '../core/tokens/refresh-token.ts'
import type { ScopeCatalogue } from '../core/tokens/scope.ts'
import type { Sealer } from '../core/seal.ts'
import type { SessionKeeper } from '../core/session/session-keeper.ts'
import type { SessionProvider } from '../core/session/session-provider.ts'
import type { Store } from '../core/store.ts'
import type { ReportGrantEnd } from '../core/session/grant.ts'
import { createAccountEndpoint } from '../http/account/account.ts'
import {
  createConnectEndpoint,
  createHelpEndpoint,
  createConnectHandler,
  withConnectPage,
} from '../http/connect.ts'
import { describeScope } from '../http/describe-scope.ts'
import { createAuthorizeEndpoint } from '../http/oauth/authorize.ts'
import { createCallbackEndpoint } from '../http/login/callback.ts'
import { type PublicUrls, withDefaultPaths } from '../http/public-urls.ts'
import { createDeviceAuthorizationEndpoint } from '../http/oauth/device-authorization.ts'
import { createDevicePageEndpoint } from '../http/login/device-page.ts'
import type { Endpoint, EndpointHandler } from '../http/endpoint.ts'
import { createHealthEndpoints, type ReadinessChecks } from '../http/health.ts'
import { createStreamCheckEndpoint } from '../http/stream-check.ts'
import { createBackchannelLogoutEndpoint } from '../http/oauth/backchannel-logout.ts'
import { createIntrospectEndpoint, createRevokeEndpoint } from '../http/oauth/revoke-introspect.ts'
import type { LoginCookies } from '../http/cookies.ts'
import { accountPath } from '../http/login/login-subject.ts'
import { createMcpGate } from '../http/mcp.ts'
import type { Look } from '../http/pages/look.ts'
import { createKeySetEndpoint } from '../http/oauth/key-set.ts'
import { createMetadataEndpoints } from '../http/oauth/metadata.ts'
import { createRegisterEndpoint, createRegisterManagementEndpoint } from '../http/oauth/registration.ts'
import { createWellKnownEndpoints } from '../http/well-known.ts'
import { createTokenEndpoint } from '../http/oauth/token.ts'
import type { Languages } from '../texts/languages.ts'
import type { Report } from '../observability/log.ts'
import type { Telemetry } from '../observability/telemetry/telemetry.ts'
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
  /** The public tools to show to users. */
  shownTools: () => ReadonlySet<string>
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
  const around =
    (handler: EndpointHandler): EndpointHandler =>
    (request, context) =>
      telemetry.serve(request, context, (watched) => handler(request, watched))
  const { methods, otherMethods } = endpoint
  return {
    ...endpoint,
    methods: Object.fromEntries(Object.entries(methods).map(([name, handler]) => [name, around(handler)])),
    ...(otherMethods && { otherMethods: around(otherMethods) }),
  }
}

/** Creates the endpoint table: everything served under BASE_URL. */
export function createEndpoints(parts: EndpointParts): Endpoint[] {
  const { config, urls, scopes, tools, provider, clients, shownTools, isDraining, languages } = parts
  const { basePath } = urls
  const ports = portsOf(parts)
  const showConnect = createConnectHandler(urls, ports.app, {
    connectionsPath: accountPath(ports),
    languages,
    permissions: (language) => describeScope(scopes.resource.join(' '), scopes, language),
    publicTools: shownTools,
  })
  const registration = {
    ...ports,
    policy: { ...clients.policy, scope: scopes.authorizationServer.join(' ') },
    limitPerHour: config.registrationLimit,
  }
  const gate = createMcpGate({
    ...ports,
    callers: ports,
    methods: tools.endpoint.methods,
    serve: tools.endpoint.handle,
    has: tools.endpoint.has,
    scopesOfCalls: tools.scopesOfCalls,
    forwardedHeaders: tools.forwardedHeaders ?? [],
    callLimit: new CallLimit({ rate: config.callLimit, atOnce: config.callsAtOnce }, parts.runtime),
  })
  const { readLogout } = provider
  const endpoints = [
    createConnectEndpoint(basePath, showConnect),
    createHelpEndpoint(urls, ports.app, languages),
    ...createMetadataEndpoints(urls, {
      ...config,
      scopes,
      languages,
      resourceName: config.appName,
      signsAssertions: tools.keySet !== undefined,
      links: config,
    }),
    ...createWellKnownEndpoints(new Map(Object.entries(valueOr(readWellKnownFile(config), {})))),
    ...(config.registration
      ? [
          createRegisterEndpoint(basePath, registration),
          createRegisterManagementEndpoint(basePath, registration),
        ]
      : []),
    createAuthorizeEndpoint(ports),
    createCallbackEndpoint(ports),
    createDevicePageEndpoint(ports),
    createAccountEndpoint(ports),
    createTokenEndpoint(basePath, ports),
    createRevokeEndpoint(basePath, ports),
    createIntrospectEndpoint(basePath, { ...ports, access: ports.grantAccess }),
    createDeviceAuthorizationEndpoint(basePath, ports),
    ...(readLogout ? [createBackchannelLogoutEndpoint(basePath, { ...ports, readLogout })] : []),
    withConnectPage(traced(gate, parts.telemetry), showConnect),
    createStreamCheckEndpoint(basePath, parts.runtime),
    ...(tools.keySet ? [createKeySetEndpoint(basePath, tools.keySet)] : []),
    ...createHealthEndpoints(basePath, parts.readiness, { isDraining }),
  ]
  return withDefaultPaths(endpoints, basePath)
}

/** Returns the dependencies of all endpoints under the names that their ports have; each endpoint takes what it needs. */
function portsOf(parts: EndpointParts) {
  const { config, urls, store, provider, clients, report } = parts
  const reportGrantEnd: ReportGrantEnd = ({ id, clientId, user }, reason) =>
    report('grant_ended', { grant_id: id, client_id: clientId, sub: user.sub, reason })
  const common = {
    ...config,
    ...urls,
    ...parts,
    clients: clients.finder,
    fetchKeys: clients.fetchKeys,
    keepClient: createClientKeeper(store),
    attempts: store,
    devices: store,
    grants: store,
    registrations: store,
    storedClients: store,
    control: parts.access,
    grantUse: parts.grantUses,
    app: {
      look: parts.look,
      appName: config.appName,
      appUrl: config.appUrl,
      signUpUrl: providers[config.provider].isTrial ? `${config.appUrl}/sign-up` : undefined,
      links: config,
    },
    pace: new RefreshPace(config.accessTokenTtl),
    providerIssuer: provider.issuer,
    // A provider whose tokens cannot be verified here has no cookie either.
    sessionTokens: config.sessionTokens && provider.verify !== undefined,
    checkSeconds: config.sessionCheck,
    sessionTtlSeconds: config.sessionTtl,
    accessTokenTtlSeconds: config.accessTokenTtl,
    longTokenTtlSeconds: config.longTokenTtl,
    limitPerMinute: config.signInLimit,
    callbackUrl: `${urls.issuer}/oauth/callback`,
    reportGrantEnd,
  }
  return {
    ...common,
    authentication: common,
    codes: common,
    signIn: common,
    grantAccess: new GrantAccess(common),
  }
}
