import { isLoginId } from '../credentials/credential-store.ts'
import { createHttpClient } from '../http/undici-client.ts'
import { type CommandInput, configOf } from './command.ts'
import { CommandFailure } from './command-failure.ts'
import { loginIdOf } from './connection-login.ts'
import { openConnectionLog } from './connection-log.ts'
import { type ExitCode, exitCode } from './exit-code.ts'
import { openLogin } from './login-session.ts'
import { forgetAll, forgetById, type Forgotten } from './logout-stored.ts'

/**
 * Revokes the tokens of one login, or of all, and forgets them. What could not be revoked is forgotten as well, and told. A
 * login that cannot be read is named by the id that `status` shows. Of all, those stay that can be read again when somebody
 * unlocks the keychain, or updates the bridge; the answer is 1 then.
 */
export async function logout(input: CommandInput, { all }: { all: boolean }): Promise<ExitCode> {
  const [operand] = input.line.operands
  if (all && operand !== undefined) {
    throw new CommandFailure('A URL and --all: only one of them.', 'drawbridge logout --all', {
      exit: exitCode.usage,
    })
  }
  const logins = all
    ? await forgetAll(input)
    : [
        operand !== undefined && isLoginId(operand)
          ? await forgetById(operand, input)
          : await forgetOne(input),
      ]
  const { json, terminal } = input
  const ok = logins.every(({ kept }) => kept === null)
  if (json) terminal.print(JSON.stringify({ ok, logins }))
  else
    for (const line of logins.length === 0 ? ['No login is stored.'] : logins.map(textOf)) terminal.note(line)
  return ok ? exitCode.ok : exitCode.failed
}

async function forgetOne(input: CommandInput): Promise<Forgotten> {
  const config = configOf(input)
  const log = await openConnectionLog(config)
  const http = createHttpClient(config.network)
  try {
    const { login } = await openLogin(config, {
      http,
      runtime: input.runtime,
      announce: () => {},
      note: log?.note ?? (() => {}),
    })
    const { found, readable, revoked } = await login.signOut()
    const { serverUrl: server, oauth } = config
    const { profile } = oauth
    return { id: loginIdOf(config), server, profile, found, readable, revoked: revoked ?? null, kept: null }
  } finally {
    http.close()
  }
}

function textOf({ id, server, profile, found, readable, revoked, kept }: Forgotten): string {
  const address = server ?? `the login ${id}`
  const name = profile === null || profile === 'default' ? address : `${address} (profile ${profile})`
  if (kept !== null) return `Still there: ${name}. ${kept}`
  if (!found) return `No login is stored for ${name}.`
  if (revoked === true) return `Signed out of ${name}: the tokens are revoked and forgotten.`
  const told = revoked === null ? 'the server has no way to revoke them' : 'the server could not be told'
  const reason = readable ? told : 'nobody can read them'
  return `Signed out of ${name}: the tokens are forgotten, but not revoked, as ${reason}. They end by themselves.`
}
