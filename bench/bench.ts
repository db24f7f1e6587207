import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
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

/** Exact versions of the peers' packages. */
const peers = { 'mcp-remote': '0.15.1', supergateway: '4.0.0', 'mcp-proxy': '6.7.19' }

/** Returns the name of a peer in figures. */
export function peerName(name: keyof typeof peers): string {
  return `${name} ${peers[name]}`
}

/**
 * Returns the path of a file in a peer's package. Installs all peers, without running their scripts, unless an earlier
 * run did. Throws when npm fails.
 */
export function peerFile({ packageFolder, say }: Bench, name: keyof typeof peers, file: string): string {
  const manifest = join(packageFolder, 'package.json')
  const text = `${JSON.stringify({ private: true, dependencies: peers }, undefined, 2)}\n`
  const installed = join(packageFolder, 'node_modules', '.package-lock.json')
  if (!existsSync(installed) || readFileSync(manifest, 'utf8') !== text) {
    say(`installing ${Object.keys(peers).join(', ')}`)
    mkdirSync(packageFolder, { recursive: true })
    writeFileSync(manifest, text)
    const npm = spawnSync('npm', ['install', '--ignore-scripts', '--no-audit', '--no-fund'], {
      cwd: packageFolder,
      encoding: 'utf8',
    })
    if (npm.status !== 0) throw new Error(`npm install in ${packageFolder} failed:\n${npm.stderr}`)
  }
  return join(packageFolder, 'node_modules', name, file)
}
