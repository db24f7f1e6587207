import { createHttpClient } from '../http/undici-client.ts'
import { type LoginState, OAuthFailure } from '../oauth/login-port.ts'
import { durationText } from './terminal/duration-text.ts'
import { type CommandInput, configOf } from './command.ts'
import { CommandFailure } from './command-failure.ts'
import { openConnectionLog } from './connection-log.ts'
import { type ExitCode, exitCode } from './exit-code.ts'
import { openLogin } from './login-session.ts'

/**
 * Says how long the access token of a login lasts, renewing it when that is due. Prints the token itself on stdout only
 * with `show`. Fails with 3 when there is no login.
 */
export async function printToken(input: CommandInput, { show }: { show: boolean }): Promise<ExitCode> {
  const config = configOf(input)
  if (config.fixedBy !== undefined) {
    throw new CommandFailure(
      'The token is fixed by a variable or a header: there is no stored one.',
      'Leave that out, or use the token you have.',
    )
  }
  const { terminal, runtime } = input
  const log = await openConnectionLog(config)
  const http = createHttpClient(config.network)
  try {
    const { login } = await openLogin(config, {
      http,
      runtime,
      announce: (line) => terminal.note(line),
      note: log?.note ?? (() => {}),
    })
    const authorization = await login.authorization()
    const state = await login.state()
    await login.settle()
    if (authorization === undefined || state.kind !== 'signed_in') {
      throw new OAuthFailure('sign_in_needed', `There is no good login for ${config.serverUrl}.`)
    }
    const token = show ? authorization.header.replace(/^\S+ +/, '') : undefined
    report(token, state, config.serverUrl, input)
    return exitCode.ok
  } finally {
    http.close()
  }
}

function report(
  token: string | undefined,
  { expiresAt, scope, canRefresh }: Extract<LoginState, { kind: 'signed_in' | 'sign_in_needed' }>,
  server: string,
  { json, terminal, runtime }: CommandInput,
): void {
  const expiresIn = expiresAt === undefined ? undefined : expiresAt - runtime.now()
  if (json) {
    const ends = { expires_at: expiresAt ?? null, expires_in: expiresIn ?? null, scope: scope ?? null }
    terminal.print(JSON.stringify({ ok: true, server, ...ends, ...(token !== undefined && { token }) }))
    return
  }
  if (token !== undefined) terminal.print(token)
  const hint = token === undefined ? ' To print the token itself: --show' : ''
  terminal.note(`${lifeText(expiresIn, canRefresh)}${hint}`)
}

function lifeText(expiresIn: number | undefined, canRefresh: boolean): string {
  const life =
    expiresIn === undefined
      ? 'The server did not say how long it lasts'
      : `It ends in ${durationText(expiresIn)}`
  return `${life}; ${canRefresh ? 'the bridge renews it' : 'nobody can renew it'}.`
}
