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
  const { code, message } = error as NodeJS.ErrnoException
  return { messages: [message], nextStep: nextStepOf(code), code: exitCode.failed }
}

function nextStepOf(code: string | undefined): string {
  switch (code) {
    case 'EADDRINUSE':
      return 'Stop what uses that port, or choose another with --listen, --base-url and --app-url.'
    case 'EACCES':
    case 'EROFS':
      return 'Choose a place that can be written with --store sqlite:PATH.'
    default:
      return 'To look at everything that serving depends on: drawbridge-server doctor'
  }
}
