import { existsSync, lstatSync, readdirSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { parseEnv } from 'node:util'
import { isJsonObject, parseJsonObject } from '@drawbridge/shared/json-object.ts'
import { webUrl } from '@drawbridge/shared/settings/value.ts'
import { readSettingFile } from '../../config/document-file.ts'

/** A text, and its name in messages: `--app-url`, or `NEXT_PUBLIC_SUPABASE_URL of ../web/.env.local`. */
export interface Found {
  text: string
  name: string
}

/** The settings that files of the web app answer. */
type FoundField = 'providerUrl' | 'providerKey' | 'appUrl' | 'store'

/** The web app, as its files in a folder and next door show it. */
export interface Surroundings {
  found: Partial<Record<FoundField, Found>>
  /** Undefined: nothing shows how the app signs users in. */
  provider: 'supabase' | 'app' | undefined
  /** Address of the app while it is developed, by its framework. */
  devUrl: string | undefined
  /** Whether the app here is one of Next.js. */
  isNext: boolean
  /** Folder of the app's source code here: `src/` or none. */
  sourceFolder: string
  /** The file in which the app sends people to its sign-in page before anything else. */
  proxyFile: string | undefined
  /** Command that adds a package here. */
  addPackage: string
}

const variables: readonly (readonly [FoundField, RegExp])[] = [
  ['providerUrl', /^(?:[A-Z]+_)*SUPABASE_URL$/],
  ['providerKey', /^(?:[A-Z]+_)*SUPABASE_(?:PUBLISHABLE|ANON)(?:_[A-Z]+)*_KEY$/],
  ['store', /^(?:DATABASE|POSTGRES)_URL$/],
  ['appUrl', /^(?:(?:[A-Z]+_)*(?:SITE|APP)_URL|(?:BETTER_|NEXT)?AUTH_URL)$/],
]

const devUrls: readonly (readonly [name: string, url: string])[] = [
  ['next', 'http://localhost:3000'],
  ['nuxt', 'http://localhost:3000'],
  ['astro', 'http://localhost:4321'],
  ['vite', 'http://localhost:5173'],
]

const lockFiles: readonly (readonly [name: string, command: string])[] = [
  ['pnpm-lock.yaml', 'pnpm add'],
  ['yarn.lock', 'yarn add'],
  ['bun.lock', 'bun add'],
  ['bun.lockb', 'bun add'],
]

/** Looks at the env files and the manifest in `folder`, in its parent, and in the folders beside it. Copies no secret key. */
export function lookAround(folder: string): Surroundings {
  const parent = dirname(folder)
  const isOfSupabase = (at: string): boolean => variablesOf(at, folder).providerUrl !== undefined
  const near = [folder, parent].find(isOfSupabase)
  const beside = near === undefined ? foldersIn(parent).filter(isOfSupabase) : []
  // Of several apps next door, none is known to be the one.
  const app = near ?? (beside.length === 1 ? beside[0] : undefined)
  const packages = packagesOf(app ?? folder)
  const sourceFolder = existsSync(join(folder, 'src', 'app')) ? 'src/' : ''
  return {
    found: variablesOf(app ?? folder, folder),
    provider: app !== undefined ? 'supabase' : packages.some(hasOwnSessions) ? 'app' : undefined,
    devUrl: firstOf(devUrls, (name) => packages.includes(name)),
    isNext: packagesOf(folder).includes('next'),
    sourceFolder,
    proxyFile: ['proxy.ts', 'middleware.ts']
      .map((name) => sourceFolder + name)
      .find((path) => existsSync(join(folder, path))),
    addPackage: firstOf(lockFiles, (name) => existsSync(join(folder, name))) ?? 'npm install',
  }
}

/** The value of the first name that `holds`. */
function firstOf(
  rows: readonly (readonly [name: string, value: string])[],
  holds: (name: string) => boolean,
): string | undefined {
  return rows.find(([name]) => holds(name))?.[1]
}

function hasOwnSessions(name: string): boolean {
  return /^(?:better-auth|next-auth|@auth\/.+|@clerk\/.+|express-session)$/.test(name)
}

/** The variables of a folder's env files that answer a setting. The first file that has one counts, as for the app. */
function variablesOf(at: string, folder: string): Surroundings['found'] {
  const found: Surroundings['found'] = {}
  for (const file of ['.env.local', '.env'].map((name) => join(at, name)).filter(isOwnFile)) {
    const read = readSettingFile(file)
    for (const [name, text = ''] of Object.entries(read.kind === 'text' ? parseEnv(read.text) : {})) {
      const [field] = variables.find(([, form]) => form.test(name)) ?? []
      if (field === undefined || text === '' || found[field] !== undefined) continue
      const isUsable =
        field === 'providerKey' || (field === 'store' ? text.startsWith('postgres') : webUrl(text))
      if (isUsable) found[field] = { text, name: `${name} of ${relative(folder, file)}` }
    }
  }
  return found
}

/** Whether a path is a file of this user. Another user of the machine could name a provider of theirs. */
function isOwnFile(path: string): boolean {
  const stat = lstatSync(path, { throwIfNoEntry: false })
  return stat?.isFile() === true && (process.getuid === undefined || stat.uid === process.getuid())
}

function foldersIn(parent: string): string[] {
  try {
    const entries = readdirSync(parent, { withFileTypes: true })
    return entries.filter((entry) => entry.isDirectory()).map(({ name }) => join(parent, name))
  } catch {
    return [] // It need not be readable.
  }
}

function packagesOf(folder: string): string[] {
  const read = readSettingFile(join(folder, 'package.json'))
  const manifest = read.kind === 'text' ? parseJsonObject(read.text) : undefined
  return [manifest?.['dependencies'], manifest?.['devDependencies']].flatMap((list) =>
    isJsonObject(list) ? Object.keys(list) : [],
  )
}
