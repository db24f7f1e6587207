import { readFileSync } from 'node:fs'
import { Readable } from 'node:stream'
import { systemRuntime } from '../../../../bridge/config/system-runtime.ts'
import type { Terminal } from '../../../../bridge/cli/terminal/output.ts'
import { runCommandLine } from '../../../../bridge/cli/command-line/command-line.ts'

/** Result of one command line. */
export interface CommandRun {
  code: number
  stdout: string
  stderr: string
  /** Parses stdout as JSON. */
  json: () => Record<string, unknown>
}

/** A terminal at which a user types `typed`, or a pipe with that, and what was printed on it. */
export function recordedTerminal(
  isInteractive: boolean,
  typed = '',
): { terminal: Terminal; stdout(): string; stderr(): string } {
  const [out, err]: [string[], string[]] = [[], []]
  const terminal: Terminal = {
    print: (text) => void out.push(text),
    note: (text) => void err.push(text),
    overwrite: (text) => void err.push(text),
    colour: (_colour, text) => text,
    isInteractive,
    input: Readable.from(typed === '' ? [] : [typed]),
  }
  return { terminal, stdout: () => out.join('\n'), stderr: () => err.join('\n') }
}

/**
 * Runs one command line in this process, with `home` as the home folder and exactly `environment` as the environment.
 * `isInteractive`: a user types `stdin` at a terminal.
 */
export async function runCommand(
  words: readonly string[],
  {
    home,
    environment = {},
    stdin = '',
    isInteractive = false,
  }: { home: string; environment?: Record<string, string>; stdin?: string; isInteractive?: boolean },
): Promise<CommandRun> {
  const recorded = recordedTerminal(isInteractive, stdin)
  const code = await runCommandLine(
    words,
    {
      environment: { DRAWBRIDGE_CREDENTIAL_STORE: 'file', ...environment },
      homeFolder: home,
      platform: 'linux',
      readText: (path) => readFileSync(path, 'utf8'),
    },
    recorded.terminal,
  )
  const stdout = recorded.stdout()
  return {
    code,
    stdout,
    stderr: recorded.stderr(),
    json: () => JSON.parse(stdout) as Record<string, unknown>,
  }
}

/** The real clock, since stored values have to be valid now. */
export const now = (): number => systemRuntime.now()
