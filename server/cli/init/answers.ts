import { encodeBase64url } from '@drawbridge/shared/base64url.ts'
import { isLoopbackHostname } from '@drawbridge/shared/oauth/redirect-uri.ts'
import { ConfigError, flagOf, variableOf } from '@drawbridge/shared/settings/setting.ts'
import { oneOf, webUrl } from '@drawbridge/shared/settings/value.ts'
import { checkSettings } from '../../config/config.ts'
import { type ReadSettings, readSettings } from '../../config/setting-source.ts'
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
  /** No tools were named: an example file is wanted. */
  needsTools: boolean
}

const questions = {
  providerUrl: 'Auth URL of the provider: https://REF.supabase.co/auth/v1, or the issuer',
  providerKey: 'Publishable key of the project (sb_publishable_...)',
  providerClientId: 'Client id at the provider',
  providerClientSecret: 'Client secret, which is not shown; empty for none',
  appUrl: 'Address of your web app',
  signInUrl: 'Page of the app where people allow a client',
  baseUrl: 'Public address of the endpoint, such as https://mcp.example.com',
  store: 'Postgres URL, which is not shown',
  tools: 'File with your tools, or URL of an MCP server; empty for an example file',
} satisfies Partial<Record<Field, string>>

type Asked = keyof typeof questions

const providerSettings: Readonly<Record<string, readonly Asked[]>> = {
  supabase: ['providerUrl', 'providerKey', 'appUrl'],
  oidc: ['providerUrl', 'providerClientId', 'providerClientSecret', 'appUrl'],
  app: ['appUrl', 'signInUrl'],
  none: [],
}

const optional: ReadonlySet<Field> = new Set<Asked>(['providerClientSecret', 'tools'])
const hidden: ReadonlySet<Field> = new Set<Asked>(['providerClientSecret', 'store'])

/**
 * Gathers the settings: from flags and variables, else from files of the web app, else from a dialogue if there is one, else from
 * defaults. Throws `ConfigError` with everything that is missing or wrong.
 */
export async function gatherAnswers(
  { flags, environment, places, runtime }: CommandInput,
  options: CommandOptions,
  { seen, dialogue }: { seen: Surroundings; dialogue: Dialogue | undefined },
): Promise<Answers> {
  // PORT belongs to the place where this command runs.
  const read = readSettings(flags, { ...environment, PORT: undefined }, places)
  const draft = new Draft(read, seen, dialogue)
  const named = draft.textOf('provider')?.replace('embedded', 'none')
  const provider = await draft.choose('--provider', named ?? seen.provider, {
    text: 'Who signs your users in? app: its own sessions, none: try it out',
    names: Object.keys(providerSettings),
    fallback: undefined,
  })
  draft.put('provider', provider === 'none' ? 'embedded' : provider)
  const place = await draft.choose('--target', options['target'] as string | undefined, {
    text: 'Where will it run?',
    names: Object.keys(targets),
    fallback: seen.nextRoutes === undefined ? 'local' : 'nextjs',
  })
  const target = targets[place] as Target
  const devUrl = target.needs.includes('baseUrl') ? undefined : seen.devUrl
  for (const field of [...(providerSettings[provider] ?? []), ...target.needs])
    await draft.settle(field, field === 'appUrl' ? devUrl : undefined)
  if (draft.textOf('upstream') === undefined) await draft.settle('tools')
  const needsTools = draft.placeTools()
  const signInSecret = encodeBase64url(runtime.randomBytes(32))
  draft.complete({ ...target.settings, ...(provider === 'app' && { signInSecret }) })
  return { ...draft.checked(place, target), target, needsTools }
}

/** The auth URL of a Supabase project, given its URL. */
function authUrlOf(text: string): string {
  return webUrl(text)?.pathname === '/' ? text.replace(/\/?$/, '/auth/v1') : text
}

/** Settings as they become known. */
class Draft {
  readonly #given: Map<Field, Found>
  readonly #problems: readonly string[]
  readonly #found: Surroundings['found']
  readonly #dialogue: Dialogue | undefined

  constructor(read: ReadSettings, { found }: Surroundings, dialogue: Dialogue | undefined) {
    this.#given = new Map(
      read.given.map(({ setting, texts: [text], name }) => [setting.field, { text: String(text), name }]),
    )
    this.#problems = read.problems
    this.#found = found
    this.#dialogue = dialogue
  }

  textOf(field: Field): string | undefined {
    return this.#given.get(field)?.text
  }

  put(field: Field, text: string): void {
    this.#given.set(field, { text, name: this.#nameOf(rowOf(field)) })
  }

  /** Adds what is not given. */
  complete(defaults: Settings): void {
    for (const [field, text] of Object.entries(defaults) as [Field, string][])
      if (!this.#given.has(field)) this.put(field, text)
    const { hostname = '', port = '' } = webUrl(this.textOf('baseUrl') ?? '') ?? {}
    if (isLoopbackHostname(hostname) && !this.#given.has('listen'))
      this.put('listen', `127.0.0.1:${port || 80}`)
    // Other providers have paths of their own.
    const url = this.textOf('provider') === 'supabase' ? this.textOf('providerUrl') : undefined
    if (url !== undefined) this.put('providerUrl', authUrlOf(url))
  }

  /** What was given, else the answer to a question, else the default. */
  async choose(
    flag: string,
    given: string | undefined,
    { text, names, fallback }: { text: string; names: readonly string[]; fallback: string | undefined },
  ): Promise<string> {
    const { parse } = oneOf(...names)
    const question = { text: `${text} (${names.join(', ')})`, fallback, parse }
    const chosen = given ?? (await this.#dialogue?.ask(question)) ?? fallback
    try {
      return parse(chosen ?? '')
    } catch (error) {
      throw new ConfigError([`${flag}: ${(error as Error).message}.`])
    }
  }

  /** Keeps what was given or found, else asks, else takes the default. */
  async settle(field: Asked, fallback?: string): Promise<void> {
    if (this.#given.has(field)) return
    const found: Found | undefined = (this.#found as Partial<Record<Field, Found>>)[field]
    const appUrl = this.textOf('appUrl')
    if (field === 'signInUrl' && appUrl !== undefined) fallback = `${appUrl}/connect`
    const question = {
      text: questions[field],
      fallback: optional.has(field) ? '' : fallback,
      parse: rowOf(field).parse,
      isHidden: hidden.has(field),
    }
    const text = found?.text ?? (await this.#dialogue?.ask(question)) ?? fallback
    if (text) this.#given.set(field, found ?? { text, name: this.#nameOf(rowOf(field)) })
  }

  /** Puts the tools where they belong; returns whether they are an example to write. `none` means none. */
  placeTools(): boolean {
    const { text, name } = this.#given.get('tools') ?? {}
    if (text === 'none') this.#given.delete('tools')
    if (text !== undefined && webUrl(text)) {
      this.#given.delete('tools')
      this.#given.set('upstream', { text, name: name ?? '' })
    }
    if (text !== undefined || this.#given.has('upstream')) return false
    this.put('tools', './tools.mjs')
    return true
  }

  /** Throws `ConfigError` with every fault, under the names by which values were given, or else flags. */
  checked(place: string, { needs }: Target): Pick<Answers, 'given' | 'config'> {
    const given = settings.flatMap((setting) => {
      const found = this.#given.get(setting.field)
      return found ? [{ ...found, setting, texts: [found.text] }] : []
    })
    const missing = needs
      .filter((field) => !this.#given.has(field))
      .map((field) => `${this.#nameOf(rowOf(field))}: needed for --target ${place}: ${needed[field]}.`)
    if (this.#given.has('tools') && this.#given.has('upstream'))
      missing.push('--tools: /mcp offers these or those of --upstream, not both. Leave one of them out.')
    const name = (setting: Setting): string => this.#nameOf(setting)
    const { config, problems } = checkSettings(
      { given, name, problems: [...this.#problems, ...missing] },
      { production: false },
    )
    if (problems.length > 0)
      throw new ConfigError(problems, 'For flags and examples: drawbridge-server init --help')
    return { given, config }
  }

  #nameOf(setting: Setting): string {
    return this.#given.get(setting.field)?.name ?? (setting.secret ? variableOf(setting) : flagOf(setting))
  }
}

const needed = {
  baseUrl: 'the public https address, such as https://mcp.example.com',
  store: 'there is no disk; the URL of a Postgres',
} as const

function rowOf(field: Field): Setting {
  const row = settings.find((setting) => setting.field === field)
  if (!row) throw new Error(`There is no setting ${field}.`)
  return row
}
