import { networkConfig, oauthConfig } from '../config/config-part.ts'
import type { Credential } from '../credentials/credential.ts'
import {
  CredentialError,
  type CredentialFault,
  type CredentialStore,
  type StoredLogin,
} from '../credentials/credential-store.ts'
import type { NetworkConfig } from '../http/network-config.ts'
import { createHttpClient } from '../http/undici-client.ts'
import { readIfPossible } from '../oauth/login/login-sign-in.ts'
import { type CommandInput, credentialsOf, settingsOf } from './command.ts'
import { describeError } from './failure-text.ts'

const lockMs = 20_000

/** What became of one login. */
export interface Forgotten {
  id: string
  /** Null where only its content says, and nobody can read that. */
  server: string | null
  profile: string | null
  found: boolean
  /** What cannot be read is not revoked either. */
  readable: boolean
  /** Null where the server has no way to revoke. */
  revoked: boolean | null
  /** Why it is still there, and what to do; null when it is not. */
  kept: string | null
}

/** Forgets the login of that id, as `status` shows it of one that cannot be read. Rejects with `CredentialError`. */
export async function forgetById(id: string, input: CommandInput): Promise<Forgotten> {
  const place = await openPlace(input)
  const isStored = (await place.store.list()).some((stored) => stored.id === id)
  return isStored ? await forget(id, place) : { ...unknownLogin(id), found: false, revoked: null }
}

/**
 * Forgets all logins, each by what is stored with it. Those stay that can be read again some day, when somebody unlocks the
 * keychain or updates the bridge, so that their tokens can be revoked then.
 */
export async function forgetAll(input: CommandInput): Promise<Forgotten[]> {
  const place = await openPlace(input)
  const logins: Forgotten[] = []
  for (const login of await place.store.list()) logins.push(await forgetIfLost(login, place))
  // Also what is no login, and the key: that is what a person asks for who lost it.
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

/** Where all logins are, and the way to their servers. */
interface Place {
  store: CredentialStore
  network: NetworkConfig
  input: CommandInput
}

async function openPlace(input: CommandInput): Promise<Place> {
  const read = settingsOf(input)
  const { runtime, surroundings } = input
  const { createCredentialStore } = await import('../credentials/sealed-store.ts')
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
  const { giveBack } = await import('../oauth/login/sign-out.ts')
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
