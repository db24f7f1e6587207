import { readFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { variableOf } from '@drawbridge/shared/settings/setting.ts'
import { holdsPassword } from '../../config/setting-source.ts'
import type { Setting } from '../../config/setting-table.ts'
import { type Answers, exampleTools } from './answers.ts'
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
 * The files to write. Keys and tools that are there stay: without these keys everyone would have to sign in again. `password` is a new
 * one for a database; with `force` other files are replaced.
 */
export function filesOf(
  folder: string,
  answers: Answers,
  { keys, password, source, force }: { keys: string; password: string; source: string; force: boolean },
): NewFile[] {
  const { target, files } = answers
  const example = exampleTools(target, source)
  const envFile = envFileOf(target)
  const ifThere = force ? 'replace' : undefined
  const isImage = target.kind === 'image'
  const kept: NewFile[] = [{ path: 'secret-keys', text: `${keys}\n`, isPrivate: true }]
  if (files.get('tools') === example) kept.push({ path: join(example), text: deployFile(basename(example)) })
  const copied = target.files.map((name): NewFile => {
    const path = name === 'route.ts' ? join(source, 'app/drawbridge/[[...path]]/route.ts') : name
    return { path, text: filled(name, answers), ifThere }
  })
  return [
    envFileFor(folder, answers, ifThere),
    ...kept.filter(({ path }) => textIn(folder, path) === undefined),
    ...extended(folder, '.gitignore', [envFile, 'secret-keys', isImage ? '.env' : '.drawbridge/']),
    ...(isImage ? extended(folder, '.env', [`POSTGRES_PASSWORD=${password}`]) : []),
    ...copied,
  ]
}

/** The env file. That of an app has lines of its own, which stay. */
function envFileFor(folder: string, { given, target }: Answers, ifThere: NewFile['ifThere']): NewFile {
  const path = envFileOf(target)
  const isOfApp = target.kind === 'app'
  const variables = given
    .filter(({ setting, text }) => target.kind !== 'platform' || isSecret(setting, text))
    .map(({ setting, text }) => `${variableOf(setting)}=${quoted(text)}`)
    // Next.js replaces $NAME.
    .map((line) => (isOfApp ? line.replaceAll(/(?<!\\)\$/g, String.raw`\$`) : line))
  const before = isOfApp ? textIn(folder, path) : undefined
  const others = before?.replaceAll(/^DRAWBRIDGE_.*\n?/gm, '')
  const isExtended = before !== undefined && before === others
  const text = withLines(others, variables)
  return { path, text, isPrivate: true, ifThere: isExtended ? 'extend' : ifThere }
}

function withLines(text = '', lines: readonly string[]): string {
  return text.replace(/[^\n]$/, '$&\n') + lines.map((line) => `${line}\n`).join('')
}

/** A file with lines added that it does not have, or variables that it does not set. None if it has them all. */
function extended(folder: string, path: string, lines: readonly string[]): NewFile[] {
  const text = textIn(folder, path)
  const names = new Set(text?.split(/\r?\n/).map((line) => line.split('=')[0]))
  const added = lines.filter((line) => !names.has(line.split('=')[0]))
  const file = { path, text: withLines(text, added), isPrivate: path === '.env', ifThere: 'extend' } as const
  return added.length === 0 ? [] : [file]
}

/** A value as `--env-file` reads it. */
function quoted(text: string): string {
  if (!/^[\s"'`]|[\n#]|\s$/.test(text)) return text
  const quote = ['"', "'", '`'].find((each) => !text.includes(each)) ?? '"'
  return quote + text + quote
}

/** Returns a file of `deploy/`, which the build copies beside the program. */
function deployFile(name: string): string {
  return readFileSync(new URL(`./deploy/${name}`, import.meta.url), 'utf8')
}

/** How the file of a platform writes a variable. Only Render is told of secrets, for which it asks. */
const entries: Readonly<Record<string, (name: string, text: string, isSecret: boolean) => string>> = {
  'fly.toml': (name, text, isSecret) => (isSecret ? '' : `${name} = ${JSON.stringify(text)}\n`),
  'railway.env': (name, text, isSecret) => (isSecret ? '' : `${name}=${quoted(text)}\n`),
  'cloud-run.yaml': (name, text, isSecret) => (isSecret ? '' : `${name}: ${JSON.stringify(text)}\n`),
  'render.yaml': (name, text, isSecret) =>
    `      - key: ${name}\n        ${isSecret ? 'sync: false' : `value: ${JSON.stringify(text)}`}\n`,
}

/** The person's settings in such a file, between two of its comments. */
const yours = /(?<=# Your settings:\n)[^]*?(?= *# Instead of TOOLS)/

/** Puts the person's values into the place of the examples. What the place itself decides stays, unless it is given. */
function filled(name: string, { config, files, given }: Answers): string {
  const { host } = new URL(config.baseUrl)
  const entry = entries[name]
  const tools = files.get('tools')
  const route = tools?.replace(/^src\//, '').replace(/\.[jt]sx?$/, '')
  const examples: [example: string, value: string][] = [
    ['mcp.example.com', host],
    ['drawbridge-example', host.replaceAll(/[^a-z0-9]+/g, '-')],
  ]
  // What an image copies, and what a route imports.
  if (!entry)
    examples.push(
      ['my-tools.mjs', tools ?? 'tools.mjs'],
      ['upstream.json', files.get('upstream') ?? 'upstream.json'],
      ['access.json', files.get('access') ?? 'access.json'],
      [`import * as tools from '@/drawbridge-tools'\n`, route ? `import * as tools from '@/${route}'\n` : ''],
      ['{ tools, waitUntil', route ? '{ tools, waitUntil' : '{ waitUntil'],
    )
  const text = examples.reduce((all, [from, to]) => all.replaceAll(from, () => to), deployFile(name))
  if (!entry) return text
  const ofPlace = text.replace(yours, '').replaceAll(/^ *#.*/gm, '')
  const decided = new Set(ofPlace.match(/DRAWBRIDGE_\w+/g))
  const lines: string[] = []
  let rest = text
  for (const { setting, text: value } of given) {
    const variable = variableOf(setting)
    const line = entry(variable, value, isSecret(setting, value))
    if (!decided.has(variable)) lines.push(line)
    else if (!isSecret(setting, value)) rest = rest.replace(lineOf(variable), () => line)
  }
  return rest.replace(yours, () => lines.join(''))
}

/** Matches a variable in the file of a platform, also with its value on lines of its own. */
function lineOf(variable: string): RegExp {
  return new RegExp(`^ *(?:- key: )?${variable}\\b.*\\n(?: +value: .*\\n(?: {10}.*\\n)*)?`, 'm')
}
