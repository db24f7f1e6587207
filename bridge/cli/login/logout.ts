import { type BridgeConfig, createBridgeConfig, type ReadSettings } from '../../config/config-reader.ts'
import { networkConfig, oauthConfig } from '../../config/config-part.ts'
import type { Credential } from '../../credentials/credential.ts'
import {
  CredentialError,
  type CredentialFault,
  type CredentialStore,
  type LoginId,
  loginId,
  type StoredLogin,
} from '../../credentials/credential-store.ts'
import { createHttpClient } from '../../http/undici-client.ts'
import { type CommandInput, credentialsOf, printResult, settingsOf } from '../command.ts'
import { ConfigError } from '@drawbridge/shared/settings/setting.ts'
import { describeError } from '../failure/failure-text.ts'
import { type ExitCode, exitCode } from '../failure/failure-table.ts'

interface Place {
  store: CredentialStore
  read: ReadSettings
  input: CommandInput
}

/** Revokes and removes one login, or all; also one whose tokens could not be revoked. Returns 1 if one was kept. */
export async function logout(input: CommandInput): Promise<ExitCode> {
  const [operand] = input.line.operands
  const { all } = input.options
  if (all && operand !== undefined) {
    throw new ConfigError(['A URL and --all: only one of them.'], 'drawbridge logout --all')
  }
  const read = settingsOf(input)
  const { createCredentialStore } = await import('../../credentials/sealed-store.ts')
  const { runtime, terminal } = input
  const config = all ? undefined : createBridgeConfig(read, input.surroundings)
  const store = createCredentialStore(credentialsOf(read), { runtime, announce: () => {} })
  const place = { store, read, input }
  const logins =
    config === undefined ? await forgetAll(place) : [await forget(loginId(config.oauth), place, config)]
  const ok = logins.every(({ kept }) => kept === null)
  printResult(input, { ok, logins }, () => {
    if (logins.length === 0) terminal.note('No login is stored.')
    for (const login of logins) terminal.note(textOf(login))
  })
  return ok ? exitCode.ok : exitCode.failed
}

/** Keeps those that become readable once the keychain is unlocked or the bridge is updated, to revoke them then. */
async function forgetAll(place: Place): Promise<Forgotten[]> {
  const logins: Forgotten[] = []
  for (const login of await place.store.list()) logins.push(await forgetIfLost(login, place))
  // Also removes the key, which may be the lost one.
  if (logins.every(({ kept }) => kept === null)) await place.store.clear()
  return logins
}

const lostFaults: ReadonlySet<CredentialFault> = new Set(['corrupt', 'key_missing'])

async function forgetIfLost(login: StoredLogin, place: Place): Promise<Forgotten> {
  try {
    if (login.kind === 'unreadable' && !lostFaults.has(login.failure.fault)) throw login.failure
    return await forget(login.id, place)
  } catch (error) {
    if (!(error instanceof CredentialError)) throw error
    const { sentences, nextStep } = describeError(error, { serverUrl: undefined })
    const kept = [...sentences, nextStep].join(' ')
    return { id: login.id, server: null, profile: null, found: true, readable: false, revoked: false, kept }
  }
}

type Forgotten = Omit<Awaited<ReturnType<typeof forget>>, 'kept'> & { kept: string | null }

/**
 * Signs out of one login; `config` is that of its server, if known: only its content names it. Rejects with `CredentialError`.
 * `revoked`: null if the server cannot revoke tokens; false too for a login that cannot be read. `kept`: why the login is still stored,
 * with the next step; null if it is removed.
 */
async function forget(id: LoginId, place: Place, config?: BridgeConfig) {
  const { signOut } = await import('../../oauth/login/sign-out.ts')
  const report = await signOut(place.store, id, (credential) => revoke(credential, place))
  const { serverUrl = null, profile = null } = report.credential ?? { ...config, ...config?.oauth }
  const { found, readable, revoked = null } = report
  return { id, server: serverUrl, profile, found, readable, revoked, kept: null }
}

/** Allows plain http as the sign-in did. */
async function revoke(
  credential: Credential,
  { read: { values }, input: { runtime, surroundings } }: Place,
): Promise<boolean | undefined> {
  const { revokeTokens } = await import('../../oauth/login/sign-out.ts')
  const given = { ...values, profile: credential.profile, allowHttp: true }
  const oauth = oauthConfig(credential.serverUrl, given, undefined, surroundings)
  const http = createHttpClient(networkConfig(given, surroundings))
  try {
    return await revokeTokens(credential, oauth, { http, runtime })
  } finally {
    http.close()
  }
}

function textOf({ id, server, profile, found, readable, revoked, kept }: Forgotten): string {
  const address = server ?? `the login ${id}`
  const name = profile === null || profile === 'default' ? address : `${address} (profile ${profile})`
  if (kept !== null) return `Still stored: ${name}. ${kept}`
  if (!found) return `No login is stored for ${name}.`
  if (revoked === true) return `Signed out of ${name}: the tokens are revoked and removed.`
  const told = revoked === null ? 'the server cannot revoke them' : 'the server could not be reached'
  const reason = readable ? told : 'they cannot be read'
  return `Signed out of ${name}: the tokens are removed, but not revoked, as ${reason}. They expire by themselves.`
}
