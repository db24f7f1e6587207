import { existsSync, readFileSync } from 'node:fs'
import { variableOf } from '@drawbridge/shared/settings/setting.ts'
import { holdsPassword } from '../../config/setting-source.ts'
import type { Setting } from '../../config/setting-table.ts'
import type { Answers } from './answers.ts'
import { type NewFile, textIn } from './new-files.ts'
import type { Target } from './target.ts'

export function envFileOf({ kind }: Target): string {
  return kind === 'app' ? '.env.local' : 'drawbridge.env'
}

/** Whether a value is shown to no one. The publishable key is public, as its name says. */
export function isSecret({ secret, field }: Setting, text: string): boolean {
  return (secret === true && field !== 'providerKey' && !text.startsWith('file:')) || holdsPassword.test(text)
}

/**
 * The files to write. Keys and tools that are there stay: without these keys everyone would have to sign in again. `source` is the
 * folder of the app's source code, `password` a new one for a database.
 */
export function filesOf(
  folder: string,
  answers: Answers,
  { keys, password, source }: { keys: string; password: string; source: string },
): NewFile[] {
  const { given, target, needsTools } = answers
  const { kind } = target
  const variables = given
    .filter(({ setting, text }) => kind !== 'platform' || isSecret(setting, text))
    // Next.js replaces $NAME.
    .map(
      ({ setting, text }) =>
        `${variableOf(setting)}=${kind === 'app' ? quoted(text).replaceAll(/(?<!\\)\$/g, String.raw`\$`) : quoted(text)}`,
    )
  const envFile = envFileOf(target)
  const ofApp = kind === 'app' ? textIn(folder, envFile) : ''
  const ownLine = /^DRAWBRIDGE_.*\n?/gm
  const isThere = ofApp !== '' && !ownLine.test(ofApp) ? 'extended' : undefined
  const tools = kind === 'app' ? 'drawbridge-tools.ts' : 'tools.mjs'
  const pathOf = (name: string): string =>
    name === 'route.ts' ? `${source}app/drawbridge/[[...path]]/route.ts` : name
  return [
    { path: envFile, text: withLines(ofApp.replaceAll(ownLine, ''), variables), isPrivate: true, isThere },
    { path: 'secret-keys', text: `${keys}\n`, isPrivate: true, isThere: 'kept' },
    ...(needsTools
      ? [{ path: kind === 'app' ? source + tools : tools, text: deployFile(tools), isThere: 'kept' as const }]
      : []),
    ...extended(folder, '.gitignore', [envFile, 'secret-keys', kind === 'image' ? '.env' : '.drawbridge/']),
    ...(kind === 'image' ? extended(folder, '.env', [`POSTGRES_PASSWORD=${password}`]) : []),
    ...target.files.map((name) => ({ path: pathOf(name), text: filled(deployFile(name), answers) })),
  ]
}

function withLines(text: string, lines: readonly string[]): string {
  return text.replace(/[^\n]$/, '$&\n') + lines.map((line) => `${line}\n`).join('')
}

/** A file with lines added that it does not have, or variables that it does not set. None if it has them all. */
function extended(folder: string, path: string, lines: readonly string[]): NewFile[] {
  const text = textIn(folder, path)
  const names = new Set(text.split(/\r?\n/).map((line) => line.split('=')[0]))
  const added = lines.filter((line) => !names.has(line.split('=')[0]))
  const isPrivate = path === '.env'
  return added.length === 0 ? [] : [{ path, text: withLines(text, added), isPrivate, isThere: 'extended' }]
}

/** A value as `--env-file` reads it. */
function quoted(text: string): string {
  if (!/^[\s"'`]|[\n#]|\s$/.test(text)) return text
  const quote = ['"', "'", '`'].find((each) => !text.includes(each)) ?? '"'
  return quote + text + quote
}

/** Returns a file of `deploy/`, which the build copies beside the program. */
function deployFile(name: string): string {
  const places = ['./deploy/', '../../../deploy/'].map((path) => new URL(path + name, import.meta.url))
  return readFileSync(places.find((place) => existsSync(place)) ?? name, 'utf8')
}

/** The variables of the team in a file of a platform, the first of them as a form for others, and the one that stands apart. */
const block = /^.*DRAWBRIDGE_BASE_URL[^]*?sb_publishable_\.\.\..*\n/m
const form = /^.*DRAWBRIDGE_BASE_URL[^]*?https:\/\/mcp\.example\.com.*\n/
const toolsEntry = /^[^#\n]*DRAWBRIDGE_TOOLS.*\n(?: +value: .*\n)?/m

/** Puts the person's values into the place of the examples. What the place itself decides stays. */
function filled(text: string, { given, config, files, needsTools }: Answers): string {
  const others = text.replace(block, '').replace(toolsEntry, '')
  const isMissing = ({ setting }: Answers['given'][number]): boolean =>
    !new RegExp(`^[^#\\n]*${variableOf(setting)}\\b`, 'm').test(others)
  const withSettings = text.replace(toolsEntry, '').replace(block, (found) => {
    const [entry = ''] = form.exec(found) ?? []
    return given
      .filter(isMissing)
      .map((each) => entryOf(entry, each))
      .join('')
  })
  const { host } = new URL(config.baseUrl)
  const tools = files.get('tools') ?? ''
  const examples = {
    'mcp.example.com': host,
    'drawbridge-example': host.replaceAll(/[^a-z0-9]+/g, '-'),
    'my-tools.mjs': tools || 'tools.mjs',
    'upstream.json': files.get('upstream') ?? 'upstream.json',
    'access.json': files.get('access') ?? 'access.json',
    ...(!needsTools &&
      tools !== '' && { '@/drawbridge-tools': `@/${tools.replace(/^src\//, '').replace(/\.[jt]sx?$/, '')}` }),
    ...(!needsTools &&
      tools === '' && {
        "import * as tools from '@/drawbridge-tools'\n": '',
        '{ tools, waitUntil': '{ waitUntil',
      }),
  }
  return Object.entries(examples).reduce(
    (filled, [example, value]) => filled.replaceAll(example, () => value),
    withSettings,
  )
}

/** A variable in the form of another one, as TOML, YAML or lines of an env file. For secrets Render asks; other places get them apart. */
function entryOf(entry: string, { setting, text }: Answers['given'][number]): string {
  const json = JSON.stringify(text)
  const value = entry.includes('"https') ? json.slice(1, -1) : entry.includes(': https') ? json : quoted(text)
  const named = entry.replace('DRAWBRIDGE_BASE_URL', variableOf(setting))
  if (isSecret(setting, text))
    return named.includes(' key: ') ? named.replace(/value: .*/, 'sync: false') : ''
  return named.replace('https://mcp.example.com', () => value)
}
