import { type ExitCode, exitCode } from '../exit-code.ts'
import { asTyped } from '../program-name.ts'

/** What a check came to: fine, worth knowing, or broken. */
export type FindingState = 'ok' | 'warn' | 'fail'

/** One line of `doctor`. Nothing secret is in it. */
export interface Finding {
  name: CheckName
  state: FindingState
  message: string
  /** What to do about it. */
  fix?: string
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
  return { name, state: 'ok', message }
}

/** It works, or may work, and somebody should know. */
export function warn(name: CheckName, message: string, fix?: string): Finding {
  return { name, state: 'warn', message, ...(fix !== undefined && { fix: asTyped(fix) }) }
}

/** Something does not work; every such finding says what to do. */
export function fail(
  name: CheckName,
  message: string,
  fix: string,
  exit: ExitCode = exitCode.failed,
): Finding {
  return { name, state: 'fail', message, fix: asTyped(fix), exit }
}
