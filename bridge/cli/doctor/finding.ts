import * as shared from '@drawbridge/shared/terminal/finding.ts'
import { type ExitCode, exitCode } from '../failure/command-failure.ts'
import { asTyped } from '../terminal/program-name.ts'
import { type FailureContext, describeError } from '../failure/failure-text.ts'
import type { Terminal } from '../terminal/output.ts'

/** One line of `doctor`. */
export interface Finding extends shared.Finding<CheckName> {
  /** What a failure means for the exit code of the command. Not printed. */
  exit?: ExitCode
}

/** What is looked at, in this order. Stable, for scripts. */
export const checkNames = {
  node: 'The version of Node.',
  configuration:
    'Flags, variables and the configuration file: whether they can be understood, and what was set where.',
  command_line: 'Whether a secret is on the command line, where every user of the computer can see it.',
  proxy: 'Whether requests go through a proxy, and whether it can be reached.',
  dns: 'Whether the host has an address.',
  connection: 'Whether something listens there.',
  tls: 'Whether the certificate is trusted, and how long it lasts.',
  endpoint: 'What the URL answers to a client without a token.',
  clock: 'Whether this computer and the server agree about the time.',
  challenge: 'Whether a refusal says where to sign in (RFC 9728).',
  resource_metadata: 'The protected resource metadata: whether it is there, and for this server.',
  authorization_server: 'The metadata of the authorization server: whether it is there, under its own name.',
  pkce: 'Whether PKCE with S256 is offered, without which nobody should sign in.',
  response_issuer: 'Whether the server says its name with each answer (RFC 9207).',
  sign_in_page:
    'Whether the login page is on the host of the authorization server, or belongs to it (RFC 9700 section 4.4).',
  registration: 'How the bridge becomes known to the authorization server.',
  keychain: 'Whether the keychain takes, gives and forgets an item.',
  login: 'Whether a login is stored, and whether it is still good.',
  lock: 'Whether another process holds the login.',
  session: 'The list of tools, as clients of 2025-11-25 and of 2026-07-28 get it through the bridge.',
} as const

/** One of {@link checkNames}. */
export type CheckName = keyof typeof checkNames

/** All is well. */
export function ok(name: CheckName, message: string): Finding {
  return shared.ok(name, message)
}

/** It works, or may work, and somebody should know. */
export function warn(name: CheckName, message: string, fix?: string): Finding {
  return shared.warn(name, message, fix === undefined ? undefined : asTyped(fix))
}

/** Something does not work; every such finding says what to do. */
export function fail(
  name: CheckName,
  message: string,
  fix: string,
  exit: ExitCode = exitCode.failed,
): Finding {
  return { ...shared.fail(name, message, asTyped(fix)), exit }
}

/** Any error as what a check came to, with what it means for the exit code. */
export function failureFinding(name: CheckName, error: unknown, context: FailureContext): Finding {
  const { sentences, nextStep, exit } = describeError(error, context)
  return fail(name, sentences.join(' '), withoutDoctor(nextStep), exit)
}

/** A next step without the advice to run the command that runs, unless it is the only one. */
function withoutDoctor(nextStep: string): string {
  return nextStep.replace(/(?<=[.;]) [^.;]*: drawbridge doctor .*$/, '')
}

/** A finding as lines for people. On a terminal of `columns` its texts are folded. */
export function findingText(
  finding: Finding,
  { colour }: Pick<Terminal, 'colour'>,
  columns?: number,
): string {
  return shared.findingText(finding, { nameWidth: 20, colour, columns })
}

/** A finding as `--json` prints it. */
export function factsOf({ name, state, message, fix }: Finding): Finding {
  return { name, state, message, ...(fix !== undefined && { fix }) }
}

/** 4 when the server cannot be reached, 3 when nothing but a sign-in is missing, 1 for anything else that failed. */
export function exitCodeOf(findings: readonly Finding[]): ExitCode {
  const failed = findings.filter(({ state }) => state === 'fail')
  if (failed.length === 0) return exitCode.ok
  if (failed.some(({ exit }) => exit === exitCode.unreachable)) return exitCode.unreachable
  return failed.every(({ exit }) => exit === exitCode.signInNeeded) ? exitCode.signInNeeded : exitCode.failed
}
