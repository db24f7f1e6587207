import { networkConfig, oauthConfig } from '../../config/config-part.ts'
import type { Credential } from '../../credentials/credential.ts'
import {
  CredentialError,
  type CredentialFault,
  type CredentialStore,
  type StoredLogin,
  isLoginId,
} from '../../credentials/credential-store.ts'
import type { NetworkConfig } from '../../http/http-client.ts'
import { createHttpClient } from '../../http/undici-client.ts'
import { readIfPossible } from '../../oauth/login/login-sign-in.ts'
import { type CommandInput, configOf, credentialsOf, settingsOf } from '../command.ts'
import { describeError } from '../failure/failure-text.ts'
import { CommandFailure, type ExitCode, exitCode } from '../failure/command-failure.ts'
import { loginIdOf, openConnectionLog, openLogin } from '../connect/connection-login.ts'

const lockMs = 20_000

/** Result of signing out of one login. */
export interface Forgotten {
  id: string
  /** Null if it is unreadable. */
  server: string | null
  profile: string | null
  found: boolean
  /** An unreadable login cannot be revoked. */
  readable: boolean
  /** Null if the server cannot revoke tokens. */
  revoked: boolean | null
  /** Why the login was kept, with the next step; null if it was removed. */
  kept: string | null
}

/** Removes the login of that id, which `status` shows for unreadable logins. Rejects with `CredentialError`. */
export async function forgetById(id: string, input: CommandInput): Promise<Forgotten> {
  const place = await openPlace(input)
  const isStored = (await place.store.list()).some((stored) => stored.id === id)
  return isStored ? await forget(id, place) : { ...unknownLogin(id), found: false, revoked: null }
}

/**
 * Removes all logins. Keeps those that become readable once the keychain is unlocked or the bridge is updated, so that their
 * tokens can be revoked then.
 */
export async function forgetAll(input: CommandInput): Promise<Forgotten[]> {
  const place = await openPlace(input)
  const logins: Forgotten[] = []
  for (const login of await place.store.list()) logins.push(await forgetIfLost(login, place))
  // Also removes the key, which may be the one that was lost.
  if (logins.every(({ kept }) => kept === null)) await place.store.clear()
  return logins
}

async function forgetIfLost(login: StoredLogin, place: Place): Promise<Forgotten> {
  if (login.kind === 'unreadable' && !lostFaults.has(login.failure.fault)) {
    return { ...unknownLogin(login.id), kept: whyKept(login.failure) }
  }
  try {
    return await forget(login.id, place)
  } catch (error) {
    if (!(error instanceof CredentialError)) throw error
    return { ...unknownLogin(login.id), kept: whyKept(error) }
  }
}

const lostFaults: ReadonlySet<CredentialFault> = new Set(['corrupt', 'key_missing'])

function whyKept(failure: CredentialError): string {
  const { sentences, nextStep } = describeError(failure, { serverUrl: undefined })
  return [...sentences, nextStep].join(' ')
}

interface Place {
  store: CredentialStore
  network: NetworkConfig
  input: CommandInput
}

async function openPlace(input: CommandInput): Promise<Place> {
  const read = settingsOf(input)
  const { runtime, surroundings } = input
  const { createCredentialStore } = await import('../../credentials/sealed-store.ts')
  const store = createCredentialStore(credentialsOf(read), { runtime, announce: () => {} })
  return { store, network: networkConfig(read.values, surroundings), input }
}

async function forget(id: string, place: Place): Promise<Forgotten> {
  const { store } = place
  return await store.exclusively(id, { waitMs: lockMs }, async () => {
    const { credential } = await readIfPossible(store, id)
    const revoked = credential === undefined ? false : await revoke(credential, place)
    await store.remove(id)
    if (credential === undefined) return unknownLogin(id)
    const { serverUrl: server, profile } = credential
    return { id, server, profile, found: true, readable: true, revoked: revoked ?? null, kept: null }
  })
}

function unknownLogin(id: string): Forgotten {
  return { id, server: null, profile: null, found: true, readable: false, revoked: false, kept: null }
}

async function revoke(
  credential: Credential,
  { network, input: { runtime, surroundings } }: Place,
): Promise<boolean | undefined> {
  const { giveBack } = await import('../../oauth/login/sign-out.ts')
  const oauth = oauthConfig(credential.serverUrl, { profile: credential.profile }, undefined, surroundings)
  const http = createHttpClient({ ...network, allowHttp: true })
  try {
    return await giveBack(credential, { ...oauth, allowHttp: true }, { http, runtime })
  } catch {
    return false
  } finally {
    http.close()
  }
}

/**
 * Revokes and removes one login, or all. Also removes one whose tokens could not be revoked, and says so. Returns 1 if an
 * unreadable login was kept.
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
