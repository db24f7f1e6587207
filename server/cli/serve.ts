import { constants } from 'node:os'
import { setTimeout as delay } from 'node:timers/promises'
import type { DestinationStream } from 'pino'
import { type App, createApp } from '../startup/app.ts'
import type { ServerConfig } from '../config/setting-table.ts'
import { storeName } from '../config/store-address.ts'
import { ConfigError } from '@drawbridge/shared/settings/setting.ts'
import { type CheckedSettings } from '../config/config.ts'
import { reservedScopes } from '../core/tokens/scope.ts'
import { listen, type Listener } from '../http/listener/listener.ts'
import { AuditRing } from '../observability/audit-ring.ts'
import { LineFile } from '../observability/line-file.ts'
import { createLog, type Log, reportTo } from '../observability/log.ts'
import { createMetrics, createMetricsEndpoint, type Metrics } from '../observability/metrics.ts'
import { openTelemetry, telemetryProblems } from '../observability/telemetry/telemetry-switch.ts'
import type { AdminApi } from '../startup/open-admin.ts'
import { systemRuntime } from '../startup/system-runtime.ts'
import { faultTexts, fileFaults, fileFields } from '../config/setting-file.ts'
import type { Served } from '../startup/open-tools.ts'
import type { ToolModuleReading } from '../startup/open-tool-module.ts'
import { readUpstream } from '../config/document-file.ts'
import { version } from '../config/version.ts'
import { upstreamOf } from '../core/gateway/upstream-document.ts'
import { createTerminalLog } from '../observability/terminal-log.ts'
import { readyText } from './ready-text.ts'
import { asTyped } from '../startup/program-name.ts'
import { type CommandInput, type ExitCode, checkInput, exitCode } from './command.ts'

/** Ctrl-C reaches every process of the terminal, and npm forwards it again: signals this close together count as one. */
const sameMs = 500

/** Windows says by this signal that the window of the console closes, and ends the process some seconds later. */
const closes = process.platform === 'win32' ? ['SIGHUP' as const] : []

/** Resolves with the first SIGINT or SIGTERM. A further one ends the process. */
function stopSignal(): Promise<NodeJS.Signals> {
  return new Promise((resolve) => {
    let firstAt: number | undefined
    const onSignal = (signal: NodeJS.Signals): void => {
      const now = performance.now()
      firstAt ??= now
      resolve(signal)
      // The shell's code for that signal. Process 1 of a container ends in no other way.
      if (now > firstAt + sameMs) process.exit(128 + constants.signals[signal])
    }
    for (const signal of ['SIGINT', 'SIGTERM', ...closes] as const) process.on(signal, onSignal)
  })
}

/** Requests are still accepted for this long after SIGTERM, until load balancers have seen `/readyz` fail. */
const leaveMs = 1000

/**
 * Serves until SIGINT or SIGTERM, then drains. Rejects with a `ConfigError` that has every fault of the settings and their files,
 * and when the store cannot be used or a port is taken.
 */
export async function serve(input: CommandInput): Promise<ExitCode> {
  const { json, upstreamCommand } = input
  const checked = checkInput(input)
  const { config } = checked
  const destination = new LineFile(2, () => {})
  process.on('exit', () => destination.writeNow())
  // Listen from the start: process 1 of a container ignores signals without a handler.
  const stopping = stopSignal()
  const metrics = config.metricsListen && (await createMetrics(version))
  const served = await readFiles(checked, upstreamCommand)
  const named = { version, store: config.store.kind === 'postgres' ? 'postgresql' : 'sqlite' }
  const telemetry = await openTelemetry(process.env, named, (...event) => reportTo(log)(...event))
  const { log, audit, events } = openLog(config, destination, { metrics, telemetry })
  const app = createApp(config, systemRuntime, log, served)
  const listeners: Listener[] = []
  let admin: AdminApi | undefined
  try {
    await app.prepare()
    admin = events && (await openAdmin(app, config, { log, events }))
    for (const opening of openListeners(app, config, { log, metrics, admin })) listeners.push(await opening())
  } catch (error) {
    await Promise.all(listeners.map((listener) => listener.close()))
    await app.close()
    throw error
  }
  process.stdout.write(
    json ? `${JSON.stringify(readyFacts(config, served.upstream))}\n` : asTyped(readyText(config, served)),
  )
  const signal = await stopping
  reportTo(log)('stopping', { signal })
  app.drain()
  // A person waits after SIGINT, and no load balancer stands before the embedded provider.
  if (signal === 'SIGTERM' && !app.sandbox) await delay(leaveMs)
  admin?.stop()
  const closing = listeners.map((listener) => listener.close())
  app.endStreams()
  await Promise.all(closing)
  await app.close()
  await closeLog(log, audit, destination)
  return exitCode.ok
}

/** Writes and sends pending events, then exits: a collector or reader that hangs would keep the process alive. */
async function closeLog(
  { telemetry }: Log,
  audit: LineFile | undefined,
  destination: LineFile,
): Promise<void> {
  const isRecorded = await audit?.close()
  const isSent = await telemetry?.close()
  const isLogged = await destination.close()
  if ([isRecorded, isSent, isLogged].includes(false)) process.exit(exitCode.ok)
}

function openListeners(
  app: App,
  config: ServerConfig,
  { log, metrics, admin }: { log: Log; metrics: Metrics | undefined; admin: AdminApi | undefined },
): (() => Promise<Listener>)[] {
  const { listen: address, metricsListen, adminListen, appUrl } = config
  const { sandbox } = app
  const opening = [() => listen(app.fetch, address, { gate: app.gate, report: reportTo(log) })]
  if (metrics && metricsListen) opening.push(() => listen(createMetricsEndpoint(metrics), metricsListen))
  // Ids of clients may be URLs.
  const form = { encodedSlashes: true }
  if (admin && adminListen) opening.push(() => listen(admin.fetch, adminListen, { form }))
  if (sandbox) {
    const { hostname, port } = new URL(appUrl)
    const host = hostname === 'localhost' ? address.host : hostname.replace(/^\[|\]$/g, '')
    opening.push(() => listen(sandbox.fetch, { host, port: Number(port || 80) }))
  }
  return opening
}

/** Opens the admin API if configured; only then loads its code. */
async function openAdmin(
  { store, ring }: App,
  config: ServerConfig,
  { log, events }: { log: Log; events: AuditRing },
): Promise<AdminApi | undefined> {
  const { adminTokenFile } = config
  if (adminTokenFile === undefined) return undefined
  const { openAdminApi } = await import('../startup/open-admin.ts')
  return openAdminApi(config, adminTokenFile, { store, ring, runtime: systemRuntime, log, events })
}

/** Opens the log with the other destinations of its audit events: the audit file, which SIGHUP reopens, the admin API, the collector. */
function openLog(
  config: ServerConfig,
  destination: DestinationStream,
  { metrics, telemetry }: Pick<Log, 'metrics' | 'telemetry'>,
): { log: Log; audit: LineFile | undefined; events: AuditRing | undefined } {
  const path = config.audit
  const audit =
    path === undefined
      ? undefined
      : new LineFile(path, (error, lost) => reportTo(log)('audit_file_failed', { path, lost, error }))
  const events = config.adminListen && new AuditRing(systemRuntime.now())
  const both = {
    write(line: string): void {
      audit?.write(line)
      events?.write(line)
      telemetry?.write(line)
    },
  }
  const shown = process.stderr.isTTY ? createTerminalLog(destination) : destination
  const log = createLog(config.log, shown, {
    metrics,
    telemetry,
    audit: audit || events || telemetry ? both : undefined,
  })
  if (audit && closes.length === 0) process.on('SIGHUP', () => void audit.reopen())
  return { log, audit, events }
}

/**
 * Returns what `/mcp` offers, after checking all settings and files. Loads the MCP SDK only for servers with tools, and the gateway
 * only for those with an upstream.
 */
async function readFiles(
  checked: CheckedSettings,
  upstreamCommand: CommandInput['upstreamCommand'],
): Promise<Served> {
  const { config } = checked
  const { tools: path, upstream } = config
  const reading = path === undefined ? undefined : await readModule(path)
  const faults = [...fileFaults(checked, fileFields, systemRuntime.now()), ...(reading?.faults ?? [])]
  const problems = [
    ...checked.problems,
    ...faultTexts(faults, checked.nameOf),
    ...commandProblems(checked, upstreamCommand),
    ...telemetryProblems(process.env),
  ]
  if (problems.length > 0) throw new ConfigError(problems)
  const [command, ...args] = upstreamCommand ?? []
  const found =
    command === undefined ? upstream && readUpstream(upstream, process.env) : upstreamOf(command, args)
  if (found && found.kind !== 'faulty') {
    const { serveUpstream } = await import('../startup/open-upstream.ts')
    return serveUpstream(found.value)
  }
  const { serveModule } = await import('../startup/open-tools.ts')
  return serveModule(config, reading?.kind === 'module' ? reading.module : undefined)
}

async function readModule(path: string): Promise<ToolModuleReading> {
  const { readToolModule } = await import('../startup/open-tool-module.ts')
  return readToolModule(path, reservedScopes)
}

function commandProblems(
  { config: { tools, upstream }, nameOf }: CheckedSettings,
  upstreamCommand: CommandInput['upstreamCommand'],
): string[] {
  if (!upstreamCommand) return []
  if (upstreamCommand.length === 0)
    return ['Behind -- there is nothing. Write the command of an MCP server there, or leave -- out.']
  const other = tools === undefined ? (upstream === undefined ? undefined : 'upstream') : 'tools'
  if (other === undefined) return []
  return [
    `${nameOf(other)}: /mcp offers this, or the tools of the command behind --, not both. Leave one of them out.`,
  ]
}

function readyFacts(config: ServerConfig, upstream: string | undefined): Record<string, unknown> {
  const { baseUrl, appUrl, provider, store } = config
  return {
    event: 'ready',
    version,
    mcp_url: `${baseUrl}/mcp`,
    metadata_url: `${baseUrl}/.well-known/oauth-authorization-server`,
    app_url: appUrl,
    provider,
    store: storeName(store),
    ...(upstream !== undefined && { upstream }),
  }
}
