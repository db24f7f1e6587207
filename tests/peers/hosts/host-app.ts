/** Frameworks that Drawbridge is mounted in; the app of docs/nextjs.md, built by the real Next.js, and a process that serves it. */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { copyFileSync, cpSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { skipWithout } from '../../support/find-program.ts'
import { until } from '../../support/until.ts'

const own = fileURLToPath(new URL('.', import.meta.url))
const repository = fileURLToPath(new URL('../../..', import.meta.url))
const manifest = join(own, 'app')
/** The folder of the app, where programs find the frameworks and the library. */
export const folder: string = join(own, '.environments/app')
const built = join(folder, 'built.txt')
const library = join(folder, 'node_modules/drawbridge-server')
/** The script of the command `next`, which is run in {@link folder}. */
export const nextProgram: string = join(folder, 'node_modules/next/dist/bin/next')
const guide = join(repository, 'docs/nextjs.md')
const quiet = { NEXT_TELEMETRY_DISABLED: '1' }

/** What the guide leaves to an app of create-next-app. */
const rest = {
  'app/layout.tsx': `export default function Layout({ children }: { children: React.ReactNode }) {
  return <html><body>{children}</body></html>
}`,
  'app/page.tsx': `export default function Page() {
  return <p>The app itself</p>
}`,
  'tsconfig.json': JSON.stringify({
    compilerOptions: {
      target: 'ES2017',
      lib: ['dom', 'dom.iterable', 'esnext'],
      allowJs: true,
      skipLibCheck: true,
      strict: true,
      noEmit: true,
      esModuleInterop: true,
      module: 'esnext',
      moduleResolution: 'bundler',
      resolveJsonModule: true,
      isolatedModules: true,
      jsx: 'react-jsx',
      incremental: true,
      plugins: [{ name: 'next' }],
      paths: { '@/*': ['./*'] },
    },
    include: ['next-env.d.ts', '**/*.ts', '**/*.tsx', '.next/types/**/*.ts'],
    exclude: ['node_modules'],
  }),
}

/** The files of the guide: each block of code is behind the name of its file. */
function filesOfGuide(): Record<string, string> {
  const blocks = readFileSync(guide, 'utf8').matchAll(
    /^`([^`\n]+\.ts)`[^`]*(?:`[^`\n]+`[^`]*)*?\n\n```ts\n(.*?)^```$/gms,
  )
  return Object.fromEntries([...blocks].map(([, name = '', text = '']) => [name, text]))
}

/** A tool that takes its time and says so, and when its client leaves, for the tests of streams. */
const countTool = `  {
    name: 'count',
    async call(_input, { progress, signal }) {
      signal.addEventListener('abort', () => console.log('the client of count is gone'))
      for (const number of [1, 2, 3]) {
        progress(number, 3)
        await new Promise((resolve) => setTimeout(resolve, 300))
      }
      return 'three'
    },
  },
]
`

function filesOfApp(): Record<string, string> {
  const files: Record<string, string> = { ...rest, ...filesOfGuide() }
  files['drawbridge-tools.ts'] = files['drawbridge-tools.ts']?.replace(/\]\n$/, countTool) ?? ''
  files['proxy.ts'] = signInProxy + matcherOfGuide()
  return files
}

/** Sends everyone to the app's sign-in page, from wherever its matcher does not except. */
const signInProxy = `import { type NextRequest, NextResponse } from 'next/server'

export function proxy({ nextUrl }: NextRequest) {
  return nextUrl.pathname === '/' ? NextResponse.next() : NextResponse.redirect(new URL('/?sign-in', nextUrl))
}

`

function matcherOfGuide(): string {
  const block = /^```ts\n(export const config = .*?)^```$/ms.exec(readFileSync(guide, 'utf8'))?.[1]
  if (block === undefined) throw new Error('The guide has no matcher.')
  return block
}

/** The route that the guide shows, without empty lines at its end. */
export const routeOfGuide = (): string =>
  filesOfGuide()['app/drawbridge/[[...path]]/route.ts']?.trimEnd() ?? ''

/** Installs the frameworks and builds the app of Next.js; keeps one that is built of the same files. Throws with the output of what failed. */
export function buildHosts(): void {
  const files = filesOfApp()
  const lock = readFileSync(join(manifest, 'package-lock.json'), 'utf8')
  const mark = createHash('sha256')
    .update(JSON.stringify([files, lock]))
    .digest('hex')
  if (markOfBuilt() === mark) return
  process.stderr.write('Installing Express and Fastify, and building the app of Next.js ...\n')
  mkdirSync(folder, { recursive: true })
  for (const name of ['package.json', 'package-lock.json'])
    copyFileSync(join(manifest, name), join(folder, name))
  run('npm', ['ci', '--no-audit', '--no-fund', '--ignore-scripts'])
  run(process.execPath, [join(repository, 'scripts/build.mjs')])
  run(process.execPath, [join(repository, 'scripts/library-types.ts')])
  installLibrary()
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, name)), { recursive: true })
    writeFileSync(join(folder, name), text)
  }
  run(process.execPath, [nextProgram, 'build'])
  linkLibrary()
  writeFileSync(built, mark)
}

function markOfBuilt(): string | undefined {
  try {
    return readFileSync(built, 'utf8')
  } catch {
    return undefined
  }
}

function run(command: string, parameters: readonly string[]): void {
  const env = { ...process.env, ...quiet }
  const { status, stdout, stderr, error } = spawnSync(command, parameters, {
    cwd: folder,
    env,
    encoding: 'utf8',
  })
  if (status !== 0) throw new Error(error?.message ?? `${parameters.join(' ')}:\n${stdout}${stderr}`)
}

/** Puts the packed library into the app, as npm would, for the compilers of types and bundles. */
function installLibrary(): void {
  rmSync(library, { recursive: true, force: true })
  mkdirSync(library, { recursive: true })
  cpSync(join(repository, 'server/package.json'), join(library, 'package.json'))
  cpSync(join(repository, 'server/dist'), join(library, 'dist'), { recursive: true })
}

/** Lets the app load the library from where it is built: a new one needs no other build of the app. */
function linkLibrary(): void {
  rmSync(library, { recursive: true, force: true })
  symlinkSync(join(repository, 'server'), library)
}

/** Returns whether frameworks and app are there. Prints one line if not, and throws instead when CI=true. */
export function hasHosts(): boolean {
  return (
    markOfBuilt() !== undefined ||
    skipWithout('Next.js, Express and Fastify are not installed: npm run peers:hosts')
  )
}

/** `next start` with the app. */
export interface NextServer {
  port: number
  child: ChildProcess
  output(): string
  signal(signal: NodeJS.Signals): void
  /** Sends a signal and waits until it has ended. */
  end(signal: NodeJS.Signals): Promise<void>
}

const running = new Set<ChildProcess>()
process.on('exit', () => {
  for (const child of running) child.kill('SIGKILL')
})

/** Starts `next start` on `port` of 127.0.0.1. `settings` are variables without their prefix. */
export async function startNextServer(
  port: number,
  settings: Readonly<Record<string, string>>,
): Promise<NextServer> {
  const named = Object.entries(settings).map(([name, value]) => [`DRAWBRIDGE_${name}`, value])
  const child = spawn(process.execPath, [nextProgram, 'start', '-p', String(port), '-H', '127.0.0.1'], {
    cwd: folder,
    env: { PATH: process.env['PATH'] ?? '', ...quiet, ...Object.fromEntries(named) },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  running.add(child)
  let output = ''
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (chunk: Buffer) => (output += chunk.toString()))
  const ended = once(child, 'exit')
  let hasEnded = false
  child.once('exit', () => {
    hasEnded = true
    running.delete(child)
  })
  await until(
    () => hasEnded || output.includes('Ready in'),
    () => `next start to be ready:\n${output}`,
  )
  if (hasEnded) throw new Error(`next start ended:\n${output}`)
  return {
    port,
    child,
    output: () => output,
    signal: (signal) => void child.kill(signal),
    async end(signal) {
      child.kill(signal)
      await ended
    },
  }
}
