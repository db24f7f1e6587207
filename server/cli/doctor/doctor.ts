import { jsonForTerminal } from '@drawbridge/shared/json-text.ts'
import type { Runtime } from '@drawbridge/shared/runtime.ts'
import { findingsOf, warn } from '@drawbridge/shared/terminal/check.ts'
import { type Finding, findingSummary, findingText } from '@drawbridge/shared/terminal/finding.ts'
import { readUpstream } from '../../config/document-file.ts'
import { providers } from '../../config/provider.ts'
import { readSettings } from '../../config/setting-source.ts'
import type { ServerConfig } from '../../config/setting-table.ts'
import { keySourceOf } from '../../config/store-address.ts'
import { openProvider } from '../../startup/open-provider.ts'
import { checkInput, type CommandInput, exitCode, type ExitCode } from '../command.ts'
import { appChecks, probeApp, signInPageChecks } from './app-check.ts'
import { appClientChecks, probeAppClient } from './app-client-check.ts'
import { probeBaseUrl, baseUrlChecks, isAtBaseUrl } from './base-url-check.ts'
import { checkFiles, keyChecks, readKeySource } from './file-check.ts'
import { probeClient, probeOidc, oidcChecks } from './oidc-check.ts'
import { probeOutside, outsideChecks } from './outside-check.ts'
import { probe } from './probe.ts'
import { providerChecks } from './provider-check.ts'
import { providerUseChecks, reachChecks, settingChecks } from './setting-check.ts'
import { checkStore } from './store-check.ts'
import { probeSupabase, cookieChecks, supabaseChecks } from './supabase-check.ts'
import { probeUpstream, upstreamChecks } from './upstream-check.ts'

/** Checks everything that serving depends on, and prints how to repair faults. Changes nothing. Fails if any check does. */
export async function doctor(input: CommandInput): Promise<ExitCode> {
  const { json, terminal } = input
  const all: Finding[] = []
  for await (const findings of examine(input)) {
    all.push(...findings)
    for (const finding of json ? [] : findings)
      terminal.print(findingText(finding, { nameWidth: 18, colour: terminal.colour }))
  }
  const isSound = all.every(({ state }) => state !== 'fail')
  const { given } = readSettings(input.flags, input.environment, input.places)
  const settings = Object.fromEntries(given.map(({ setting, origin }) => [setting.field, origin]))
  terminal.print(json ? jsonForTerminal({ ok: isSound, checks: all, settings }) : `\n${findingSummary(all)}`)
  return isSound ? exitCode.ok : exitCode.failed
}

/** Runs the groups of checks, those that explain later failures first. Skips whatever depends on a faulty setting. */
async function* examine(input: CommandInput): AsyncGenerator<readonly Finding[]> {
  const { runtime, flags, environment, places } = input
  const checked = checkInput(input)
  const { config, problems } = checked
  const given = readSettings(flags, environment, places).given.map(({ name }) => name.replace(/ .*/, ''))
  yield findingsOf(settingChecks, { problems, given })
  const { findings, faulty } = await checkFiles(checked, runtime.now())
  yield findings
  if (problems.length > 0) {
    yield [{ name: 'everything-else', ...warn('Not checked yet: repair the configuration first.') }]
    return
  }
  const keys = faulty.has('secretKeys') ? undefined : readKeySource(keySourceOf(config))
  if (keys) yield findingsOf(keyChecks, keys)
  const store = faulty.has('store')
    ? undefined
    : await checkStore(config, { kids: keys?.kids, now: runtime.now() })
  if (store) yield store.findings
  yield findingsOf(reachChecks, config)
  const base = await probeBaseUrl(config, runtime, store?.isRunning)
  yield findingsOf(baseUrlChecks, base)
  if (isAtBaseUrl(base)) yield findingsOf(outsideChecks, await probeOutside(config.baseUrl, runtime))
  const url = providers[config.provider].isTrial ? undefined : config.signInUrl
  if (url !== undefined) yield findingsOf(signInPageChecks, { url, answer: await probe(url, runtime) })
  yield await examineProvider(config, runtime)
  if (!faulty.has('upstream')) yield await examineUpstream(config, runtime)
}

async function examineUpstream(
  { upstream }: Pick<ServerConfig, 'upstream'>,
  runtime: Runtime,
): Promise<readonly Finding[]> {
  const reading = upstream === undefined ? undefined : readUpstream(upstream, process.env)
  if (reading?.kind !== 'read') return []
  return findingsOf(upstreamChecks, await probeUpstream(reading.value, runtime))
}

/** Runs the checks of the session provider. */
export async function examineProvider(config: ServerConfig, runtime: Runtime): Promise<readonly Finding[]> {
  switch (providers[config.provider].protocol) {
    case 'gotrue':
      return examineSupabase(config, runtime)
    case 'openid_connect':
      return examineOidc(config, runtime)
    case 'app':
      return findingsOf(appChecks, await probeApp(config, runtime))
  }
}

async function examineSupabase(config: ServerConfig, runtime: Runtime): Promise<readonly Finding[]> {
  const capabilities = await openProvider(config, runtime)
    .capabilities()
    .catch(() => undefined)
  const facts = await probeSupabase(config, runtime, capabilities)
  const { settings, keySet } = facts
  return [
    ...findingsOf(supabaseChecks, facts),
    ...(config.providerClientId === undefined || providers[config.provider].isTrial
      ? []
      : findingsOf(appClientChecks, await probeAppClient(config, runtime))),
    ...findingsOf(providerChecks, { config, keySet, answers: [settings, keySet], now: runtime.now() }),
    ...findingsOf(providerUseChecks, { config, capabilities }),
    ...(config.sessionTokens ? findingsOf(cookieChecks, config) : []),
  ]
}

async function examineOidc(config: ServerConfig, runtime: Runtime): Promise<readonly Finding[]> {
  const refusal = await probeClient(openProvider(config, runtime))
  const facts = { ...(await probeOidc(config, runtime)), refusal }
  const { discovery, keySet } = facts
  return [
    ...findingsOf(oidcChecks, facts),
    ...findingsOf(providerChecks, { config, keySet, answers: [discovery], now: runtime.now() }),
    ...findingsOf(providerUseChecks, { config, capabilities: undefined }),
  ]
}
