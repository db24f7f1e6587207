import { isLoopbackHostname } from '@drawbridge/shared/oauth/redirect-uri.ts'
import { jsonForTerminal } from '@drawbridge/shared/json-text.ts'
import { variableOf } from '@drawbridge/shared/settings/setting.ts'
import { oneOf } from '@drawbridge/shared/settings/value.ts'
import { createKeyEntry } from '../../core/operator/key-rotation.ts'
import { OperatorRefusal } from '../../core/operator/operation.ts'
import { keyFileEntries } from '../../store/secret-key-file.ts'
import { type CommandInput, type CommandOptions, exitCode, type ExitCode } from '../command.ts'
import { doctor, examineProvider } from '../doctor/doctor.ts'
import { type Answers, gatherAnswers } from './answers.ts'
import { openDialogue } from './dialogue.ts'
import { type NewFile, refuseObstacles, textIn, writeFiles } from './new-files.ts'
import { envFileOf, filesOf, isSecret } from './plan.ts'
import { lookAround, type Surroundings } from './surroundings.ts'

/** Writes the settings, keys and files of a server into the current folder, after looking around and asking for the rest. */
export async function init(input: CommandInput, options: CommandOptions): Promise<ExitCode> {
  const { json, terminal, runtime } = input
  const folder = process.cwd()
  const force = options['force'] === true
  const seen = lookAround(folder)
  // Before anything is asked.
  refuseObstacles(folder, seen.isNext || force ? [] : [{ path: 'drawbridge.env', text: '' }])
  const keys = keyFileEntries(textIn(folder, 'secret-keys') ?? '').join('\n') || createKeyEntry(runtime).entry
  const dialogue = openDialogue(!json && options['yes'] !== true)
  try {
    const answers = await gatherAnswers(input, options, { seen, dialogue, keys: keys.replaceAll('\n', ',') })
    const password = Buffer.from(runtime.randomBytes(16)).toString('hex')
    const files = filesOf(folder, answers, { keys, password, source: seen.sourceFolder, force })
    refuseObstacles(folder, files)
    const findings = await examineProvider(answers.config, runtime)
    for (const { message, fix } of findings.filter(({ state }) => state === 'fail'))
      terminal.note(`${message}\n-> ${fix}\n`)
    terminal.note(planText(folder, files, answers))
    const question = { text: 'Write them? (yes, no)', fallback: 'yes', ...oneOf('yes', 'no', 'y', 'n') }
    if ((await dialogue.ask(question)).startsWith('n'))
      throw new OperatorRefusal(409, 'Nothing was written.', '')
    writeFiles(folder, files)
    dialogue.close()
    return await finish(input, answers, { files: files.map(({ path }) => path), seen })
  } finally {
    dialogue.close()
  }
}

function planText(folder: string, files: readonly NewFile[], { given, target }: Answers): string {
  const settings = given.map(({ setting, text, name }) => {
    const isShown = !isSecret(setting, text) && setting.field !== 'providerKey'
    const value = isShown ? `=${text}` : ' (not shown)'
    return `    ${variableOf(setting)}${value}${name.includes(' of ') ? `, ${name}` : ''}`
  })
  const lines = files.flatMap(({ path, isPrivate, ifThere }) => [
    `  ${path}${isPrivate ? ' (for you only)' : ifThere === 'extend' ? ' (more lines)' : ''}`,
    ...(path === envFileOf(target) ? settings : []),
  ])
  return [`To write in ${folder}:`, ...lines, ''].join('\n')
}

/** Says what was written and what comes next, and examines the result where the server can start. */
async function finish(
  { environment, json, terminal, ...input }: CommandInput,
  { given, config, target }: Answers,
  { files, seen }: { files: readonly string[]; seen: Surroundings },
): Promise<ExitCode> {
  const print = json ? terminal.note : terminal.print
  const urls = redirectUrlsOf(config)
  const envFile = envFileOf(target)
  print(`Wrote ${files.join(', ')}.\n`)
  if (urls.length > 0) print(`Add to the redirect URLs ${placeOf(config)}:\n  ${urls.join('\n  ')}\n`)
  if (config.provider === 'app')
    print(`The app's server needs the DRAWBRIDGE_SIGN_IN_SECRET in ${envFile}: docs/app-sign-in.md\n`)
  if (target.kind === 'app' && seen.proxyFile !== undefined)
    print(`Leave the paths of Drawbridge out of the matcher in ${seen.proxyFile}: docs/nextjs.md\n`)
  let next = target.next.replace('npm install', seen.addPackage)
  if (target.kind === 'folder' || target.kind === 'app') {
    const written = Object.fromEntries(given.map(({ setting, text }) => [variableOf(setting), text]))
    const variables = { ...environment, ...(written as Record<string, string>) }
    const quiet = {
      ...input,
      flags: {},
      environment: variables,
      json: false,
      terminal: { ...terminal, print },
    }
    if ((await doctor(quiet)) !== exitCode.ok) next = `drawbridge-server doctor --env-file ${envFile}`
  }
  if (json) terminal.print(jsonForTerminal({ files, redirect_urls: urls, next }))
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
