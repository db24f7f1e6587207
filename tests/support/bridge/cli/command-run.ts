import { readFileSync } from 'node:fs'
import { Readable } from 'node:stream'
import { systemRuntime } from '../../../../bridge/config/system-runtime.ts'
import type { Terminal } from '../../../../bridge/cli/terminal/output.ts'
import { runCommandLine } from '../../../../bridge/cli/command-line/command-line.ts'

/** What one command line did. */
export interface CommandRun {
  code: number
  stdout: string
  stderr: string
  /** What is on stdout, when that is JSON. */
  json: () => Record<string, unknown>
}

/**
 * Runs one command line in this process, with `home` as the home folder and nothing but `environment` in the environment.
 * `isInteractive`: in front of a person, who types `stdin`.
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

/** The real clock: what is stored has to be good now. */
export const now = (): number => systemRuntime.now()
