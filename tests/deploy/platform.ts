import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { parse } from 'smol-toml'
import { blocksOf, commandsOf, isShell } from '../docs/command-block.ts'
import { read, readJson, readYaml, root } from './deploy-files.ts'

const page = 'docs/where-to-run.md'

/** The commands of the block of docs/where-to-run.md that has `text`, each whole. */
export function commandsWith(text: string): string[] {
  const found = blocksOf(page).find((block) => isShell(block) && block.text.includes(text))
  if (found === undefined) throw new Error(`No block of ${page} has ${text}.`)
  return commandsOf(found)
}

/** The command of docs/where-to-run.md that has `text`, on one line. */
export function commandWith(text: string): string {
  const found = commandsWith(text).find((command) => command.includes(text)) ?? ''
  return found.replaceAll(/\\\n\s*/g, '')
}

/** A section of docs/where-to-run.md, without its heading. */
export function section(heading: string): string {
  const [, ...sections] = read(page).split(/^## /m)
  const found = sections.find((text) => text.startsWith(`${heading}\n`))
  if (found === undefined) throw new Error(`${page} has no section ${heading}.`)
  return found.slice(heading.length)
}

/** Runs a command of the page in `deploy/`, where `program` prints its arguments, or else its input, instead of what it does. */
export function outputOf(command: string, program: string, folder: string = join(root, 'deploy')): string {
  const script = `${program}() { if [ -t 0 ] || [ $# -gt 3 ]; then printf '%s\\n' "$@"; else cat; fi; }
export -f ${program}
xargs() { command xargs bash -c '${program} "$@"' "$@"; }
${command}`
  const { status, stdout, stderr } = spawnSync('bash', ['-c', script], { cwd: folder, encoding: 'utf8' })
  if (status !== 0) throw new Error(stderr)
  return stdout
}

/** A platform that builds an image from a folder, and what runs there. */
export interface Platform {
  name: string
  /** Variables in its file, placeholders included. */
  variables: Readonly<Record<string, string>>
  /** Variables that it keeps as secrets. */
  secrets: readonly string[]
  /** Whether it sets PORT. */
  setsPort: boolean
}

export interface RenderService {
  envVars: { key: string; value?: string; sync?: boolean }[]
  [field: string]: unknown
}

export const fly: Record<string, unknown> = parse(read('deploy/fly.toml'))
export const render: { services: RenderService[] } = readYaml('deploy/render.yaml') as never
export const railway: Record<string, unknown> = readJson('deploy/railway.json')
export const [renderService = { envVars: [] }]: RenderService[] = render.services
/** The flags of the command that deploys to Cloud Run. */
export const cloudRunFlags: Readonly<Record<string, string>> = Object.fromEntries(
  commandWith('gcloud run deploy')
    .split(/\s+(?=--)/)
    .slice(1)
    .map((flag) => flag.split(/[\s=](.*)/s, 2))
    .map(([name = '', value = '']) => [name, value]),
)

const pairs = (texts: readonly string[]): Record<string, string> =>
  Object.fromEntries(texts.map((text) => text.split(/=(.*)/s, 2)))

export const platforms: readonly Platform[] = [
  {
    name: 'Fly.io',
    variables: fly['env'] as Record<string, string>,
    secrets: [...commandWith('fly secrets import').matchAll(/DRAWBRIDGE_\w+/g)].map(String),
    setsPort: false,
  },
  {
    name: 'Railway',
    variables: pairs(
      outputOf(commandWith('railway.env'), 'railway')
        .split('\n')
        .filter((text) => text.startsWith('DRAWBRIDGE_')),
    ),
    secrets: commandsWith('railway variable set').flatMap(
      (command) => /variable set (DRAWBRIDGE_\w+)/.exec(command)?.[1] ?? [],
    ),
    setsPort: true,
  },
  {
    name: 'Render',
    variables: Object.fromEntries(
      renderService.envVars.flatMap(({ key, value }) => (value === undefined ? [] : [[key, value]])),
    ),
    secrets: renderService.envVars.filter(({ sync }) => sync === false).map(({ key }) => key),
    setsPort: true,
  },
  {
    name: 'Cloud Run',
    variables: readYaml(`deploy/${cloudRunFlags['--env-vars-file']}`) as Record<string, string>,
    secrets: Object.keys(pairs((cloudRunFlags['--set-secrets'] ?? '').split(','))),
    setsPort: true,
  },
]
