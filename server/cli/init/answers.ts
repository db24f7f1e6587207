import { posix, sep } from 'node:path'
import { encodeBase64url } from '@drawbridge/shared/base64url.ts'
import { isLoopbackHostname } from '@drawbridge/shared/oauth/redirect-uri.ts'
import { ConfigError, flagOf, variableOf } from '@drawbridge/shared/settings/setting.ts'
import { oneOf, webUrl } from '@drawbridge/shared/settings/value.ts'
import { checkSettings } from '../../config/config.ts'
import { readSettings } from '../../config/setting-source.ts'
import { type ServerConfig, type Setting, type Settings, settings } from '../../config/setting-table.ts'
import type { CommandInput, CommandOptions } from '../command.ts'
import type { Dialogue } from './dialogue.ts'
import type { Found, Surroundings } from './surroundings.ts'
import { type Target, targets } from './target.ts'

type Field = Setting['field']
/** Settings as they become known. */
type Known = Map<Field, string>

/** What the files are made from. */
export interface Answers {
  /** The settings to write, in the order of the table. */
  given: readonly { setting: Setting; text: string; name: string }[]
  config: ServerConfig
  target: Target
  /** Files that settings name, by setting, as they are called from this folder. */
  files: ReadonlyMap<Field, string>
}

/** The tools file of a place without any: an example to write. */
export function exampleTools({ kind }: Target, sourceFolder: string): string {
  return kind === 'app' ? `${sourceFolder}drawbridge-tools.ts` : 'tools.mjs'
}

/** What is asked for each provider, and for every one. Rules of the configuration refuse what is missing. */
const asked: Readonly<Record<string, readonly Field[]>> = {
  supabase: ['providerUrl', 'providerKey', 'appUrl'],
  oidc: ['providerUrl', 'providerClientId', 'providerClientSecret', 'appUrl'],
  app: ['appUrl', 'signInUrl'],
  none: [],
}

const questions: Partial<Record<Field, string>> = {
  providerUrl: 'Auth URL of the provider: https://REF.supabase.co/auth/v1, or the issuer',
  providerKey: 'Publishable key of the project (sb_publishable_...)',
  providerClientId: 'Client id at the provider',
  providerClientSecret: 'Client secret, which is not shown; empty for none',
  appUrl: 'Address of your web app',
  signInUrl: 'Page of the app where people allow a client',
  baseUrl: 'Public address of the endpoint, such as https://mcp.example.com',
  store: 'Postgres URL, which is not shown',
  tools: 'File with your tools (an example is made), or URL of an MCP server',
}

/**
 * Gathers the settings: from flags and variables, else from files of the web app, else from a dialogue if there is one, else from
 * defaults. Throws `ConfigError` with everything that is missing or wrong, under the names by which values were given, or else flags.
 */
export async function gatherAnswers(
  { flags, environment, places, runtime }: CommandInput,
  options: CommandOptions,
  { seen, dialogue, keys }: { seen: Surroundings; dialogue: Dialogue; keys: string },
): Promise<Answers> {
  // PORT belongs to the place where this command runs.
  const read = readSettings(flags, { ...environment, PORT: undefined }, places)
  const known: Known = new Map(read.given.map(({ setting, texts: [text] }) => [setting.field, String(text)]))
  const names: Known = new Map(read.given.map(({ setting, name }) => [setting.field, name]))
  const named = known.get('provider')?.replace('embedded', 'none') ?? seen.provider
  const who = 'Who signs your users in? app: its own sessions, none: try it out'
  const provider = await choose(dialogue, '--provider', { text: who, of: asked, given: named })
  known.set('provider', provider.replace('none', 'embedded'))
  const where = { text: 'Where will it run?', of: targets, fallback: seen.isNext ? 'nextjs' : 'local' }
  const place = await choose(dialogue, '--target', {
    ...where,
    given: options['target'] as string | undefined,
  })
  const target = targets[place] as Target
  const fields = [...(asked[provider] ?? []), ...target.needs, ...(known.has('upstream') ? [] : ['tools'])]
  for (const setting of fields.flatMap((name) => settings.filter(({ field }) => field === name)))
    if (!known.has(setting.field))
      await learn(setting, hintsFor(known, target, seen), { known, names, dialogue })
  joinBySlashes(known)
  settle(known)
  const signInSecret = encodeBase64url(runtime.randomBytes(32))
  addDefaults(known, target, { secretKeys: keys, ...(provider === 'app' && { signInSecret }) })
  const problems = [...read.problems, ...faultsAt(place, known, names)]
  const files = placeFiles(known, target)
  return { ...checked(known, names, problems), target, files }
}

/** Fills in a setting: with what was found, else the answer to a question, else the guess. */
async function learn(
  { field, parse }: Setting,
  hints: Partial<Record<Field, Found>>,
  { known, names, dialogue }: { known: Known; names: Known; dialogue: Dialogue },
): Promise<void> {
  const { text: fallback, name } = hints[field] ?? {}
  const isHidden = field === 'providerClientSecret' || field === 'store'
  const question = { text: questions[field] ?? field, fallback, parse, isHidden }
  const answer = name === undefined ? await dialogue.ask(question) : fallback
  if (answer) known.set(field, answer)
  if (name !== undefined) names.set(field, name)
}

/** Throws `ConfigError` with every fault, under the names by which values were given, or else flags. */
function checked(known: Known, names: Known, problems: readonly string[]): Pick<Answers, 'given' | 'config'> {
  const name = (setting: Setting): string =>
    names.get(setting.field) ?? (setting.secret ? variableOf(setting) : flagOf(setting))
  const given = settings.flatMap((setting) => {
    const text = known.get(setting.field)
    return text === undefined ? [] : [{ setting, text, texts: [text], name: name(setting) }]
  })
  const { config, problems: all } = checkSettings({ given, name, problems }, { production: false })
  if (all.length > 0) throw new ConfigError(all, nextStep)
  return { given, config }
}

/** What files of the app say about settings, where that can be used, and guesses. */
function hintsFor(
  known: Known,
  target: Target,
  { found, sourceFolder }: Surroundings,
): Partial<Record<Field, Found>> {
  const { providerUrl, providerKey, appUrl, store } = found
  const isHere = isLoopbackHostname(webUrl(appUrl?.text ?? '')?.hostname ?? '')
  return {
    ...(known.get('provider') === 'supabase' && { providerUrl, providerKey }),
    // In public the app is not the one that is developed here.
    ...(!(target.needs.includes('baseUrl') && isHere) && { appUrl }),
    // No other place reaches the database of the app.
    ...(target.kind === 'app' && store && { store: { ...store, text: withSchema(store.text) } }),
    ...(known.has('appUrl') && { signInUrl: { text: `${known.get('appUrl')}/connect` } }),
    providerClientSecret: { text: '' },
    tools: { text: `./${exampleTools(target, sourceFolder)}` },
  }
}

const nextStep = 'For flags and examples: drawbridge-server init --help'

/** Returns a name `of` a table: the given one, else the answer to a question. */
async function choose(
  dialogue: Dialogue,
  flag: string,
  { text, of, given, fallback }: { text: string; of: object; given: string | undefined; fallback?: string },
): Promise<string> {
  const names = Object.keys(of)
  const { parse } = oneOf(...names)
  const chosen = given ?? (await dialogue.ask({ text: `${text} (${names.join(', ')})`, fallback, parse }))
  try {
    return parse(chosen)
  } catch (error) {
    throw new ConfigError([`${flag}: ${(error as Error).message}.`], nextStep)
  }
}

/** A schema of its own in the app's database, whose pooler at Supabase has port 6543 in transaction mode. */
function withSchema(url: string): string {
  const pooler = /:6543\b/.test(url) && !url.includes('pooler=') ? '&pooler=transaction' : ''
  return url.includes('schema=') ? url : `${url}${url.includes('?') ? '&' : '?'}schema=drawbridge${pooler}`
}

/** Names files as an image and the imports of an app do, which have other separators than Windows. */
function joinBySlashes(known: Known): void {
  for (const field of filesOfImage)
    if (known.has(field)) known.set(field, (known.get(field) ?? '').replaceAll(sep, '/'))
}

/** Puts values where they belong: tools may be `none`, or the URL of an MCP server. */
function settle(known: Known): void {
  const tools = known.get('tools') ?? ''
  const isUpstream = webUrl(tools) && !known.has('upstream')
  if (isUpstream) known.set('upstream', tools)
  if (isUpstream || tools === 'none') known.delete('tools')
  const url = known.get('providerUrl') ?? ''
  if (known.get('provider') === 'supabase' && webUrl(url)?.pathname === '/')
    known.set('providerUrl', url.replace(/\/?$/, '/auth/v1'))
}

/** Adds missing settings, and those that follow from the others. */
function addDefaults(known: Known, { kind, settings: ofPlace }: Target, secrets: Settings): void {
  const { hostname = '', port } = webUrl(known.get('baseUrl') ?? '') ?? {}
  const appUrl = known.get('appUrl')
  const defaults: Settings = {
    ...secrets,
    ...ofPlace,
    ...(kind === 'app' && appUrl && { baseUrl: appUrl }),
    ...(kind === 'folder' && isLoopbackHostname(hostname) && { listen: `127.0.0.1:${port || 80}` }),
  }
  for (const [field, text] of Object.entries(defaults) as [Field, string][])
    if (!known.has(field)) known.set(field, text)
}

/** Names files as the image has them. An app imports its tools by itself. Returns them as they are called here. */
function placeFiles(known: Known, { kind }: Target): Map<Field, string> {
  const files = new Map<Field, string>()
  for (const field of filesOfImage) {
    const text = known.get(field) ?? ''
    if (text === '' || webUrl(text)) continue
    files.set(field, posix.normalize(text))
    if (kind === 'app' && field === 'tools') known.delete(field)
    if (kind === 'image' || kind === 'platform') known.set(field, `/etc/drawbridge/${posix.basename(text)}`)
  }
  return files
}

const filesOfImage = ['tools', 'upstream', 'access'] as const

const needed = {
  baseUrl: ['--base-url', 'the public address, such as https://mcp.example.com.'],
  store: ['DRAWBRIDGE_STORE', 'the URL of a Postgres. As a secret it has no flag: set the variable.'],
} as const

function faultsAt(place: string, known: Known, names: Known): string[] {
  const { needs, kind, files } = targets[place] as Target
  const { pathname = '/' } = webUrl(known.get('baseUrl') ?? '') ?? {}
  const built = filesOfImage.filter((field) => kind !== 'folder' && (kind !== 'app' || field === 'tools'))
  const outside = built.filter((field) =>
    /^(?:\/|\.\.|[a-z]:)/i.test(posix.normalize(known.get(field) ?? '')),
  )
  const missing = needs.filter((field) => !known.has(field)).map((field) => needed[field])
  const faults = [
    ...missing.map(([name, text]) => `${name}: needed for --target ${place}: ${text}`),
    ...outside.map(
      (field) =>
        `${names.get(field) ?? `--${field}`}: must be in this folder, from which the image is built.`,
    ),
  ]
  if (known.has('tools') && known.has('upstream'))
    faults.push('--tools: /mcp offers these or those of --upstream, not both. Leave one of them out.')
  if (files.length > 0 && kind !== 'app' && pathname !== '/')
    faults.push('--base-url: the files are for a host without a path; docs/deploy.md says what a path needs.')
  if (known.get('provider') === 'embedded' && kind !== 'folder')
    faults.push(`--provider: none is for trying it out on this computer, not for --target ${place}.`)
  return faults
}
