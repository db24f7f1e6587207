import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { skipWithout } from '../../support/find-program.ts'

/** Release lines of the Python SDK for clients: each has an environment with the SDK and its FastMCP client. */
type PythonLine = 'mcp-1' | 'mcp-2'

/** The environments; FastMCP's have everything, including servers, and the last has web frameworks. */
export type PythonEnvironment = PythonLine | 'fastmcp-3' | 'fastmcp-4' | 'web-apps'

/** A kind of client for `client.py`, and its environment. */
export interface PythonPeer {
  line: PythonLine
  library: 'mcp' | 'fastmcp'
}

/** One run of `client.py`. */
export interface PythonRun {
  url: string
  /** The client's token folder. */
  folder: string
  /** Number of client processes started at the same time; by default one. */
  processes?: number
  /** Number of client processes started one after the other, instead; by default one. */
  runs?: number
  /** The tools that each process calls, one after the other; by default `whoami`. */
  tools?: readonly string[]
  /** How far the client's clock is ahead of this machine's; by default not at all. */
  aheadSeconds?: number
  /** Signs a user in and returns the final redirect. Without it, a client that needs a sign-in fails. */
  signIn?: (authorizationUrl: URL) => Promise<URL>
}

/** Result of a run. */
export interface PythonResult {
  /** Number of requested sign-ins. */
  signIns: number
  /** Results of the tools. */
  texts: string[]
  /** Errors of the other calls, and of processes that came to none. */
  failures: string[]
}

const program = fileURLToPath(new URL('client.py', import.meta.url))
const maxRunMs = 100_000

/** Returns the path of a file in an environment. */
export function inEnvironment(name: PythonEnvironment, file: string): string {
  return fileURLToPath(new URL(`.environments/requirements-${name}/${file}`, import.meta.url))
}

/**
 * Returns whether the Python clients and servers are installed. Prints one line when not, and throws instead when
 * CI=true. Does not check their versions.
 */
export function hasPythonPeers(): boolean {
  const names = ['mcp-1', 'mcp-2', 'fastmcp-3', 'fastmcp-4'] as const
  return (
    names.every((name) => existsSync(inEnvironment(name, 'installed.txt'))) ||
    skipWithout(
      'no Python clients and servers found: run npm run peers (needs the apt packages `python3` and `python3-venv`)',
    )
  )
}

/** Runs `client.py` to its end. A run of more than 100 seconds is ended as a failure. */
export async function runPythonClient(peer: PythonPeer, run: PythonRun): Promise<PythonResult> {
  const { processes = 1, runs = 1, tools = ['whoami'], aheadSeconds = 0 } = run
  const counts = [`--processes=${processes}`, `--runs=${runs}`]
  const child = spawn(
    inEnvironment(peer.line, 'bin/python'),
    [program, peer.library, run.url, run.folder, ...counts, `--tools=${tools.join()}`],
    {
      // A separate process group, since it starts processes itself.
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

/** Sends the browser back to a client that will listen soon, until it does. The client may exit before it answers. */
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
