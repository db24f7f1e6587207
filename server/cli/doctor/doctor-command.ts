import { text } from 'node:stream/consumers'
import type { Terminal } from '../terminal.ts'
import { readSettings } from '../../config/setting-source.ts'
import { examine } from './doctor.ts'
import { type Finding, findingSummary, findingText, warn } from '@drawbridge/shared/terminal/finding.ts'
import { fileFinding, findFileFaults } from './file-check.ts'
import { type SettingSource, checkConfiguration, checkNode } from './own-check.ts'
import { type Setting, flagOf, variableOf } from '../../config/setting.ts'
import { settings } from '../../config/setting-table.ts'
import {
  checkInput,
  CommandFailure,
  type CommandInput,
  type ExitCode,
  exitCode,
  readConfig,
} from '../command.ts'
import { examineDirectory } from './directory/directory.ts'
import { type DirectoryName, directoryNames } from './directory/directory-name.ts'
import { listTools } from './directory/listed-tools.ts'
import { submissionSkeleton } from './directory/submission.ts'

/** What comes on stdin, to its end. It is a secret: not for an argument, which every user of the machine can see. */
export async function readToken({ note }: Pick<Terminal, 'note'>): Promise<string> {
  if (process.stdin.isTTY) note('Paste an access token of the provider, then press Enter and Ctrl-D.')
  return text(process.stdin)
}

/**
 * Looks at everything that serving depends on, changes nothing, and says what to do about what is not right. Fails when
 * anything does. `token` is a provider access token to judge by the rules of `/mcp`; it is never shown. With `directory` it looks at
 * what that directory asks for instead, and `token` is one for `/mcp`.
 */
export async function doctor(
  input: CommandInput,
  token: string | undefined,
  directory?: DirectoryName,
): Promise<ExitCode> {
  const { json, terminal, runtime } = input
  const all: Finding[] = []
  const say = (findings: readonly Finding[]): void => {
    all.push(...findings)
    if (json) return
    for (const finding of findings)
      terminal.print(findingText(finding, { nameWidth: 18, colour: terminal.colour }))
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
    const groups = directory
      ? examineDirectory(directory, config, runtime, { faulty, token })
      : examine(config, runtime, { faulty, token })
    for await (const findings of groups) say(findings)
  } else {
    say([warn('everything-else', 'It is looked at once the configuration has no faults.')])
  }
  const isSound = all.every(({ state }) => state !== 'fail')
  terminal.print(
    json ? JSON.stringify({ ok: isSound, checks: all, settings: sources }) : `\n${findingSummary(all)}`,
  )
  return isSound ? exitCode.ok : exitCode.failed
}

/** One of the directories by name. Throws `CommandFailure` for any other. */
export function readDirectory(name: string | undefined): DirectoryName | undefined {
  const found = directoryNames.find((known) => known === name)
  if (found || name === undefined) return found
  const text = `There is no directory ${JSON.stringify(name)} here.`
  throw new CommandFailure(text, `Choose one of ${directoryNames.join(', ')}.`, { code: exitCode.usage })
}

/** Prints what the submission to a directory asks for, filled in as far as it is known. Throws as `readConfig`. */
export async function printSubmission(input: CommandInput, token: string | undefined): Promise<ExitCode> {
  const config = readConfig(input, [])
  const listed = await listTools(config, input.runtime, token)
  if (listed.kind === 'unknown') throw new CommandFailure(listed.why, listed.fix)
  input.terminal.print(JSON.stringify(submissionSkeleton(config, listed.tools), null, 2))
  return exitCode.ok
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
