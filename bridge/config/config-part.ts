import type { CredentialsConfig } from '../credentials/credential-store.ts'
import { type HeaderEntry, type ValueSource, parseProxy } from './config-value.ts'
import type { SettingValues } from './setting-table.ts'
import type { NetworkConfig } from '../http/http-client.ts'
import type { OAuthConfig } from '../oauth/oauth-config.ts'
import type { McpProxyConfig } from '../proxy/proxy.ts'
import { version } from './version.ts'

/** The limit while a client waits for its first response. */
const keychainTimeoutMs = 2500

const connectTimeoutMs = 10_000
/** A sign-in without a limit would keep its port open forever. */
const maxSignInMs = 86_400_000
/** Time that a response waits for a sign-in, which then continues in the background. */
const signInWaitMs = 1000

/** Throws `TypeError` for a proxy in the environment that cannot be used. */
export function networkConfig(
  values: SettingValues,
  { environment }: Pick<ValueSource, 'environment'>,
): NetworkConfig {
  return {
    connectTimeoutMs: Math.min(connectTimeoutMs, values.timeout || Infinity),
    headersTimeoutMs: values.timeout,
    bodyTimeoutMs: values.timeout,
    ca: values.ca,
    proxy: proxies(values.proxy, environment),
    allowHttp: values.allowHttp,
    userAgent: `drawbridge/${version}`,
  }
}

function proxies(given: string | undefined, environment: ValueSource['environment']): NetworkConfig['proxy'] {
  if (given === 'off') return undefined
  // Lower case first, as curl does.
  const variable = (name: string): string | undefined =>
    environment[name.toLowerCase()] || environment[name] || undefined
  const noProxy = variable('NO_PROXY')
  if (given !== undefined) return { http: given, https: given, noProxy }
  const proxy = (name: string): string | undefined => {
    const text = variable(name)
    return text === undefined ? undefined : environmentProxy(name, text)
  }
  const all = proxy('ALL_PROXY')
  const [http, https] = [proxy('HTTP_PROXY') ?? all, proxy('HTTPS_PROXY') ?? all]
  return http === undefined && https === undefined ? undefined : { http, https, noProxy }
}

function environmentProxy(name: string, text: string): string | undefined {
  // It may be there for other programs: the bridge cannot use SOCKS.
  if (name === 'ALL_PROXY' && /^socks/i.test(text)) return undefined
  try {
    return parseProxy(text)
  } catch (error) {
    throw new TypeError(`${name}: ${(error as Error).message}`, { cause: error })
  }
}

type Desktop = Pick<ValueSource, 'environment'> & { platform: NodeJS.Platform; hostName?: string }

/** `port` is the argument after the URL, as in mcp-remote. */
export function oauthConfig(
  serverUrl: string,
  values: SettingValues,
  port: number | undefined,
  desktop: Desktop,
): OAuthConfig {
  return {
    serverUrl,
    profile: values.profile,
    grant: grantOf(values),
    prefersDevice: !isForBrowser(values, port) && !opensBrowser(values, desktop),
    resource: values.resource,
    sendResource: !values.disableResourceParameter,
    acceptIssuer: values.acceptIssuer,
    staticClient: values.staticClient,
    privateKey: values.privateKey,
    clientMetadataUrl: values.clientMetadataUrl,
    clientName: clientName(desktop.hostName),
    clientMetadata: values.clientMetadata ?? {},
    scope: values.scope ?? values.clientMetadata?.scope,
    authorizeParameters: Object.fromEntries(values.authorizeParameters ?? []),
    callback: {
      host: values.host ?? defaultCallbackHost(port, desktop.platform),
      port,
      path: '/oauth/callback',
      isFixed: (values.callback ?? values.host ?? port) !== undefined,
      ...values.callback,
    },
    useIdToken: values.useIdToken,
    signInTimeoutMs: values.timeout || maxSignInMs,
    allowHttp: values.allowHttp,
  }
}

function grantOf(values: SettingValues): OAuthConfig['grant'] {
  if (values.clientCredentials) return 'client_credentials'
  return values.deviceCode === true ? 'device_code' : 'authorization_code'
}

/** Names the computer, so that its user knows it among others; not a container, whose name says nothing. */
function clientName(hostName = ''): string {
  const [name = ''] = hostName.split('.')
  const isTelling = /^[\p{L}\p{N}_-]{1,63}$/u.test(name) && !/^(?:localhost|[0-9a-f]{12})$/i.test(name)
  return isTelling ? `Drawbridge bridge on ${name}` : 'Drawbridge bridge'
}

/** Returns whether a setting asks for the browser link, opened automatically or not. */
function isForBrowser(values: SettingValues, port: number | undefined): boolean {
  const { open, deviceCode, callback, host, authorizeParameters } = values
  const set = [open, deviceCode, callback, host, authorizeParameters, port]
  return set.some((value) => value !== undefined)
}

/** A given port means a redirect URI that was registered for mcp-remote, which uses localhost. */
function defaultCallbackHost(port: number | undefined, platform: NodeJS.Platform): string {
  return port === undefined || platform === 'win32' ? '127.0.0.1' : 'localhost'
}

/** Returns the configuration of the credential store below `home`. */
export function credentialsConfig(values: SettingValues, home: string): CredentialsConfig {
  return { home, backend: values.store, key: values.key, keychainTimeoutMs }
}

/** Silence within a call after which the server is pinged: longer than a message may be retried. */
const watchdogMs = 12_000
const watchdogMarginMs = 2000
const pingMs = 30_000

export function proxyConfig(
  serverUrl: string,
  values: SettingValues,
  headers: readonly HeaderEntry[],
): McpProxyConfig {
  return {
    version,
    serverUrl,
    transport: values.transport,
    protocol: values.protocol,
    headers: Object.fromEntries(headers),
    tools: { allow: values.allowTool ?? [], deny: values.ignoreTool ?? [] },
    retryMs: values.retry,
    watchdogMs: Math.max(watchdogMs, values.retry + watchdogMarginMs),
    pingMs: values.keepAlive ? pingMs : 0,
    signInWaitMs,
  }
}

/** Returns whether a browser can probably be opened from this process. */
export function opensBrowser(values: SettingValues, { environment, platform }: Desktop): boolean {
  if (values.open !== undefined) return values.open
  const has = (name: string): boolean => (environment[name] ?? '') !== ''
  if (platform === 'linux' && has('BROWSER')) return true
  if (has('SSH_CONNECTION') || has('SSH_TTY')) return false
  return platform !== 'linux' || has('DISPLAY') || has('WAYLAND_DISPLAY') || has('WSL_DISTRO_NAME')
}
