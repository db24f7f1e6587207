import { join } from 'node:path'
import { isLoopbackHostname } from '@drawbridge/shared/oauth/redirect-uri.ts'
import { jsonForTerminal } from '@drawbridge/shared/json-text.ts'
import { variableOf } from '@drawbridge/shared/settings/setting.ts'
import { createKeyEntry } from '../../core/operator/key-rotation.ts'
import { OperatorRefusal } from '../../core/operator/operation.ts'
import { keyFileEntries } from '../../store/secret-key-file.ts'
import { type CommandInput, type CommandOptions, exitCode, type ExitCode } from '../command.ts'
import { doctor, examineProvider } from '../doctor/doctor.ts'
import { type Answers, gatherAnswers } from './answers.ts'
import { openDialogue } from './dialogue.ts'
import { exists, type NewFile, refuseObstacles, textIn, writeFiles } from './new-files.ts'
import { envFileOf, filesOf, isSecret } from './plan.ts'
import { lookAround, type Surroundings } from './surroundings.ts'

/** Writes the settings, keys and files of a server into the current folder, after looking around and asking for the rest. */
export async function init(input: CommandInput, options: CommandOptions): Promise<ExitCode> {
  const { terminal, runtime } = input
  const folder = process.cwd()
  const force = options['force'] === true
  const seen = lookAround(folder)
  // Before anything is asked.
  refuseObstacles(folder, seen.isNext ? [] : [{ path: 'drawbridge.env', text: '' }], force)
  const keys = keyFileEntries(textIn(folder, 'secret-keys')).join('\n') || createKeyEntry(runtime).entry
  const dialogue = input.json || options['yes'] === true ? undefined : openDialogue()
  try {
    const answers = await gatherAnswers(input, options, { seen, dialogue, keys: keys.replaceAll('\n', ',') })
    const password = Buffer.from(runtime.randomBytes(16)).toString('hex')
    const all = filesOf(folder, answers, { keys, password, source: seen.sourceFolder })
    refuseObstacles(folder, all, force)
    const files = all.filter(({ path, isThere }) => isThere !== 'kept' || !exists(join(folder, path)))
    for (const { state, message, fix } of await examineProvider(answers.config, runtime))
      if (state === 'fail') terminal.note(`${message}\n-> ${fix}\n`)
    terminal.note(planText(folder, files, answers))
    const question = { text: 'Write them? (yes, no)', fallback: 'yes', parse: parseYes }
    if ((await dialogue?.ask(question))?.startsWith('n'))
      throw new OperatorRefusal(409, 'Nothing was written.', '')
    writeFiles(folder, files, force)
    dialogue?.close()
    return await finish(input, answers, { files, seen })
  } finally {
    dialogue?.close()
  }
}

function parseYes(text: string): void {
  if (!/^(?:y|yes|n|no)$/.test(text)) throw new TypeError('expected yes or no')
}

function planText(folder: string, files: readonly NewFile[], { given, target }: Answers): string {
  const settings = given.map(({ setting, text, name }) => {
    const isShown = !isSecret(setting, text) && setting.field !== 'providerKey'
    const value = isShown ? `=${text}` : ' (not shown)'
    return `    ${variableOf(setting)}${value}${/ of /.test(name) ? `, ${name}` : ''}`
  })
  const lines = files.flatMap(({ path, isPrivate, isThere }) => [
    `  ${path}${isPrivate ? ' (for you only)' : isThere === 'extended' ? ' (more lines)' : ''}`,
    ...(path === envFileOf(target) ? settings : []),
  ])
  return [`To write in ${folder}:`, ...lines, ''].join('\n')
}

/** Says what was written and what comes next, and examines the result where the server can start. */
async function finish(
  input: CommandInput,
  answers: Answers,
  { files, seen }: { files: readonly NewFile[]; seen: Surroundings },
): Promise<ExitCode> {
  const { given, config, target } = answers
  const { json, terminal } = input
  const print = (text: string): void => (json ? terminal.note(text) : terminal.print(text))
  const redirectUrls = redirectUrlsOf(config)
  const names = files.map(({ path }) => path)
  print(`Wrote ${names.join(', ')}.\n`)
  if (redirectUrls.length > 0)
    print(`Add to the redirect URLs ${placeOf(config)}:\n${redirectUrls.map((url) => `  ${url}\n`).join('')}`)
  if (config.provider === 'app')
    print(
      `The app's server needs the DRAWBRIDGE_SIGN_IN_SECRET in ${envFileOf(target)}: docs/app-sign-in.md\n`,
    )
  if (target.kind === 'app' && seen.proxyFile !== undefined)
    print(`Leave the paths of Drawbridge out of the matcher in ${seen.proxyFile}: docs/nextjs.md\n`)
  let next = target.next.replace('npm install', seen.addPackage)
  if (target.kind === 'folder' || target.kind === 'app') {
    const environment = { ...input.environment }
    for (const { setting, text } of given) environment[variableOf(setting)] = text
    const quiet = { ...input, flags: {}, environment, json: false, terminal: { ...terminal, print } }
    if ((await doctor(quiet)) !== exitCode.ok)
      next = `drawbridge-server doctor --env-file ${envFileOf(target)}`
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
