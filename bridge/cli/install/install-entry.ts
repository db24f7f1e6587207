import { installBridge } from '@drawbridge/shared/published.ts'
import { spawnSync } from 'node:child_process'
import { existsSync, readdirSync } from 'node:fs'
import { tmpdir } from 'node:os'
import type { InstallSystem, LaunchFlag } from '../../install/client.ts'
import { InstallError } from '../../install/install-error.ts'
import { launcherPath, steadyNodePath, whyPassing } from '../../install/program-path.ts'
import {
  type BridgeConfig,
  type ReadSettings,
  type Surroundings,
  createBridgeConfig,
} from '../../config/config-reader.ts'
import { resolve } from 'node:path'
import { createLaunch } from '../../install/launch.ts'
import { chooseProxy } from '../../http/route.ts'
import { settings, type Setting, negativeOf } from '../../config/setting-table.ts'
import { ConfigError, flagOf, variableOf } from '@drawbridge/shared/settings/setting.ts'
import { type CommandInput, settingsOf } from '../command.ts'
import { withoutSecrets } from '../terminal/open-browser.ts'
import { isUrl } from '@drawbridge/shared/url.ts'

export type InstallPlace = ReturnType<typeof installPlace>

/** Returns the program of the bridge, and the folders that matter to it. */
export function installPlace() {
  return {
    node: steadyNodePath(process.execPath),
    launcher: launcherPath(process.argv[1] ?? ''),
    projectFolder: process.cwd(),
    temporaryFolders: [tmpdir(), '/tmp', '/var/tmp', '/private/tmp', '/private/var/folders'],
  }
}

export function installSystem(surroundings: Surroundings, { projectFolder }: InstallPlace): InstallSystem {
  const { platform, homeFolder: home, environment } = surroundings
  // Not in this folder, whose files could change what the program does.
  const run: InstallSystem['run'] = (program, args) => {
    const { status, stdout } = spawnSync(program, args, {
      cwd: home,
      encoding: 'utf8',
      env: withoutSecrets(environment),
      stdio: ['ignore', 'pipe', 'ignore'],
      timeout: 60_000,
      windowsHide: true,
    })
    return status === 0 ? stdout : undefined
  }
  return { platform, home, environment, projectFolder, list, exists: existsSync, run }
}

function list(folder: string): readonly string[] {
  try {
    return readdirSync(folder)
  } catch {
    return []
  }
}

// Written into the environment of the entry.
const passedOn = new Set(['home'])

/** Creates the command of an entry from a command line, checked as for a connection, with notes for the user. Throws `ConfigError` and `InstallError`. */
export function entryToInstall(input: CommandInput, place: InstallPlace) {
  const { line, surroundings } = input
  const [serverUrl, port] = line.operands
  const flags = settings.flatMap((setting) =>
    flagsOf(setting, line.flags[setting.field] ?? [], place.projectFolder),
  )
  const request = { ...place, environment: surroundings.environment }
  const read = settingsOf(input)
  const config = createBridgeConfig(read, surroundings)
  if (serverUrl === undefined) throw new ConfigError(['The URL of the server is missing.'])
  const { added, notes } = fromEnvironment(input, config)
  const launch = createLaunch({ ...request, serverUrl, flags: [...flags, ...added] })
  const args = port === undefined ? launch.args : launch.args.toSpliced(2, 0, port)
  return {
    serverUrl,
    launch: { ...launch, args },
    notes: [
      ...passingNotes(input, place),
      ...notes,
      ...variableNotes(read),
      ...expandedNotes(input),
      ...blankNotes(input, place),
    ],
  }
}

/** Returns the flags of a setting in an entry. Files get absolute paths, as clients start the bridge in other folders. */
function flagsOf(setting: Setting, texts: readonly string[], folder: string): LaunchFlag[] {
  const flag = flagOf(setting)
  return texts.map((text) => {
    const negative = negativeOf(setting)
    if (text === 'off' && negative !== undefined) return { flag: negative }
    if (setting.value === undefined) return { flag }
    if (setting.value === 'file') return { flag, value: resolve(folder, text) }
    const isFile = setting.value.endsWith('@file') && text.startsWith('@')
    return { flag, value: isFile ? `@${resolve(folder, text.slice(1))}` : text }
  })
}

/** Adds the proxy and certificate authorities of this shell's environment, which clients do not pass on. */
function fromEnvironment(
  { line, surroundings }: CommandInput,
  { serverUrl, network }: BridgeConfig,
): { added: LaunchFlag[]; notes: string[] } {
  const added: LaunchFlag[] = []
  const notes: string[] = []
  const proxy = chooseProxy(new URL(serverUrl), network.proxy)
  if (proxy !== undefined && line.flags.proxy === undefined) {
    if (isUrl(proxy) && new URL(proxy).username === '') {
      added.push({ flag: '--proxy', value: proxy })
      notes.push('--proxy comes from the environment of this shell, which clients do not pass on.')
    } else
      notes.push(
        'The proxy of this shell needs a password: put proxy into config.json, or clients connect without it.',
      )
  }
  const authorities = surroundings.environment['NODE_EXTRA_CA_CERTS'] ?? ''
  if (line.flags.ca === undefined && areAuthorities(authorities, surroundings)) {
    added.push({ flag: '--ca', value: resolve(authorities) })
    notes.push('--ca comes from NODE_EXTRA_CA_CERTS of this shell, which clients do not pass on.')
  }
  return { added, notes }
}

/** Node only warns about an invalid file; the bridge would not start with it. */
function areAuthorities(path: string, surroundings: Surroundings): boolean {
  if (path === '' || /\s/.test(path)) return false
  try {
    return settings.find(({ field }) => field === 'ca')?.parse(path, surroundings) !== undefined
  } catch {
    return false
  }
}

/** Names our variables of this shell that a client does not pass on. */
function variableNotes({ origins }: ReadSettings): string[] {
  return settings
    .filter(({ field }) => origins.get(field) === 'variable' && !passedOn.has(field))
    .map((setting) =>
      setting.secret === true
        ? `${variableOf(setting)} is not written into the entry, as it is a secret. Run drawbridge login or token set.`
        : `${variableOf(setting)} is not passed on by most clients. Give ${flagOf(setting)} as well.`,
    )
}

/** Names the `${NAME}` variables that must be set where a client starts the bridge. */
function expandedNotes({ line }: CommandInput): string[] {
  const texts = [...(line.flags.headers ?? []), ...(line.flags.staticClient ?? [])]
  const names = new Set(texts.flatMap((text) => [...text.matchAll(/\$\{(\w+)\}/g)].map(([, name]) => name)))
  return [...names].map(
    (name) =>
      `Most clients do not pass environment variables. Put ${String(name)} in the client's entry, or its value in config.json or in --header-file.`,
  )
}

/** Names the paths that are going to be cleared, where nothing is written. Throws {@link InstallError} where something is, without `--force`. */
function passingNotes(
  { options }: CommandInput,
  { node, launcher, temporaryFolders }: InstallPlace,
): string[] {
  const notes = [node, launcher].flatMap((path) => whyPassing(path, temporaryFolders) ?? [])
  const [first] = notes
  if (first === undefined || options.print || options.dryRun) return notes
  if (options.force) return []
  const nextStep = 'Run this command again with the installed drawbridge; or take the risk with --force.'
  throw new InstallError(first, nextStep)
}

function blankNotes({ surroundings }: CommandInput, { launcher }: InstallPlace): string[] {
  if (surroundings.platform !== 'win32' || !launcher.includes(' ')) return []
  return [
    `Some clients on Windows cut the path of the launcher at its blank: ${launcher}. ` +
      String.raw`If the server does not start, run npm config set prefix C:\npm, install the bridge (${installBridge}), and run this again.`,
  ]
}
