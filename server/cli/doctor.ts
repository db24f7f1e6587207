import { readSettings } from '../config/setting-source.ts'
import { examine } from './doctor/doctor.ts'
import { type Finding, warn } from './doctor/finding.ts'
import { fileFinding, findFileFaults } from './doctor/file-check.ts'
import { checkConfiguration, checkNode, type SettingSource } from './doctor/own-check.ts'
import { findingText, summary } from './doctor/report.ts'
import { flagOf, type Setting, variableOf } from '../config/setting.ts'
import { settings } from '../config/setting-table.ts'
import { checkInput, type CommandInput, type ExitCode, exitCode } from './command.ts'

/**
 * Looks at everything that serving depends on, changes nothing, and says what to do about what is not right. Fails when
 * anything does. `token` is a provider access token to judge by the rules of `/mcp`; it is never shown.
 */
export async function doctor(input: CommandInput, token: string | undefined): Promise<ExitCode> {
  const { json, terminal, runtime } = input
  const all: Finding[] = []
  const say = (findings: readonly Finding[]): void => {
    all.push(...findings)
    if (json) return
    for (const finding of findings) terminal.print(findingText(finding, terminal))
  }
  say([checkNode(process.versions.node)])
  const checked = checkInput(input)
  const { config, problems, nameOf } = checked
  const sources = sourcesOf(input)
  say(checkConfiguration(problems, namesBySource(sources)))
  const faults = await findFileFaults(checked, runtime.now())
  say(faults.map((fault) => fileFinding(fault, nameOf)))
  if (problems.length === 0) {
    const faulty = new Set(faults.map(({ field }) => field))
    for await (const findings of examine(config, runtime, { faulty, token })) say(findings)
  } else {
    say([warn('everything-else', 'It is looked at once the configuration has no faults.')])
  }
  const isSound = all.every(({ state }) => state !== 'fail')
  terminal.print(json ? JSON.stringify({ ok: isSound, checks: all, settings: sources }) : `\n${summary(all)}`)
  return isSound ? exitCode.ok : exitCode.failed
}

/** Where each setting came from, by field name. Never what it is. */
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
