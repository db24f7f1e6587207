import { parseProxy, type ValueSource } from './config-value.ts'
import type { CredentialsConfig } from '../credentials/credential-store.ts'
import type { NetworkConfig } from '../http/network-config.ts'
import type { OAuthConfig } from '../oauth/oauth-config.ts'
import type { McpProxyConfig } from '../proxy/proxy-config.ts'
import type { HeaderEntry, SettingValues } from './setting.ts'
import { version } from './version.ts'

/** How long the keychain may take under a client, which waits for the first answer. */
const keychainTimeoutMs = 2500

/** How this computer reaches servers. Throws `TypeError` for a proxy of the environment that is none. */
export function networkConfig(
  values: SettingValues,
  { environment }: Pick<ValueSource, 'environment'>,
): NetworkConfig {
  return {
    connectTimeoutMs: values.connectTimeout ?? 10_000,
    headersTimeoutMs: values.headersTimeout ?? 300_000,
    bodyTimeoutMs: values.bodyTimeout ?? 300_000,
    ipv4: values.ipv4 === true,
    ca: values.ca,
    proxy: proxies(values.proxy, environment),
    allowHttp: values.allowHttp === true,
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
  // Other programs of this user may go through SOCKS.
  if (name === 'ALL_PROXY' && /^socks/i.test(text)) return undefined
  try {
    return parseProxy(text)
  } catch (error) {
    throw new TypeError(`${name}: ${(error as Error).message}`, { cause: error })
  }
}

/** Where a process runs, as far as a sign-in depends on it. */
type Desktop = Pick<ValueSource, 'environment'> & { platform: NodeJS.Platform }

/** How signing in is done. `port` is the one behind the URL, as mcp-remote has it. */
export function oauthConfig(
  serverUrl: string,
  values: SettingValues,
  port: number | undefined,
  desktop: Desktop,
): OAuthConfig {
  return {
    serverUrl,
    profile: values.profile ?? 'default',
    grant: grantOf(values),
    prefersDevice: !isForBrowser(values, port) && !opensBrowser(values, desktop),
    resource: values.resource,
    sendResource: values.disableResourceParameter !== true,
    staticClient: values.staticClient,
    privateKey: values.privateKey,
    clientMetadataUrl: values.clientMetadataUrl,
    clientMetadata: values.clientMetadata ?? {},
    scope: values.scope ?? values.clientMetadata?.scope,
    authorizeParameters: Object.fromEntries(values.authorizeParameters ?? []),
    tokenEndpoint: values.tokenEndpoint,
    callback: values.callback ?? {
      host: values.host ?? defaultCallbackHost(port, desktop.platform),
      port,
      path: values.callbackPath ?? '/oauth/callback',
    },
    successUrl: values.authSuccessUrl,
    useIdToken: values.useIdToken === true,
    signInTimeoutMs: values.authTimeout ?? 300_000,
    allowHttp: values.allowHttp === true,
  }
}

function grantOf(values: SettingValues): OAuthConfig['grant'] {
  if (values.clientCredentials === true) return 'client_credentials'
  return values.deviceCode === true ? 'device_code' : 'authorization_code'
}

/** Whether anything is set that means the link of a browser, be it that no browser is to be opened for it. */
function isForBrowser(values: SettingValues, port: number | undefined): boolean {
  const { open, deviceCode, callback, host, callbackPath, authorizeParameters, authSuccessUrl } = values
  const set = [open, deviceCode, callback, host, callbackPath, authorizeParameters, authSuccessUrl, port]
  return set.some((value) => value !== undefined)
}

/** Who names a port has registered a redirect URI as mcp-remote sends it. */
function defaultCallbackHost(port: number | undefined, platform: NodeJS.Platform): string {
  return port === undefined || platform === 'win32' ? '127.0.0.1' : 'localhost'
}

/** Where credentials are kept. */
export function credentialsConfig(values: SettingValues, home: string): CredentialsConfig {
  const { store: backend, key, keyFile } = values
  return { home, backend, key, keyFile, keychainTimeoutMs }
}

/** How messages are carried. */
export function proxyConfig(
  serverUrl: string,
  values: SettingValues,
  headers: readonly HeaderEntry[],
): McpProxyConfig {
  const pings = values.pingInterval ?? (values.keepAlive === true ? 30_000 : 0)
  return {
    serverUrl,
    transport: values.transport ?? 'http-first',
    protocol: values.protocol ?? 'auto',
    headers: Object.fromEntries(headers),
    tools: { allow: values.allowTool ?? [], deny: values.ignoreTool ?? [] },
    retryMs: values.retry ?? 20_000,
    watchdogMs: values.watchdog ?? 12_000,
    pingMs: pings,
    signInWaitMs: values.authWait ?? 1000,
    cookies: values.disableCookies !== true,
  }
}

/** Whether a browser can be expected to come up where this process runs. */
export function opensBrowser(values: SettingValues, { environment, platform }: Desktop): boolean {
  if (values.open !== undefined) return values.open
  const has = (name: string): boolean => (environment[name] ?? '') !== ''
  if (platform === 'linux' && has('BROWSER')) return true
  if (has('SSH_CONNECTION') || has('SSH_TTY')) return false
  return platform !== 'linux' || has('DISPLAY') || has('WAYLAND_DISPLAY') || has('WSL_DISTRO_NAME')
}
