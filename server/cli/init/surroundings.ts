import { existsSync, lstatSync, readdirSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { parseEnv } from 'node:util'
import { isJsonObject, parseJsonObject } from '@drawbridge/shared/json-object.ts'
import { readSettingFile } from '../../config/document-file.ts'

/** A text, and its name in messages: `NEXT_PUBLIC_SUPABASE_URL of ../web/.env.local`. Without one it is only a guess. */
export interface Found {
  text: string
  name?: string
}

/** The settings that env files of the web app answer, by NAME=value. */
const variables = {
  providerUrl: /^(?:[A-Z]+_)*SUPABASE_URL=https?:\/\/\w/,
  providerKey: /^(?:[A-Z]+_)*SUPABASE_(?:PUBLISHABLE|ANON)(?:_[A-Z]+)*_KEY=./,
  store: /^(?:DATABASE|POSTGRES)_URL=postgres/,
  appUrl: /^(?:(?:[A-Z]+_)*(?:SITE|APP)_URL|(?:BETTER_|NEXT)?AUTH_URL)=https?:\/\/\w/,
}

/** The web app, as its files in a folder and next door show it. */
export interface Surroundings {
  found: Partial<Record<keyof typeof variables, Found>>
  /** Undefined: nothing shows how the app signs users in. */
  provider: 'supabase' | 'app' | undefined
  /** Whether the app here is one of Next.js. */
  isNext: boolean
  /** Folder of the app's source code here: `src/` or none. */
  sourceFolder: string
  /** The file in which the app sends people to its sign-in page before anything else. */
  proxyFile: string | undefined
  /** Command that adds a package here. */
  addPackage: string
}

/** Addresses of apps while they are developed, by framework. */
const devUrls = {
  next: 'http://localhost:3000',
  nuxt: 'http://localhost:3000',
  astro: 'http://localhost:4321',
  vite: 'http://localhost:5173',
}

const lockFiles = {
  'pnpm-lock.yaml': 'pnpm add',
  'yarn.lock': 'yarn add',
  'bun.lock': 'bun add',
  'bun.lockb': 'bun add',
}

const ownSessions = /^(?:better-auth|next-auth|@auth\/.+|@clerk\/.+|express-session)$/

/** Looks at the env files and the manifest in `folder`, in its parent, and in the folders beside it. Copies no secret key. */
export function lookAround(folder: string): Surroundings {
  const parent = dirname(folder)
  const isOfSupabase = (at: string): boolean => variablesOf(at, folder).providerUrl !== undefined
  const near = [folder, parent].find(isOfSupabase)
  const beside = near === undefined ? foldersIn(parent).filter(isOfSupabase) : []
  // Of several apps next door, none is known to be the one.
  const app = near ?? (beside.length === 1 ? beside[0] : undefined)
  const packages = packagesOf(app ?? folder)
  const isHere = (path: string): boolean => existsSync(join(folder, path))
  const sourceFolder = isHere('src/app') ? 'src/' : ''
  const devUrl = firstOf(devUrls, (name) => packages.includes(name))
  return {
    found: { ...(devUrl && { appUrl: { text: devUrl } }), ...variablesOf(app ?? folder, folder) },
    provider:
      app !== undefined ? 'supabase' : packages.some((name) => ownSessions.test(name)) ? 'app' : undefined,
    isNext: packagesOf(folder).includes('next'),
    sourceFolder,
    proxyFile: ['proxy.ts', 'middleware.ts'].map((name) => join(sourceFolder, name)).find(isHere),
    addPackage: firstOf(lockFiles, isHere) ?? 'npm install',
  }
}

/** The value of the first name that `holds`. */
function firstOf(
  values: Readonly<Record<string, string>>,
  holds: (name: string) => boolean,
): string | undefined {
  return Object.entries(values).find(([name]) => holds(name))?.[1]
}

/** The variables of a folder's env files that answer a setting. The first file that has one counts, as for the app. */
function variablesOf(at: string, folder: string): Surroundings['found'] {
  const all = [join(at, '.env.local'), join(at, '.env')].filter(isOwnFile).flatMap((path) => {
    const read = readSettingFile(path)
    const texts = Object.entries(read.kind === 'text' ? parseEnv(read.text) : {})
    return texts.map(([name, text = '']) => ({
      text,
      name: `${name} of ${relative(folder, path)}`,
      pair: `${name}=${text}`,
    }))
  })
  const found = Object.entries(variables).flatMap(([field, form]) =>
    all
      .filter(({ pair }) => form.test(pair))
      .slice(0, 1)
      .map((first) => [field, first]),
  )
  return Object.fromEntries(found) as Surroundings['found']
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
