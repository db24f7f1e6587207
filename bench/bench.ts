import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { rolldown } from 'rolldown'
import { type ReadyChild, type Program, startChild } from './child.ts'
import type { Plan } from './contest.ts'

/** Settings of one run of the bench. */
export interface Bench {
  /** The scripts that start the built server and the built bridge. */
  launcher: string
  bridgeLauncher: string
  /** An empty folder on a disk, and one that keeps peers between runs. */
  scratch: string
  packageFolder: string
  /** Everything in short. */
  isQuick: boolean
  plan: Plan
  connections: number
  /** Functions that end the programs of the current area, called last to first. */
  endings: (() => Promise<unknown>)[]
  say(text: string): void
}

/** Starts a program for the current area. */
export async function start(bench: Bench, program: Program): Promise<ReadyChild> {
  const child = await startChild(program)
  bench.endings.push(() => child.stop())
  return child
}

/** Starts a script of `bench/programs`, which reports its port when it is ready. */
export async function startScript(
  bench: Bench,
  script: string,
  given: { argv?: readonly string[]; environment?: Readonly<Record<string, string>> } = {},
): Promise<ReadyChild & { port: number }> {
  const child = await start(bench, {
    name: script,
    script: await writeScript(script),
    directory: bench.scratch,
    logFile: join(bench.scratch, `${script}.log`),
    ...given,
  })
  return { ...child, port: Number(child.ready['port']) }
}

/**
 * Writes a script of `bench/programs` as JavaScript and returns its path: taking out the types as it starts would cost
 * a peer 17 MB and a tenth of its time. Packages are not bundled.
 */
export async function writeScript(script: string): Promise<string> {
  // Below the packages' folder, so that they are found.
  const dir = fileURLToPath(new URL('../node_modules/.cache/drawbridge-bench', import.meta.url))
  const bundle = await rolldown({
    input: fileURLToPath(new URL(`programs/${script}`, import.meta.url)),
    platform: 'node',
    external: /^[^./]/,
    checks: { bundlerTimings: false },
  })
  const [entry] = (await bundle.write({ dir, entryFileNames: '[name].mjs' })).output
  await bundle.close()
  return `${dir}/${entry.fileName}`
}

/** Exact versions of the peers. */
const versions = {
  'mcp-remote': '0.15.1',
  supergateway: '4.0.0',
  'mcp-proxy': '6.7.19',
  'mcp-proxy of PyPI': '0.12.0',
  FastMCP: '4.2.3',
  ToolHive: '0.47.0',
}
const toolhive = new URL('programs/toolhive-proxy.go', import.meta.url)
const npm = (['mcp-remote', 'supergateway', 'mcp-proxy'] as const).map((name) => `${name}@${versions[name]}`)

/** The commands that install some peers into the current, empty folder. */
const installations = {
  npm: [`npm install --prefix . --ignore-scripts --no-audit --no-fund ${npm.join(' ')}`],
  fastmcp: ['python3 -m venv .', `bin/pip install --quiet fastmcp==${versions.FastMCP}`],
  // It names no upper bound, and does not start with version 2.
  'mcp-proxy': [
    'python3 -m venv .',
    `bin/pip install --quiet mcp==1.30.0 mcp-proxy==${versions['mcp-proxy of PyPI']}`,
  ],
  toolhive: [
    `cp ${fileURLToPath(toolhive)} main.go`,
    'go mod init peer',
    `go get github.com/stacklok/toolhive@v${versions.ToolHive}`,
    'go get .',
    'go build -o toolhive .',
  ],
}

/** Returns the name of a peer in figures. */
export function peerName(name: keyof typeof versions): string {
  return `${name} ${versions[name]}`
}

/**
 * Returns the path of a file of a peer. Installs the peers of `from`, without running scripts of npm packages,
 * unless an earlier run did. Throws when that fails.
 */
export function peerFile(
  { packageFolder, say }: Bench,
  from: keyof typeof installations,
  file: string,
): string {
  const folder = join(packageFolder, from)
  const commands = installations[from]
  const done = join(folder, 'installed.txt')
  if (!existsSync(done) || readFileSync(done, 'utf8') !== commands.join('\n')) {
    rmSync(folder, { recursive: true, force: true })
    mkdirSync(folder, { recursive: true })
    for (const command of commands) {
      say(command)
      const [program = '', ...argv] = command.split(' ')
      const { status, stderr } = spawnSync(program, argv, { cwd: folder, encoding: 'utf8' })
      if (status !== 0) throw new Error(`${command} in ${folder} failed:\n${stderr}`)
    }
    writeFileSync(done, commands.join('\n'))
  }
  return join(folder, file)
}
