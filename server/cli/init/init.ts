import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { isLoopbackHostname } from '@drawbridge/shared/oauth/redirect-uri.ts'
import { jsonForTerminal } from '@drawbridge/shared/json-text.ts'
import { variableOf } from '@drawbridge/shared/settings/setting.ts'
import { holdsPassword } from '../../config/setting-source.ts'
import { createKeyEntry } from '../../core/operator/key-rotation.ts'
import { OperatorRefusal } from '../../core/operator/operation.ts'
import { type CommandInput, type CommandOptions, exitCode, type ExitCode } from '../command.ts'
import { doctor, examineProvider } from '../doctor/doctor.ts'
import { type Answers, gatherAnswers } from './answers.ts'
import { openDialogue } from './dialogue.ts'
import { exists, type NewFile, refuseObstacles, writeFiles } from './new-files.ts'
import { lookAround } from './surroundings.ts'
import { deployFile, startHere } from './target.ts'

const envFile = 'drawbridge.env'

/** Writes the settings, keys and files of a server into the current folder, after looking around and asking for the rest. */
export async function init(input: CommandInput, options: CommandOptions): Promise<ExitCode> {
  const { terminal, runtime } = input
  const folder = process.cwd()
  const force = options['force'] === true
  refuseObstacles(
    folder,
    [
      { path: envFile, text: '' },
      { path: '.gitignore', text: '', isThere: 'extended' },
    ],
    force,
  )
  const dialogue = input.json || options['yes'] === true ? undefined : openDialogue()
  try {
    const answers = await gatherAnswers(input, options, { seen: lookAround(folder), dialogue })
    const all = filesOf(folder, answers, createKeyEntry(runtime).entry)
    refuseObstacles(folder, all, force)
    const files = all.filter(({ path, isThere }) => isThere !== 'kept' || !exists(join(folder, path)))
    for (const { state, message, fix } of await examineProvider(answers.config, runtime))
      if (state === 'fail') terminal.note(`${message}\n-> ${fix}\n`)
    terminal.note(planText(folder, files, answers))
    const text = 'Write them? (yes, no)'
    const answer = await dialogue?.ask({ text, fallback: 'yes', parse: parseYes })
    if (answer?.startsWith('n')) throw new OperatorRefusal(409, 'Nothing was written.', '')
    writeFiles(folder, files, force)
    dialogue?.close()
    return await finish(input, answers, files)
  } finally {
    dialogue?.close()
  }
}

function parseYes(text: string): void {
  if (!/^(?:y|yes|n|no)$/.test(text)) throw new TypeError('expected yes or no')
}

/** The files to write. Keys and tools that are there stay: without these keys everyone would have to sign in again. */
function filesOf(folder: string, { given, config, target, needsTools }: Answers, keys: string): NewFile[] {
  const lines = given.map(({ setting, text }) => `${variableOf(setting)}=${quoted(text)}`)
  const ignored = exists(join(folder, '.gitignore')) ? readFileSync(join(folder, '.gitignore'), 'utf8') : ''
  const unignored = [envFile, 'secret-keys', '.drawbridge/'].filter(
    (line) => !ignored.split(/\r?\n/).includes(line),
  )
  const files: (NewFile | false)[] = [
    {
      path: envFile,
      text: textOf(['# Settings of drawbridge-server: docs/configuration.md', ...lines]),
      isPrivate: true,
    },
    { path: 'secret-keys', text: textOf([keys]), isPrivate: true, isThere: 'kept' },
    needsTools && { path: 'tools.mjs', text: deployFile('tools.mjs', config), isThere: 'kept' },
    unignored.length > 0 && {
      path: '.gitignore',
      text: ignored.replace(/[^\n]$/, '$&\n') + textOf(unignored),
      isThere: 'extended',
    },
    ...Object.entries(target.files).map(([name, path]) => ({ path, text: deployFile(name, config) })),
  ]
  return files.filter((file) => file !== false)
}

function textOf(lines: readonly string[]): string {
  return lines.map((line) => `${line}\n`).join('')
}

/** A value as `--env-file` reads it. */
function quoted(text: string): string {
  if (!/^[\s"'`]|[\n#]|\s$/.test(text)) return text
  const quote = ['"', "'", '`'].find((each) => !text.includes(each)) ?? '"'
  return quote + text + quote
}

function planText(folder: string, files: readonly NewFile[], { given }: Answers): string {
  const settings = given.map(({ setting, text, name }) => {
    const isShown = !setting.secret || text.startsWith('file:')
    const value = isShown && !holdsPassword.test(text) ? `=${text}` : ' (not shown)'
    return `    ${variableOf(setting)}${value}${/ of /.test(name) ? `, ${name}` : ''}`
  })
  const lines = files.flatMap(({ path, isPrivate, isThere }) => [
    `  ${path}${isPrivate ? ' (for you only)' : isThere === 'extended' ? ' (more lines)' : ''}`,
    ...(path === envFile ? settings : []),
  ])
  return [`To write in ${folder}:`, ...lines, ''].join('\n')
}

/** Says what was written and what comes next, and examines the result where the server can start. */
async function finish(
  input: CommandInput,
  { given, config, target }: Answers,
  files: readonly NewFile[],
): Promise<ExitCode> {
  const { json, terminal } = input
  const print = (text: string): void => (json ? terminal.note(text) : terminal.print(text))
  const redirectUrls = redirectUrlsOf(config)
  const names = files.map(({ path }) => path)
  print(`Wrote ${names.join(', ')}.\n`)
  if (redirectUrls.length > 0)
    print(`Add to the redirect URLs ${placeOf(config)}:\n${redirectUrls.map((url) => `  ${url}\n`).join('')}`)
  let next = target.next
  if (target.startsHere) {
    const environment = { ...input.environment }
    for (const { setting, text } of given) environment[variableOf(setting)] = text
    const quiet = { ...input, flags: {}, environment, json: false, terminal: { ...terminal, print } }
    if ((await doctor(quiet)) !== exitCode.ok) next = startHere.replace(' ', ' doctor ')
  }
  if (json) terminal.print(jsonForTerminal({ files: names, redirect_urls: redirectUrls, next }))
  else print(`\nNext: ${next}`)
  return exitCode.ok
}

/** The addresses to register at the provider: also the one of this computer, to try it with a Supabase project. */
function redirectUrlsOf({ provider, baseUrl }: Answers['config']): string[] {
  if (provider !== 'supabase' && provider !== 'oidc') return []
  const isLocal = isLoopbackHostname(new URL(baseUrl).hostname)
  const all = provider === 'oidc' || isLocal ? [baseUrl] : [baseUrl, 'http://localhost:8787']
  return all.map((url) => `${url}/oauth/callback`)
}

function placeOf({ provider, providerUrl }: Answers['config']): string {
  if (provider === 'oidc') return `of the client at ${providerUrl}`
  const reference = /^https:\/\/([a-z0-9]+)\.supabase\.co\//.exec(providerUrl)?.[1]
  const dashboard = `https://supabase.com/dashboard/project/${reference}/auth/url-configuration`
  return reference === undefined ? `of the project at ${providerUrl}` : `of the project, ${dashboard}`
}
