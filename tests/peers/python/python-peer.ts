import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'

/** The lines of the Python SDK that clients are built on: each has an environment with the SDK and the FastMCP client of that line. */
export type PythonLine = 'mcp-1' | 'mcp-2'

/** What there is an environment of; `fastmcp-4` has all of FastMCP, servers too. */
export type PythonEnvironment = PythonLine | 'fastmcp-4'

/** What `client.py` can be, and where it runs. */
export interface PythonPeer {
  line: PythonLine
  library: 'mcp' | 'fastmcp'
}

/** One run of `client.py`. */
export interface PythonRun {
  url: string
  /** Where the client stores its tokens. */
  folder: string
  /** How many client processes start at the same moment; by default one. */
  processes?: number
  /** How far the clock of the client is ahead of this machine's; by default not at all. */
  aheadSeconds?: number
  /** Signs somebody in and answers where the browser is sent. Without it a client that asks gets no answer, and fails. */
  signIn?: (authorizationUrl: URL) => Promise<URL>
}

/** What a run came to. */
export interface PythonResult {
  /** How often a sign-in was asked for. */
  signIns: number
  /** What the tool said, once for each process that got that far. */
  texts: string[]
  /** Why the other processes ended without one. */
  failures: string[]
}

const program = fileURLToPath(new URL('client.py', import.meta.url))
const installer = 'tests/peers/python/install.sh'
const maxRunMs = 100_000

/** A file of an environment. */
export function inEnvironment(name: PythonEnvironment, file: string): string {
  return fileURLToPath(new URL(`.environments/requirements-${name}/${file}`, import.meta.url))
}

/**
 * Whether the Python clients and servers are installed. Prints one line when they are not, and throws instead when CI=true. Not
 * checked: their versions.
 */
export function hasPythonPeers(environment: NodeJS.ProcessEnv = process.env): boolean {
  const names = ['mcp-1', 'mcp-2', 'fastmcp-4'] as const
  if (names.every((name) => existsSync(inEnvironment(name, 'installed.txt')))) return true
  const missing = `no Python clients and servers found: run ${installer} (needs the apt packages \`python3\` and \`python3-venv\`)`
  if (environment['CI'] === 'true') throw new Error(missing)
  process.stderr.write(`skipped: ${missing}\n`)
  return false
}

/** Runs `client.py` to its end. What takes more than 100 seconds is ended, which is a failure. */
export async function runPythonClient(peer: PythonPeer, run: PythonRun): Promise<PythonResult> {
  const { processes = 1, aheadSeconds = 0 } = run
  const child = spawn(
    inEnvironment(peer.line, 'bin/python'),
    [program, peer.library, run.url, run.folder, '--processes', String(processes)],
    {
      // A group of its own, since it starts processes itself.
      detached: true,
      env: { PATH: process.env['PATH'] ?? '', HOME: run.folder, CLOCK_AHEAD_SECONDS: String(aheadSeconds) },
    },
  )
  const endGroup = (): void => {
    const isRunning = child.exitCode === null && child.signalCode === null
    if (isRunning && child.pid !== undefined) process.kill(-child.pid, 'SIGKILL')
  }
  const result: PythonResult = { signIns: 0, texts: [], failures: [] }
  let errors = ''
  child.stderr.setEncoding('utf8').on('data', (chunk: string) => (errors += chunk))
  const deadline = setTimeout(endGroup, maxRunMs)
  process.once('exit', endGroup)
  let callbackDone = new AbortController()
  try {
    const ended = new Promise((resolve) => child.once('close', (code, signal) => resolve(code ?? signal)))
    for await (const text of createInterface({ input: child.stdout })) {
      callbackDone.abort()
      const line = JSON.parse(text) as { authorize?: string; text?: string; failed?: string }
      if (line.text !== undefined) result.texts.push(line.text)
      if (line.failed !== undefined) result.failures.push(line.failed)
      if (line.authorize === undefined) continue
      result.signIns += 1
      if (run.signIn) {
        callbackDone = new AbortController()
        const callback = await run.signIn(new URL(line.authorize))
        if (peer.library === 'mcp') child.stdin.write(`${callback.href}\n`)
        else void deliver(callback, callbackDone.signal)
      } else if (processes === 1) endGroup()
    }
    const how = await ended
    if (how !== 0) result.failures.push(`ended with ${String(how)}: ${errors.trimEnd().split('\n').at(-1)}`)
    return result
  } finally {
    callbackDone.abort()
    clearTimeout(deadline)
    process.off('exit', endGroup)
    endGroup()
  }
}

/** Sends the browser back to a client that listens soon, until it does. It may end before it has answered. */
async function deliver(callback: URL, done: AbortSignal): Promise<void> {
  while (!done.aborted) {
    const failure = await fetch(callback).then(
      () => undefined,
      (error: Error) => error.cause as { code?: string } | undefined,
    )
    if (failure?.code !== 'ECONNREFUSED') return
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
}
