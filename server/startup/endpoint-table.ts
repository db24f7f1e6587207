import type { Runtime } from '@drawbridge/shared/runtime.ts'
import type { AccessControl } from '../core/access/access-control.ts'
import { CallLimit } from '../core/limits/call-limit.ts'
import { GrantAccess } from '../core/access/grant-access.ts'
import type { AuthorizationCodePorts } from '../core/authorization/authorization-code.ts'
import type { CallerPorts } from '../core/tokens/caller-reader.ts'
import { createClientKeeper } from '../core/clients/client-life.ts'
import type { GrantUses } from '../core/session/grant-use.ts'
import { RefreshPace } from '../core/tokens/refresh-token.ts'
import type { ScopeCatalogue } from '../core/tokens/scope.ts'
import type { Sealer } from '../core/seal.ts'
import type { SessionKeeper } from '../core/session/session-keeper.ts'
import type { SessionProvider } from '../core/session/session-provider.ts'
import type { Store } from '../core/store.ts'
import { createAccountEndpoint } from '../http/account/account.ts'
import { createConnectEndpoint, createConnectHandler, withConnectPage } from '../http/connect.ts'
import { createAuthorizeEndpoint } from '../http/oauth/authorize.ts'
import { createCallbackEndpoint } from '../http/login/callback.ts'
import { type PublicUrls, withDefaultPaths } from '../http/public-urls.ts'
import { createDeviceAuthorizationEndpoint } from '../http/oauth/device-authorization.ts'
import { createDevicePageEndpoint } from '../http/login/device-page.ts'
import type { Endpoint } from '../http/endpoint.ts'
import { createHealthEndpoints, type ReadinessChecks } from '../http/health.ts'
import { createBackchannelLogoutEndpoint } from '../http/oauth/backchannel-logout.ts'
import { createIntrospectEndpoint, createRevokeEndpoint } from '../http/oauth/revoke-introspect.ts'
import type { LoginCookies } from '../http/login/cookies.ts'
import { accountPath, type LoginPorts } from '../http/login/login-subject.ts'
import { createMcpGate, type McpPorts } from '../http/mcp.ts'
import { createKeySetEndpoint } from '../http/oauth/key-set.ts'
import { createMetadataEndpoints } from '../http/oauth/metadata.ts'
import { createRegisterEndpoint, createRegisterManagementEndpoint } from '../http/oauth/registration.ts'
import { createWellKnownEndpoints } from '../http/well-known.ts'
import { createTokenEndpoint, type TokenPorts } from '../http/oauth/token.ts'
import type { Report } from '../observability/log.ts'
import type { Clients } from './open-clients.ts'
import type { Tools } from './open-tools.ts'
import type { ServerConfig } from '../config/setting.ts'
import { valueOr } from '../core/document.ts'
import { readWellKnownFile } from '../config/document-file.ts'

/** Dependencies of one process's endpoints. */
export interface EndpointParts {
  config: ServerConfig
  cookies: LoginCookies
  runtime: Runtime
  store: Store
  provider: SessionProvider
  sealer: Sealer
  keeper: SessionKeeper
  urls: PublicUrls
  scopes: ScopeCatalogue
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
  report: Report
}

/** Creates the endpoint table: everything served under BASE_URL, each endpoint with the functions it needs. */
export function createEndpoints(parts: EndpointParts): Endpoint[] {
  const { config, store, urls, scopes, tools } = parts
  const codes = codePorts(parts)
  const token = tokenPorts(codes, parts)
  const login = loginPorts(codes, parts)
  const grantAccess = new GrantAccess({
    ...codes,
    control: parts.access,
    keeper: parts.keeper,
    provider: parts.provider,
  })
  const showConnect = createConnectHandler(urls, config, {
    connectionsPath: accountPath({ urls }),
    permissions: scopes.describe(scopes.resource.join(' ')),
    publicTools: parts.shownTools,
  })
  const endpoints = [
    createConnectEndpoint(urls.basePath, showConnect),
    ...createMetadataEndpoints(urls, {
      scopes,
      resourceName: config.appName,
      registration: config.registration,
      clientDocuments: config.clientDocuments,
      signsAssertions: tools.keySet !== undefined,
      links: config,
    }),
    ...createWellKnownEndpoints(new Map(Object.entries(valueOr(readWellKnownFile(config), {})))),
    ...registrationEndpoints(parts),
    createAuthorizeEndpoint(login),
    createCallbackEndpoint(login),
    createDevicePageEndpoint(login),
    createAccountEndpoint({ ...login, grants: store, storedClients: store }),
    createTokenEndpoint(urls.basePath, token),
    createRevokeEndpoint(urls.basePath, token),
    createIntrospectEndpoint(urls.basePath, {
      ...token,
      issuer: urls.issuer,
      access: grantAccess,
    }),
    createDeviceAuthorizationEndpoint(urls.basePath, {
      ...token,
      issuer: urls.issuer,
      resource: urls.resource,
      attempts: store,
    }),
    ...logoutEndpoints(codes, parts),
    withConnectPage(createMcpGate(gatePorts(grantAccess, parts)), showConnect),
    ...(tools.keySet ? [createKeySetEndpoint(urls.basePath, tools.keySet)] : []),
    ...createHealthEndpoints(urls.basePath, parts.readiness, { isDraining: parts.isDraining }),
  ]
  return withDefaultPaths(endpoints, urls.basePath)
}

/** Builds the dependencies of the gate of `/mcp`. */
function gatePorts(grantAccess: GrantAccess, parts: EndpointParts): McpPorts {
  const { urls, config, tools } = parts
  return {
    urls,
    allowedOrigins: config.allowedOrigins,
    callers: callerPorts(grantAccess, parts),
    methods: tools.endpoint.methods,
    serve: tools.endpoint.handle,
    has: tools.endpoint.has,
    callLimit: new CallLimit({ rate: config.callLimit, atOnce: config.callsAtOnce }, parts.runtime),
    scopesOfCalls: tools.scopesOfCalls,
    publicTools: parts.publicTools,
    grantUse: parts.grantUses,
  }
}

/** Returns the logout endpoint if the provider supports logout notices. */
function logoutEndpoints(
  codes: AuthorizationCodePorts,
  { provider, store, urls }: EndpointParts,
): Endpoint[] {
  const { readLogout } = provider
  if (!readLogout) return []
  return [createBackchannelLogoutEndpoint(urls.basePath, { ...codes, store, provider, readLogout })]
}

function codePorts(parts: EndpointParts): AuthorizationCodePorts {
  const { config, store, sealer, runtime, provider, scopes, report } = parts
  return {
    store,
    sealer,
    runtime,
    providerIssuer: provider.issuer,
    scopes,
    sessionTtlSeconds: config.sessionTtl,
    accessTokenTtlSeconds: config.accessTokenTtl,
    longTokenTtlSeconds: config.longTokenTtl,
    reportGrantEnd: ({ id, clientId, user }, reason) =>
      report('grant_ended', { grant_id: id, client_id: clientId, sub: user.sub, reason }),
  }
}

function tokenPorts(codes: AuthorizationCodePorts, parts: EndpointParts): TokenPorts {
  const { config, store, runtime, urls, clients, keeper, grantUses } = parts
  return {
    ...codes,
    devices: store,
    authentication: {
      clients: clients.finder,
      store,
      runtime,
      issuer: urls.issuer,
      tokenEndpoint: urls.tokenEndpoint,
      fetchKeys: clients.fetchKeys,
    },
    keeper,
    pace: new RefreshPace(config.accessTokenTtl),
    grantUse: grantUses,
    keepClient: createClientKeeper(store),
  }
}

function loginPorts(codes: AuthorizationCodePorts, parts: EndpointParts): LoginPorts {
  const { config, cookies, store, sealer, runtime, provider, urls, clients } = parts
  return {
    urls,
    appUrl: config.appUrl,
    appName: config.appName,
    links: config,
    clients: clients.finder,
    registrations: store,
    codes,
    devices: store,
    signIn: {
      store,
      provider,
      sealer,
      runtime,
      callbackUrl: `${urls.issuer}/oauth/callback`,
      limitPerMinute: config.signInLimit,
    },
    cookies,
    access: parts.access,
  }
}

function callerPorts(
  grantAccess: GrantAccess,
  { config, urls, store, keeper, provider, runtime, scopes, access }: EndpointParts,
): CallerPorts {
  return {
    access,
    grantAccess,
    resource: urls.resource,
    store,
    keeper,
    provider,
    runtime,
    scopes,
    // A provider whose tokens cannot be verified here has no cookie either.
    sessionTokens: config.sessionTokens && provider.verify !== undefined,
    cookieName: config.cookieName,
    checkSeconds: config.sessionCheck,
  }
}

function registrationEndpoints({ config, store, runtime, clients, scopes, urls }: EndpointParts): Endpoint[] {
  if (!config.registration) return []
  const ports = {
    store,
    runtime,
    policy: { ...clients.policy, scope: scopes.authorizationServer.join(' ') },
    issuer: urls.issuer,
    limitPerHour: config.registrationLimit,
  }
  return [
    createRegisterEndpoint(urls.basePath, ports),
    createRegisterManagementEndpoint(urls.basePath, { ...ports, clients: clients.finder }),
  ]
}
