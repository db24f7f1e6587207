import { join } from 'node:path'
import {
  defaultValues,
  gatherSettings,
  type ParsedSettings,
  parseSettings,
  type SettingOrigin,
  unknownVariables,
} from '@drawbridge/shared/settings/read-settings.ts'
import { type ConfigFile, readConfigFile } from './config-file.ts'
import { credentialsConfig, networkConfig, oauthConfig, opensBrowser, proxyConfig } from './config-part.ts'
import { conflicts, serverUrlProblem } from './config-rule.ts'
import { type HeaderEntry, parseAbsolutePath, parsePort, type ValueSource } from './config-value.ts'
import { ConfigError } from '@drawbridge/shared/settings/setting.ts'
import type { CommandLine } from './setting-argument.ts'
import { settings, type SettingValues } from './setting-table.ts'

/** The process that a configuration is read in. */
export interface Surroundings extends ValueSource {
  /** Home folder of this user, as the operating system says: not `HOME` of a client that strips it. */
  homeFolder: string
  platform: NodeJS.Platform
  /** The name of this computer. */
  hostName?: string
}

export type ReadSettings = Readonly<ReturnType<typeof readSettings>>

/** Reads every source. Reports faults in `problems`, without throwing. */
export function readSettings(line: CommandLine, surroundings: Surroundings) {
  const { environment } = surroundings
  const [serverUrl, portText, ...more] = line.operands
  const problems = [...line.problems]
  const port = attempt(
    () => (portText === undefined ? undefined : parsePort(portText)),
    `${String(portText)}:`,
    problems,
  )
  problems.push(...more.map((word) => `Unexpected argument: ${word}.`))
  const home = homeOf(line, surroundings)
  const file = openConfigFile(configPath(home), surroundings, serverUrl)
  const given = gatherSettings(settings, line.flags, environment, file.sections)
  const expandedVariables = new Set<string>()
  const source = { ...surroundings, onVariable: (name: string) => void expandedVariables.add(name) }
  const parsed: ParsedSettings<keyof SettingValues> = parseSettings(given, source)
  const values = { ...defaultValues(settings, source), ...parsed.values } as SettingValues
  return {
    serverUrl,
    port,
    values,
    origins: new Map(given.map(({ setting, origin }) => [setting.field, origin])),
    home,
    expandedVariables,
    problems: [...problems, ...file.problems, ...parsed.problems, ...conflicts(values, port)],
    // Only a warning: the environment belongs to the client that starts the bridge.
    warnings: [...line.warnings, ...unknownVariables('bridge', environment)],
  }
}

export type BridgeConfig = ReturnType<typeof createBridgeConfig>

/** Creates the configuration for one server. Throws {@link ConfigError} with every fault. */
export function createBridgeConfig(read: ReadSettings, surroundings: Surroundings) {
  const { serverUrl, values, home, port } = read
  const problems = [...read.problems]
  const network = attempt(() => networkConfig(values, surroundings), '', problems)
  const urlProblem = serverUrlProblem(serverUrl, values.allowHttp)
  if (urlProblem !== undefined) problems.push(urlProblem)
  if (problems.length > 0 || network === undefined || serverUrl === undefined)
    throw configError(problems, home)
  const headers = [...(values.headerFile ?? []), ...(values.headers ?? [])]
  const fixed = fixedToken(values.token, headers)
  return Object.freeze({
    serverUrl,
    network,
    oauth: oauthConfig(serverUrl, values, port, surroundings),
    credentials: credentialsConfig(values, home),
    proxy: proxyConfig(serverUrl, values, fixed.headers),
    /** A token from the environment or a header. It replaces the login, and nothing is stored. */
    token: fixed.token,
    /** Source of `token`; `other_header`: an `Authorization` header without a bearer token. */
    fixedBy: fixed.by,
    /** The link is printed on stderr in any case. */
    openBrowser: opensBrowser(values, surroundings),
    /** Names of the variables that replaced `${NAME}`: their values are probably secrets. */
    expandedVariables: read.expandedVariables,
    debug: values.debug,
  })
}

/** Creates the error for `problems`, with a next step if all are in the configuration file of `home`. */
export function configError(problems: readonly string[], home: string): ConfigError {
  const path = configPath(home)
  const isFile = problems.every((problem) => problem.includes(path))
  return new ConfigError(problems, isFile ? `Correct ${path}, or move it away.` : undefined)
}

function configPath(home: string): string {
  return join(home, 'config.json')
}

/** Reads flag and variable only, as the file is in that folder. A fault is reported with the other settings. */
function homeOf(line: CommandLine, { environment, homeFolder }: Surroundings): string {
  const text = line.flags.home?.[0] ?? environment['DRAWBRIDGE_HOME'] ?? ''
  return (
    attempt(() => (text === '' ? undefined : parseAbsolutePath(text)), '', []) ??
    join(homeFolder, '.drawbridge')
  )
}

function openConfigFile(path: string, surroundings: Surroundings, serverUrl: string | undefined): ConfigFile {
  let content: string
  try {
    content = surroundings.readText(path)
  } catch (error) {
    const { code = 'unknown' } = error as NodeJS.ErrnoException
    const isMissing = code === 'ENOENT' || code === 'ENOTDIR'
    return { sections: [], problems: isMissing ? [] : [`${path}: cannot be read (${code}).`] }
  }
  return readConfigFile(path, content, serverUrl)
}

/** Runs `work` and records its `TypeError` as a problem. */
function attempt<Value>(work: () => Value, name: string, problems: string[]): Value | undefined {
  try {
    return work()
  } catch (error) {
    if (!(error instanceof TypeError)) throw error
    problems.push(`${name} ${error.message}.`.trim())
    return undefined
  }
}

/** Takes a bearer token, which replaces the login, out of the headers. */
function fixedToken(token: string | undefined, headers: readonly HeaderEntry[]) {
  const rest = headers.filter(([name]) => name.toLowerCase() !== 'authorization')
  if (token !== undefined) return { token, by: 'environment' as const, headers: rest }
  const header = headers.findLast(([name]) => name.toLowerCase() === 'authorization')
  if (!header) return { headers }
  const bearer = /^bearer +(\S+)$/i.exec(header[1])?.[1]
  if (bearer === undefined) return { by: 'other_header' as const, headers }
  return { token: bearer, by: 'header' as const, headers: rest }
}

/** Returns the names of the given settings by source, without values. */
export function namesByOrigin(read: ReadSettings): Record<SettingOrigin, readonly string[]> {
  const of = (origin: SettingOrigin): string[] =>
    settings.filter(({ field }) => read.origins.get(field) === origin).map(({ name }) => name)
  return { flag: of('flag'), variable: of('variable'), file: of('file') }
}
