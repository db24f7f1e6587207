import type { BridgeConfig } from '../config/config.ts'
import { networkConfig, oauthConfig } from '../config/config-part.ts'
import type { Credential } from '../credentials/credential.ts'
import {
  CredentialError,
  type CredentialFault,
  type CredentialStore,
} from '../credentials/credential-store.ts'
import { createHttpClient } from '../network/node-http-client.ts'
import { type CommandInput, configOf, credentialsOf, settingsOf } from './command.ts'
import { CommandFailure } from './command-failure.ts'
import { openConnectionLog } from './connection-log.ts'
import { type ExitCode, exitCode } from './exit-code.ts'
import { openLogin } from './login-session.ts'

/** One login that is forgotten. */
interface Forgotten {
  server: string
  profile: string
  found: boolean
  /** Null where the server has no way to revoke. */
  revoked: boolean | null
}

/**
 * Revokes the tokens of one login, or of all, and forgets them. What could not be revoked is forgotten as well, and told.
 */
export async function logout(input: CommandInput, { all }: { all: boolean }): Promise<ExitCode> {
  if (all && input.line.operands.length > 0) {
    throw new CommandFailure('A URL and --all: only one of them.', 'drawbridge logout --all', {
      exit: exitCode.usage,
    })
  }
  const logins = all ? await forgetAll(input) : [await forgetOne(input)]
  const { json, terminal } = input
  if (json) terminal.print(JSON.stringify({ ok: true, logins }))
  else
    for (const line of logins.length === 0 ? ['No login is stored.'] : logins.map(textOf)) terminal.note(line)
  return exitCode.ok
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
    const { found, revoked } = await login.signOut()
    return { server: config.serverUrl, profile: config.oauth.profile, found, revoked: revoked ?? null }
  } finally {
    http.close()
  }
}

/** Each by what is stored with it: no flag can be right for all of them. */
async function forgetAll(input: CommandInput): Promise<Forgotten[]> {
  const read = settingsOf(input)
  const credentials = credentialsOf(read)
  const { createCredentialStore } = await import('../credentials/sealed-store.ts')
  const store = createCredentialStore(credentials, { runtime: input.runtime, announce: () => {} })
  const network = networkConfig(read.values, input.surroundings)
  const forgotten: Forgotten[] = []
  for (const { id, credential } of await readable(store)) {
    const revoked = await revoke(credential, network, input)
    await store.remove(id)
    const { serverUrl: server, profile } = credential
    forgotten.push({ server, profile, found: true, revoked: revoked ?? null })
  }
  // Also what nothing opens any more: that is what a person asks for who lost the key.
  await store.clear()
  return forgotten
}

/** What cannot be opened cannot be revoked either; it is removed with the rest. */
async function readable(store: CredentialStore): ReturnType<CredentialStore['list']> {
  try {
    return await store.list()
  } catch (error) {
    if (error instanceof CredentialError && lostFaults.has(error.fault)) return []
    throw error
  }
}

const lostFaults: ReadonlySet<CredentialFault> = new Set(['corrupt', 'key_missing'])

async function revoke(
  credential: Credential,
  network: BridgeConfig['network'],
  { runtime, surroundings }: CommandInput,
): Promise<boolean | undefined> {
  const { revokeTokens } = await import('../oauth/token-endpoint.ts')
  const oauth = oauthConfig(
    credential.serverUrl,
    { profile: credential.profile },
    undefined,
    surroundings.platform,
  )
  const http = createHttpClient({ ...network, allowHttp: true })
  try {
    return await revokeTokens(credential, { ...oauth, allowHttp: true }, { http, runtime })
  } catch {
    return false
  } finally {
    http.close()
  }
}

function textOf({ server, profile, found, revoked }: Forgotten): string {
  const name = profile === 'default' ? server : `${server} (profile ${profile})`
  if (!found) return `No login is stored for ${name}.`
  if (revoked === true) return `Signed out of ${name}: the tokens are revoked and forgotten.`
  const reason = revoked === null ? 'the server has no way to revoke them' : 'the server could not be told'
  return `Signed out of ${name}: the tokens are forgotten, but not revoked, as ${reason}. They end by themselves.`
}
