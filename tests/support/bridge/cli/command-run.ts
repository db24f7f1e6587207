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
  const [out, err]: [string[], string[]] = [[], []]
  const terminal: Terminal = {
    print: (text) => void out.push(text),
    note: (text) => void err.push(text),
    overwrite() {},
    colour: (_colour, text) => text,
    isInteractive,
    input: Readable.from(stdin === '' ? [] : [stdin]),
  }
  const code = await runCommandLine(
    words,
    {
      environment: { DRAWBRIDGE_CREDENTIAL_STORE: 'file', ...environment },
      homeFolder: home,
      platform: 'linux',
      readText: (path) => readFileSync(path, 'utf8'),
    },
    terminal,
  )
  const stdout = out.join('\n')
  return { code, stdout, stderr: err.join('\n'), json: () => JSON.parse(stdout) as Record<string, unknown> }
}

/** The real clock, since stored values have to be valid now. */
export const now = (): number => systemRuntime.now()
