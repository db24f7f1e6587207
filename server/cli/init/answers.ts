import { basename, posix } from 'node:path'
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

/** What the files are made from. */
export interface Answers {
  /** The settings to write, in the order of the table. */
  given: readonly (Found & { setting: Setting })[]
  config: ServerConfig
  target: Target
  /** Files in this folder that settings name, by setting. */
  files: ReadonlyMap<Field, string>
  /** No tools were named: an example file is wanted. */
  needsTools: boolean
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
  tools: 'File with your tools, or URL of an MCP server; empty for an example file',
}

const isOptional = (field: Field): boolean => field === 'providerClientSecret' || field === 'tools'
const isHidden = (field: Field): boolean => field === 'providerClientSecret' || field === 'store'

/**
 * Gathers the settings: from flags and variables, else from files of the web app, else from a dialogue if there is one, else from
 * defaults. `keys` is the ring. Throws `ConfigError` with everything that is missing or wrong.
 */
export async function gatherAnswers(
  input: CommandInput,
  options: CommandOptions,
  { seen, dialogue, keys }: { seen: Surroundings; dialogue: Dialogue | undefined; keys: string },
): Promise<Answers> {
  const draft = new Draft(input, dialogue)
  const named = draft.textOf('provider')?.replace('embedded', 'none')
  const provider = await draft.choose('--provider', Object.keys(asked), {
    given: named ?? seen.provider,
    text: 'Who signs your users in? app: its own sessions, none: try it out',
  })
  const place = await draft.choose('--target', Object.keys(targets), {
    given: options['target'] as string | undefined,
    text: 'Where will it run?',
    fallback: seen.isNext ? 'nextjs' : 'local',
  })
  const target = targets[place] as Target
  draft.put('provider', provider === 'none' ? 'embedded' : provider)
  const found = usable(seen.found, provider, target)
  for (const field of [...(asked[provider] ?? []), ...target.needs]) {
    const appUrl = draft.textOf('appUrl')
    const guesses: Partial<Record<Field, string | undefined>> = {
      appUrl: target.needs.includes('baseUrl') ? undefined : seen.devUrl,
      signInUrl: appUrl && `${appUrl}/connect`,
    }
    await draft.settle(field, found[field], guesses[field])
  }
  if (draft.textOf('upstream') === undefined) await draft.settle('tools')
  const needsTools = draft.placeTools()
  const signInSecret = encodeBase64url(input.runtime.randomBytes(32))
  draft.complete(
    { secretKeys: keys, ...target.settings, ...(provider === 'app' && { signInSecret }) },
    target,
  )
  const files = target.kind === 'folder' ? new Map<Field, string>() : draft.placeFiles(target)
  return { ...draft.checked(place, target), target, files, needsTools }
}

/** What was found and can be used: in public the app is elsewhere, and so is the database of any place but the app. */
function usable(
  { providerUrl, providerKey, store, appUrl }: Surroundings['found'],
  provider: string,
  { kind, needs }: Target,
): Partial<Record<Field, Found | undefined>> {
  const { hostname } = new URL(appUrl?.text ?? 'http://localhost')
  return {
    ...(provider === 'supabase' && { providerUrl, providerKey }),
    ...(!(needs.includes('baseUrl') && isLoopbackHostname(hostname)) && { appUrl }),
    ...(kind === 'app' && store && { store: { ...store, text: withSchema(store.text) } }),
  }
}

/** A schema of its own in the app's database, whose pooler at Supabase has port 6543 in transaction mode. */
function withSchema(url: string): string {
  const pooler = /:6543\b/.test(url) && !url.includes('pooler=') ? '&pooler=transaction' : ''
  return url.includes('schema=') ? url : `${url}${url.includes('?') ? '&' : '?'}schema=drawbridge${pooler}`
}

/** Settings as they become known. */
class Draft {
  readonly #given: Map<Field, Found>
  readonly #problems: string[]
  readonly #dialogue: Dialogue | undefined

  constructor({ flags, environment, places }: CommandInput, dialogue: Dialogue | undefined) {
    // PORT belongs to the place where this command runs.
    const { given, problems } = readSettings(flags, { ...environment, PORT: undefined }, places)
    this.#given = new Map(
      given.map(({ setting, texts: [text], name }) => [setting.field, { text: String(text), name }]),
    )
    this.#problems = [...problems]
    this.#dialogue = dialogue
  }

  textOf(field: Field): string | undefined {
    return this.#given.get(field)?.text
  }

  put(field: Field, text: string): void {
    this.#given.set(field, { text, name: this.#nameOf(rowOf(field)) })
  }

  /** Returns one of `names`: what was given, else the answer to a question, else the default. */
  async choose(
    flag: string,
    names: readonly string[],
    { given, text, fallback }: { given: string | undefined; text: string; fallback?: string },
  ): Promise<string> {
    const { parse } = oneOf(...names)
    const question = { text: `${text} (${names.join(', ')})`, fallback, parse }
    const chosen = given ?? (await this.#dialogue?.ask(question)) ?? fallback ?? ''
    try {
      return parse(chosen)
    } catch (error) {
      throw new ConfigError([`${flag}: ${(error as Error).message}.`])
    }
  }

  /** Keeps what was given or found, else asks, else takes the default. */
  async settle(field: Field, found?: Found, guess = isOptional(field) ? '' : undefined): Promise<void> {
    if (this.#given.has(field)) return
    const { parse } = rowOf(field)
    const question = { text: questions[field] ?? field, fallback: guess, parse, isHidden: isHidden(field) }
    const text = found?.text ?? (await this.#dialogue?.ask(question)) ?? guess
    if (text) this.#given.set(field, found ?? { text, name: this.#nameOf(rowOf(field)) })
  }

  /** Puts the tools where they belong; returns whether they are an example to write. `none` means none. */
  placeTools(): boolean {
    const tools = this.#given.get('tools')
    if (tools?.text === 'none') this.#given.delete('tools')
    else if (tools && webUrl(tools.text)) {
      this.#given.delete('tools')
      this.#given.set('upstream', tools)
    } else if (!tools && !this.#given.has('upstream')) {
      this.put('tools', './tools.mjs')
      return true
    }
    return false
  }

  /** Adds what is not given, and what follows from what is. */
  complete(defaults: Settings, { kind }: Target): void {
    this.#add(defaults)
    const appUrl = this.textOf('appUrl')
    if (kind === 'app' && appUrl !== undefined) this.#add({ baseUrl: appUrl })
    const { hostname = '', port } = webUrl(this.textOf('baseUrl') ?? '') ?? {}
    if (kind === 'folder' && isLoopbackHostname(hostname)) this.#add({ listen: `127.0.0.1:${port || 80}` })
    if (this.textOf('provider') === 'supabase') this.#completeAuthUrl()
  }

  #add(texts: Settings): void {
    for (const [field, text] of Object.entries(texts) as [Field, string][])
      if (!this.#given.has(field)) this.put(field, text)
  }

  #completeAuthUrl(): void {
    const text = this.textOf('providerUrl') ?? ''
    if (webUrl(text)?.pathname === '/') this.put('providerUrl', text.replace(/\/?$/, '/auth/v1'))
  }

  /**
   * Names the files of settings as they are called in the image, which is built from this folder; the app imports its tools by itself.
   * Returns them as they are here.
   */
  placeFiles({ kind }: Target): Map<Field, string> {
    const files = new Map<Field, string>()
    for (const field of kind === 'app' ? (['tools'] as const) : (['tools', 'upstream', 'access'] as const)) {
      const { text, name } = this.#given.get(field) ?? { text: '', name: '' }
      if (text === '' || webUrl(text)) continue
      const path = posix.normalize(text)
      if (/^(?:\/|\.\.)/.test(path))
        this.#problems.push(`${name}: must be in this folder, from which the image is built.`)
      files.set(field, path)
      if (kind === 'app') this.#given.delete(field)
      else this.put(field, `/etc/drawbridge/${basename(path)}`)
    }
    return files
  }

  /** Throws `ConfigError` with every fault, under the names by which values were given, or else flags. */
  checked(place: string, target: Target): Pick<Answers, 'given' | 'config'> {
    const given = settings.flatMap((setting) => {
      const found = this.#given.get(setting.field)
      return found ? [{ ...found, setting, texts: [found.text] }] : []
    })
    const problems = [...this.#problems, ...this.#problemsAt(place, target)]
    const name = (setting: Setting): string => this.#nameOf(setting)
    const checked = checkSettings({ given, name, problems }, { production: false })
    if (checked.problems.length > 0)
      throw new ConfigError(checked.problems, 'For flags and examples: drawbridge-server init --help')
    return { given, config: checked.config }
  }

  #problemsAt(place: string, { needs, kind, files }: Target): string[] {
    const has = (field: Field): boolean => this.#given.has(field)
    const { pathname = '/' } = webUrl(this.textOf('baseUrl') ?? '') ?? {}
    const missing = needs.filter((field) => !has(field))
    const rules: [isBroken: boolean, problem: string][] = [
      [
        has('tools') && has('upstream'),
        '--tools: /mcp offers these or those of --upstream, not both. Leave one of them out.',
      ],
      [
        files.length > 0 && kind !== 'app' && pathname !== '/',
        '--base-url: the files are for a host without a path; docs/deploy.md says what a path needs.',
      ],
      [
        this.textOf('provider') === 'embedded' && kind !== 'folder',
        `--provider: none is for trying it out on this computer, not for --target ${place}.`,
      ],
    ]
    return [
      ...missing.map((field) => `${flagOf(rowOf(field))}: needed for --target ${place}: ${needed[field]}.`),
      ...rules.flatMap(([isBroken, problem]) => (isBroken ? [problem] : [])),
    ]
  }

  #nameOf(setting: Setting): string {
    return this.#given.get(setting.field)?.name ?? (setting.secret ? variableOf(setting) : flagOf(setting))
  }
}

const needed = {
  baseUrl: 'the public https address, such as https://mcp.example.com',
  store: 'there is no disk; set DRAWBRIDGE_STORE to the URL of a Postgres',
}

function rowOf(field: Field): Setting {
  const row = settings.find((setting) => setting.field === field)
  if (!row) throw new Error(`There is no setting ${field}.`)
  return row
}
