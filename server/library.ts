import { isJsonObject } from '@drawbridge/shared/json-object.ts'
import { suggestion } from '@drawbridge/shared/nearest-name.ts'
import { pino } from 'pino'
import { type App, createApp } from './startup/app.ts'
import type { WaitUntil } from './core/background-work.ts'
import type { Upstream } from './core/gateway/upstream.ts'
import { ConfigError } from '@drawbridge/shared/settings/setting.ts'
import { checkSettings } from './config/config.ts'
import { readUpstream } from './config/document-file.ts'
import { isProduction, readSettings, settingsOfObject } from './config/setting-source.ts'
import type { ServerConfig, Settings } from './config/setting-table.ts'
import { faultTexts, fileFaults, fileFields } from './config/setting-file.ts'
import { LineFile } from './observability/line-file.ts'
import { createLog, reportTo } from './observability/log.ts'
import type { ToolModule } from './mcp/tools/tool-module.ts'
import { splitUrl } from './http/middleware/guards.ts'
import { type Served, serveModule } from './startup/open-tools.ts'
import { serveHttpUpstream } from './startup/open-upstream.ts'
import { systemRuntime } from './startup/system-runtime.ts'

export { ConfigError, type Settings, type ToolModule }
export { ToolModuleError } from './startup/open-tool-module.ts'

/** Drawbridge inside another server. */
export interface Drawbridge {
  /**
   * Answers the requests for BASE_URL. `address` is the IP address at the other end of the connection, as your server knows
   * it; limits per address need it. Behind proxies name them in `trustedProxies`: then `X-Forwarded-For` is read as well. It is
   * read even without an address, as if each request came by such a proxy.
   */
  fetch(request: Request, peer?: { address?: string | undefined }): Promise<Response>
  /** Answers the requests for APP_URL; only there while the embedded provider is in use. */
  fetchApp?(request: Request): Promise<Response>
  /**
   * Deletes what has expired, and ends sessions at the provider that are no longer needed. Happens by itself; with `waitUntil`, along
   * with requests, and a route that is called now and then does it where there are none. Never rejects: failures are in the log.
   */
  upkeep(): Promise<void>
  /** Closes the store. Requests in progress may fail. */
  close(): Promise<void>
}

/** Options that are values rather than settings. */
export interface DrawbridgeOptions {
  /** The tools of /mcp, as a TOOLS file exports them; replaces the demo tools. */
  tools?: ToolModule
  /**
   * Keeps the process running until a promise has settled, where it may be frozen or stopped after each answer: `after` of Next.js,
   * `waitUntil` of the platform. Called with each request. Nothing is done at an interval then.
   */
  waitUntil?: WaitUntil
}

/**
 * Returns the settings of variables, `DRAWBRIDGE_BASE_URL` and so on: by default those of this process. Throws `ConfigError` for a
 * variable of an unknown setting.
 */
export function environmentSettings(
  environment: Readonly<Record<string, string | undefined>> = process.env,
): Settings {
  // PORT is where the host server listens.
  const { given, problems } = readSettings({}, { ...environment, PORT: undefined })
  if (problems.length > 0) throw new ConfigError(problems)
  return Object.fromEntries(given.map(({ setting, name }) => [setting.field, environment[name]]))
}

/**
 * Creates a Drawbridge to mount in a server of your own. `config` has the settings of the command line as text, by
 * field name (`{ baseUrl: 'http://localhost:3000', store: 'sqlite:data/server.db' }`); omitted fields have their
 * default. Logs JSON lines to stderr. Throws `ConfigError` with every field of an unknown name, every value that is not
 * one of its setting and every fault of the files that settings name; `ToolModuleError` with every fault of `tools`; or
 * what opening the store throws.
 *
 * @example
 * const drawbridge = createDrawbridge({ baseUrl: 'https://mcp.example.com', store: 'sqlite:data/server.db' })
 * app.all('*', (context) => {
 *   const address = context.env.incoming.socket.remoteAddress
 *   return drawbridge.fetch(context.req.raw, { address })
 * })
 * process.once('SIGTERM', () => void drawbridge.close())
 */
export function createDrawbridge(config: Settings = {}, options: DrawbridgeOptions = {}): Drawbridge {
  const checked = readLibraryConfig(config, options)
  const { audit: path } = checked
  const audit =
    path === undefined
      ? undefined
      : new LineFile(path, (error, lost) => reportTo(log)('audit_file_failed', { path, lost, error }))
  const log = createLog(checked.log, pino.destination(2), { audit })
  const { waitUntil } = options
  const app: App = createApp(checked, systemRuntime, log, servedBy(checked, options.tools), {
    waitUntil: waitUntil && ((work) => waitUntil(work.then(() => audit?.written()))),
  })
  const { sandbox } = app
  // An address that is trusted to have written the header.
  const proxy = checked.trustedProxies[0]?.replace(/\/\d+$/, '')
  return {
    fetch: async (request, peer) => {
      const forwarded = request.headers.has('x-forwarded-for') ? proxy : undefined
      return app.fetch(atItsHost(request), { address: addressOf(peer) ?? forwarded })
    },
    ...(sandbox && { fetchApp: sandbox.fetch }),
    upkeep: () => app.upkeep(),
    async close() {
      await app.close()
      await audit?.close()
    },
  }
}

/** Returns the request with the host that the client named: some servers write their own into its URL. */
function atItsHost(request: Request): Request {
  const host = request.headers.get('host') ?? ''
  const target = splitUrl(request.url)
  // Nothing but a host: the rest of the URL must stay as it is.
  if (host === target.host || !/^[\w.:[\]-]+$/.test(host)) return request
  return new Request(request.url.replace(target.host, host), request)
}

const optionNames = ['tools', 'waitUntil']

/** As {@link createDrawbridge} says. Types are checked again: not every program that calls it is compiled with them. */
function readLibraryConfig(given: unknown, options: unknown): ServerConfig {
  const areObjects = isJsonObject(given) && isJsonObject(options)
  if (!areObjects) {
    throw new ConfigError(['createDrawbridge: expected an object of settings, and perhaps one of options.'])
  }
  const optionProblems = Object.keys(options)
    .filter((name) => !optionNames.includes(name))
    .map((name) => `${name}: there is no such option.${suggestion(name, optionNames)}`)
  if (options['tools'] !== undefined && !isJsonObject(options['tools'])) {
    optionProblems.push('tools: expected an object with what a tools module exports.')
  }
  if (options['waitUntil'] !== undefined && typeof options['waitUntil'] !== 'function') {
    optionProblems.push('waitUntil: expected a function that takes a promise.')
  }
  const checked = checkSettings(settingsOfObject(given), { production: isProduction(process.env) })
  const problems = [
    ...optionProblems,
    ...checked.problems,
    ...Object.entries(unserved)
      .filter(([field]) => checked.config[field as keyof ServerConfig] !== undefined)
      .map(([field, problem]) => `${field}: ${problem}`),
    ...faultTexts(fileFaults(checked, libraryFiles, systemRuntime.now()), checked.nameOf),
  ]
  if (checked.config.upstream !== undefined && options['tools'] !== undefined)
    problems.push('upstream: /mcp offers its tools or those of tools, not both. Leave one of them out.')
  if (upstreamOf(checked.config)?.kind === 'command')
    problems.push(
      'upstream: the program drawbridge-server alone runs commands; name the URL of an MCP server.',
    )
  if (problems.length > 0) throw new ConfigError(problems)
  return checked.config
}

/** Returns what UPSTREAM names; undefined without it, or if it cannot be read, which is reported as a fault of its file. */
function upstreamOf({ upstream }: ServerConfig): Upstream | undefined {
  const reading = upstream === undefined ? undefined : readUpstream(upstream, process.env)
  return reading?.kind === 'read' ? reading.value : undefined
}

/** Returns what `/mcp` offers; the settings are known to be good. */
function servedBy(config: ServerConfig, tools: ToolModule | undefined): Served {
  const upstream = upstreamOf(config)
  return upstream?.kind === 'http' ? serveHttpUpstream(upstream) : serveModule(config, tools)
}

const noAdmin = 'the admin API is served by the program drawbridge-server only; leave this out.'

/** Settings of the command line that a library cannot follow. */
const unserved: Partial<Record<keyof ServerConfig, string>> = {
  tools: 'import the file and hand it over, createDrawbridge(config, { tools }).',
  adminListen: noAdmin,
  adminTokenFile: noAdmin,
}

const libraryFiles = fileFields.filter((field) => !Object.hasOwn(unserved, field))

/** Servers hand all kinds of things to a fetch function as its second argument. */
function addressOf(peer: unknown): string | undefined {
  const address: unknown = isJsonObject(peer) ? peer['address'] : undefined
  return typeof address === 'string' ? address : undefined
}
