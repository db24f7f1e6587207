import { spawn } from 'node:child_process'
import { once } from 'node:events'
import type { Bench } from '../bench.ts'
import { createBrowser } from '../../tests/support/bridge/sign-in/browser.ts'
import { openConnection } from './line-client.ts'
import type { BenchRemote } from './remote.ts'
import { newHome, type Programs, signedIn, startBridge, type Subject } from './subject.ts'

const signInTimeoutMs = 30_000

/** The place of the key of Drawbridge's logins, and the environment to reach it. */
export interface KeyPlace {
  kind: 'keychain' | 'file'
  /** Address of the keychain's bus. */
  environment: Readonly<Record<string, string>>
}

/** Signs Drawbridge in at `remote` as a user would. All its later starts find the login. */
export async function signInDrawbridge(
  bench: Bench,
  programs: Programs,
  remote: BenchRemote,
  { kind, environment }: KeyPlace,
): Promise<Subject> {
  const home = { ...newHome(bench), ...environment }
  const flags = ['--store', kind]
  await withBrowser(async (browser) => {
    const [launcher = '', url = ''] = programs.drawbridge(remote.url)
    await run([process.execPath, launcher, 'login', url, ...flags], { ...home, ...browser })
  })
  return {
    name: signedIn[kind],
    kind: 'ours',
    remote,
    start: (node) => startBridge(node, [...programs.drawbridge(remote.url), ...flags], home),
  }
}

/** Signs mcp-remote in at `remote` with a first connection. */
export async function signInReference(
  bench: Bench,
  programs: Programs,
  remote: BenchRemote,
): Promise<Subject> {
  const home = newHome(bench)
  const argv = programs.mcpRemote(remote.url)
  await withBrowser(async (browser) => {
    const client = startBridge(process.execPath, argv, { ...home, ...browser })
    try {
      await openConnection(client)
    } finally {
      await client.close()
    }
  })
  return {
    name: signedIn.reference,
    kind: 'peer',
    remote,
    start: (node) => startBridge(node, argv, home),
  }
}

/** Later starts have no browser: without their login they fail. */
async function withBrowser(
  signIn: (environment: Readonly<Record<string, string>>) => Promise<void>,
): Promise<void> {
  const browser = createBrowser(0)
  try {
    await signIn(browser.environment)
  } finally {
    browser.remove()
  }
}

async function run(
  [command = '', ...rest]: readonly string[],
  environment: Readonly<Record<string, string>>,
): Promise<void> {
  const child = spawn(command, rest, {
    env: { PATH: process.env['PATH'] ?? '', ...environment },
    stdio: ['ignore', 'ignore', 'pipe'],
    timeout: signInTimeoutMs,
    killSignal: 'SIGKILL',
  })
  let said = ''
  child.stderr.on('data', (chunk: Buffer) => (said += chunk.toString()))
  const [code, signal] = (await once(child, 'close')) as [number | null, NodeJS.Signals | null]
  if (code !== 0) throw new Error(`drawbridge login ended with ${String(code ?? signal)}:\n${said}`)
}
