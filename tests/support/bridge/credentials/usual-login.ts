import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { systemRuntime } from '../../../../bridge/config/system-runtime.ts'
import {
  type CredentialStore,
  type LoginId,
  loginId,
} from '../../../../bridge/credentials/credential-store.ts'
import { createCredentialStore } from '../../../../bridge/credentials/sealed-store.ts'

/** Opens the store in the folder `home`, with its key in a file. */
export function openFileStore(home: string): CredentialStore {
  const config = { home, backend: 'file' as const, keychainTimeoutMs: 2500 }
  return createCredentialStore(config, { runtime: systemRuntime, announce: () => undefined })
}

/** Returns the id of a login that only its server tells from others. */
export function usualLoginId(serverUrl: string): LoginId {
  return loginId({ serverUrl, profile: 'default' })
}

/** Writes `text` over the record of a login of the user with that home. Returns its id and its file. */
export function damageLogin(userHome: string, serverUrl: string, text: string): [id: LoginId, file: string] {
  const id = usualLoginId(serverUrl)
  const file = join(userHome, '.drawbridge', 'credentials', 'records', `${id}.json`)
  writeFileSync(file, text)
  return [id, file]
}
