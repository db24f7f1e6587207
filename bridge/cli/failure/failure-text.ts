import { shellWord } from '@drawbridge/shared/clients/add-command.ts'
import { jsonForTerminal } from '@drawbridge/shared/json-text.ts'
import type { BridgeConfig } from '../../config/config-reader.ts'
import { ConfigError } from '@drawbridge/shared/settings/setting.ts'
import { CredentialError } from '../../credentials/credential-store.ts'
import { NetworkError } from '../../http/http-client.ts'
import { InstallError } from '../../install/install-error.ts'
import { OAuthFailure } from '../../oauth/login-port.ts'
import { TransportError } from '../../transport/transport.ts'
import { type ExitCode, exitCode, type FailureCode, failureTable } from './failure-table.ts'
import { asTyped } from '../terminal/program-name.ts'

/** A failed command, with the user's next step. Contains no secrets. */
export class CommandFailure extends Error {
  override readonly name = 'CommandFailure'
  readonly nextStep: string

  constructor(message: string, nextStep: string) {
    super(message)
    this.nextStep = nextStep
  }
}

/** A failure as shown to users. Contains no secrets, as errors contain none. */
export interface Failure {
  code: FailureCode | 'command'
  sentences: readonly string[]
  nextStep: string
  exit: ExitCode
}

export interface FailureContext {
  /** As given. */
  serverUrl: string | undefined
  /** Added to the URL in commands unless it is the default. */
  profile?: string | undefined
  /** The source of a fixed token, which no sign-in replaces. */
  fixedBy?: BridgeConfig['fixedBy']
}

/** Returns what failure texts refer to: the server, the profile and the source of a fixed login. */
export function failureContextOf({
  serverUrl,
  oauth,
  fixedBy,
}: Pick<BridgeConfig, 'serverUrl' | 'oauth' | 'fixedBy'>): FailureContext & { serverUrl: string } {
  return { serverUrl, profile: oauth.profile, fixedBy }
}

/** Describes any error. System errors keep their message. */
export function describeError(error: unknown, context: FailureContext): Failure {
  if (error instanceof CommandFailure || error instanceof InstallError) {
    const nextStep = fill(error.nextStep, context)
    return { code: 'command', sentences: [sentence(error.message)], nextStep, exit: exitCode.failed }
  }
  const code = failureCode(error)
  const { nextStep: usual, exit = exitCode.failed } = failureTable[code]
  const known = code === 'unexpected' ? undefined : (error as { nextStep?: string }).nextStep
  const nextStep = known ?? usual
  if (code === 'server_sign_in_needed' && context.fixedBy !== undefined) {
    const fixed = fixedFailures[context.fixedBy]
    return { code, sentences: [fixed.sentence], nextStep: fill(fixed.nextStep, context), exit }
  }
  const sentences =
    error instanceof ConfigError
      ? error.problems.map((problem) => asTyped(problem))
      : [sentence(messageOf(error, code))]
  return { code, sentences, nextStep: fill(nextStep, context), exit }
}

const fixedHeader = {
  sentence: 'The server does not accept the configured Authorization header.',
  nextStep: 'Correct the header; or remove it and run: drawbridge login {url}',
}

/** A sign-in would not help: the fixed token is sent anyway. */
const fixedFailures = {
  environment: {
    sentence:
      'The server does not accept the token of DRAWBRIDGE_TOKEN: it is mistyped, expired or ended, or for another server.',
    nextStep:
      'Set a new token, from where this one came; or unset DRAWBRIDGE_TOKEN and run: drawbridge login {url}',
  },
  header: fixedHeader,
  other_header: fixedHeader,
} as const

function failureCode(error: unknown): FailureCode {
  if (error instanceof NetworkError) return `network_${error.fault}`
  if (error instanceof TransportError) return `server_${error.fault}`
  if (error instanceof OAuthFailure) return `oauth_${error.fault}`
  if (error instanceof CredentialError) return `credentials_${error.fault}`
  return error instanceof ConfigError ? 'configuration' : 'unexpected'
}

/** Formats a failure for stderr; the last line is the next step. */
export function failureText(command: string, failure: Failure): string {
  const head = command === '' ? 'drawbridge did not start.' : `drawbridge ${command} failed.`
  return [head, ...failure.sentences.map((text) => `  - ${text}`), failure.nextStep].join('\n')
}

/** Formats a failure for `--json`. */
export function failureJson({ code, sentences, nextStep }: Failure): string {
  return jsonForTerminal({ ok: false, code, errors: sentences, next_step: nextStep })
}

// JSON-RPC 2.0 section 5.1, internal error: MCP has no code for an unreachable server.
const internalError = -32_603

/** Returns the JSON-RPC error for a failed request. `data.code` is for programs. */
export function rpcFailure(error: unknown, context: FailureContext) {
  const { code, sentences, nextStep } = describeError(error, context)
  return {
    code: internalError,
    message: `${sentences.join(' ')} ${nextStep}`,
    data: { code, next_step: nextStep, ...detailsOf(error) },
  }
}

/** Members that are undefined are left out of the JSON. */
function detailsOf(error: unknown): Readonly<Record<string, string | number | undefined>> {
  if (error instanceof NetworkError) return { origin: error.origin }
  if (error instanceof TransportError)
    return { status: error.status, retry_after_seconds: error.retryAfterSeconds }
  if (error instanceof OAuthFailure)
    return { issuer: error.issuer, retry_after_seconds: error.retryAfterSeconds }
  return {}
}

/** Shows only messages of our own and system errors: others may quote a token. */
function messageOf(error: unknown, code: FailureCode): string {
  const isSystemError = error instanceof Error && 'syscall' in error && 'code' in error
  if (code === 'unexpected' && !isSystemError) return `Something unexpected happened (${placeOf(error)}).`
  const message = error instanceof Error ? error.message : ''
  return message === '' ? failureTable[code].meaning : message
}

/** Returns an error's name and place in the code, which contain no secrets. */
export function placeOf(error: unknown): string {
  if (!(error instanceof Error)) return typeof error
  const frame = error.stack?.split('\n').find((line) => /^ +at /.test(line)) ?? ''
  const place = /([\w.-]+:\d+:\d+)\)?$/.exec(frame)?.[1]
  return place === undefined ? error.name : `${error.name} at ${place}`
}

/** Makes a sentence of a text. Commands, flags and host names keep their first letter. */
function sentence(text: string): string {
  const capital = /^(?:drawbridge |--|localhost\b|\S+[.:]\S)/.test(text)
    ? text
    : text.charAt(0).toUpperCase() + text.slice(1)
  return /[.!?]$/.test(capital) ? capital : `${capital}.`
}

/** Replaces `{url}` in a next step, so that users can type it. */
export function fill(nextStep: string, { serverUrl, profile = 'default' }: FailureContext): string {
  const url = serverUrl === undefined ? '<url>' : shellWord(serverUrl)
  const words = profile === 'default' ? url : `${url} --profile ${shellWord(profile)}`
  return asTyped(nextStep.replaceAll('{url}', () => words))
}
