import type { Runtime } from '@drawbridge/shared/runtime.ts'
import { findingsOf, warn } from '@drawbridge/shared/terminal/check.ts'
import { type Finding, findingSummary, findingText } from '@drawbridge/shared/terminal/finding.ts'
import { readUpstream } from '../../config/document-file.ts'
import { providers } from '../../config/provider.ts'
import type { FileFault } from '../../config/setting-file.ts'
import { readSettings } from '../../config/setting-source.ts'
import { settings } from '../../config/setting-table.ts'
import { flagOf, type ServerConfig, type Setting, variableOf } from '../../config/setting.ts'
import { keySourceOf } from '../../config/store-address.ts'
import { openProvider } from '../../startup/open-provider.ts'
import { checkInput, type CommandInput, exitCode, type ExitCode } from '../command.ts'
import { askBaseUrl, baseUrlChecks } from './base-url-check.ts'
import { cookieChecks } from './cookie-check.ts'
import { askFiles, fileChecks, fileFinding, findFileFaults } from './file-check.ts'
import { keyChecks, readKeySource } from './key-ring-check.ts'
import { askOidc, oidcChecks } from './oidc-check.ts'
import { providerChecks } from './provider-check.ts'
import { ownChecks, providerUseChecks, reachChecks, type SettingSource } from './setting-check.ts'
import { checkStore, type StoreReport } from './store-check.ts'
import { askSupabase, supabaseChecks } from './supabase-check.ts'
import { askUpstream, upstreamChecks } from './upstream-check.ts'

/** Checks everything that serving depends on, and prints what to do about faults. Changes nothing. Fails if any check does. */
export async function doctor(input: CommandInput): Promise<ExitCode> {
  const { json, terminal, runtime } = input
  const all: Finding[] = []
  const say = (findings: readonly Finding[]): void => {
    all.push(...findings)
    if (json) return
    for (const finding of findings)
      terminal.print(findingText(finding, { nameWidth: 18, colour: terminal.colour }))
  }
  const checked = checkInput(input)
  const { config, problems, nameOf } = checked
  const sources = sourcesOf(input)
  say(
    findingsOf(ownChecks, {
      version: process.versions.node,
      problems,
      given: namesBySource(sources),
    }),
  )
  const faults = await findFileFaults(checked, runtime.now())
  say(faults.map((fault) => fileFinding(fault, nameOf)))
  if (problems.length === 0) {
    const faulty = new Set(faults.map(({ field }) => field))
    for await (const findings of examine(config, runtime, faulty)) say(findings)
  } else {
    const text = 'It is looked at once the configuration has no faults.'
    say([{ name: 'everything-else', ...warn(text) }])
  }
  const isSound = all.every(({ state }) => state !== 'fail')
  terminal.print(
    json ? JSON.stringify({ ok: isSound, checks: all, settings: sources }) : `\n${findingSummary(all)}`,
  )
  return isSound ? exitCode.ok : exitCode.failed
}

type DoctorRuntime = Pick<Runtime, 'now' | 'randomBytes' | 'fetch'>

/**
 * Checks everything that a configuration without faults depends on. Read-only; the group of checks most likely to explain later
 * failures comes first. Does not check the files of the settings in `faulty`, which were reported already.
 */
async function* examine(
  config: ServerConfig,
  runtime: DoctorRuntime,
  faulty: ReadonlySet<FileFault['field']>,
): AsyncGenerator<readonly Finding[]> {
  const keys = faulty.has('secretKeys') ? undefined : readKeySource(keySourceOf(config))
  if (keys) yield findingsOf(keyChecks, keys)
  yield findingsOf(fileChecks, await askFiles(config, runtime, faulty))
  const store = faulty.has('store') ? unknownStore : await checkStore(config, keys?.kids)
  yield store.findings
  yield findingsOf(reachChecks, config)
  yield findingsOf(baseUrlChecks, await askBaseUrl(config, runtime, store.isRunning))
  yield* providers[config.provider].protocol === 'openid_connect'
    ? examineOidc(config, runtime)
    : examineSupabase(config, runtime)
  if (config.upstream === undefined || faulty.has('upstream')) return
  const reading = readUpstream(config.upstream, process.env)
  if (reading.kind === 'read')
    yield findingsOf(upstreamChecks, await askUpstream(reading.value, runtime, process.env['PATH']))
}

const unknownStore: StoreReport = { findings: [], isRunning: undefined }

async function* examineSupabase(
  config: ServerConfig,
  runtime: DoctorRuntime,
): AsyncGenerator<readonly Finding[]> {
  const capabilities = await openProvider(config, runtime)
    .capabilities()
    .catch(() => undefined)
  const facts = await askSupabase(config, runtime, capabilities)
  const { settings, health, keySet } = facts
  yield [
    ...findingsOf(supabaseChecks, facts),
    ...findingsOf(providerChecks, {
      config,
      keySet,
      answers: [settings, health, keySet],
      now: runtime.now(),
    }),
    ...findingsOf(providerUseChecks, { config, capabilities }),
    ...(config.sessionTokens ? findingsOf(cookieChecks, config) : []),
  ]
}

async function* examineOidc(
  config: ServerConfig,
  runtime: DoctorRuntime,
): AsyncGenerator<readonly Finding[]> {
  const facts = await askOidc(config, runtime)
  const { discovery, keySet } = facts
  yield [
    ...findingsOf(oidcChecks, facts),
    ...findingsOf(providerChecks, { config, keySet, answers: [discovery], now: runtime.now() }),
    ...findingsOf(providerUseChecks, { config, capabilities: undefined }),
  ]
}

/** Returns the source of each setting by field name, never its value. */
function sourcesOf({ flags, environment }: CommandInput): Record<string, SettingSource> {
  const { given } = readSettings(flags, environment)
  return {
    ...Object.fromEntries(settings.map(({ field }) => [field, 'default' as const])),
    ...Object.fromEntries(given.map(({ setting, origin }) => [setting.field, origin as SettingSource])),
  }
}

function namesBySource(
  sources: Readonly<Record<string, SettingSource>>,
): Record<'flag' | 'variable', readonly string[]> {
  const of = (source: SettingSource): Setting[] => settings.filter(({ field }) => sources[field] === source)
  return {
    flag: of('flag').map(flagOf),
    variable: of('variable').map(variableOf),
  }
}
