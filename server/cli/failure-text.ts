import { ConfigError } from '../config/config.ts'
import { CommandFailure, type ExitCode, exitCode } from './command.ts'

const everySetting = 'Every setting: drawbridge-server serve --help, or docs/configuration.md'

/** What a failed command says on stderr; its last line is what to do next. */
export function failureText(command: string, error: unknown): { text: string; code: ExitCode } {
  const head =
    command === 'serve' ? 'drawbridge-server did not start.' : `drawbridge-server ${command} failed.`
  const { messages, nextStep, code } = partsOf(error)
  const lines = [head, ...messages.map((message) => `  - ${message}`), ...(nextStep === '' ? [] : [nextStep])]
  return { text: lines.join('\n'), code }
}

/** The same for programs. */
export function failureJson(error: unknown): string {
  const { messages, nextStep } = partsOf(error)
  return JSON.stringify({ ok: false, errors: messages, next_step: nextStep })
}

function partsOf(error: unknown): { messages: readonly string[]; nextStep: string; code: ExitCode } {
  if (error instanceof ConfigError) {
    return { messages: error.problems, nextStep: everySetting, code: exitCode.usage }
  }
  if (error instanceof CommandFailure) {
    return { messages: [error.message], nextStep: error.nextStep, code: error.code }
  }
  const { code, message, address, port } = error as NodeJS.ErrnoException & ListenAddress
  const isTaken = code === 'EADDRINUSE' && port !== undefined
  const problem = isTaken
    ? `Port ${port} of ${address ?? 'this computer'} is already in use (${code}).`
    : message
  return { messages: [problem], nextStep: nextStepOf(code), code: exitCode.failed }
}

/** What Node says about an address that cannot be listened on. */
interface ListenAddress {
  address?: string
  port?: number
}

function nextStepOf(code: string | undefined): string {
  switch (code) {
    case 'EADDRINUSE':
      return 'Stop the program that uses it, or choose another with --listen and --base-url, for the demo app with --app-url: drawbridge-server --listen 127.0.0.1:9000 --base-url http://localhost:9000'
    case 'EACCES':
    case 'EROFS':
      return 'Choose a place that can be written with --store sqlite:PATH.'
    default:
      return 'To look at everything that serving depends on: drawbridge-server doctor'
  }
}
