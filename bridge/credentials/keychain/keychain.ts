import { lstatSync } from 'node:fs'
import { join } from 'node:path'
import { randomBytes } from 'node:crypto'
import { CredentialError, type CredentialFault, type CredentialsConfig } from '../credential-store.ts'
import { explainKeychain, keychainError, keychainTooSlow } from './keychain-fault.ts'
import { keychainItem } from './keychain-item.ts'
import type { KeychainRequest } from './keychain-request.ts'

/**
 * Where the session bus of this user is, when the environment does not say: clients start their servers without it, and
 * then no keychain library finds the Secret Service that runs. Undefined when it says, when there is none at the usual
 * place, and where there is no such bus. To be set before anything native is loaded.
 */
export function missingBusAddress(
  environment: Readonly<Record<string, string | undefined>>,
  user: number | undefined,
): string | undefined {
  if (process.platform !== 'linux' || environment['DBUS_SESSION_BUS_ADDRESS']) return undefined
  const folder =
    environment['XDG_RUNTIME_DIR'] || (user === undefined ? undefined : `/run/user/${String(user)}`)
  if (folder === undefined) return undefined
  const socket = join(folder, 'bus')
  try {
    return lstatSync(socket).isSocket() ? `unix:path=${socket}` : undefined
  } catch {
    return undefined
  }
}

/** In this process nothing native can be ended: with more patience than this the helper is asked. */
const inProcessMs = 2500

/** The keychain of this user. Everything rejects with {@link CredentialError} of a `keychain_` fault. */
export interface Keychain {
  /** Null: there is no such item, or it is not shown. A locked keychain may say that of an item that is there. */
  read(account: string): Promise<string | null>
  /** Resolves when the value was read back. */
  write(account: string, value: string): Promise<void>
  remove(account: string): Promise<void>
  /** Writes, reads and removes an item of no meaning. */
  probe(): Promise<void>
}

/**
 * The keychain of the operating system, which may neither hang nor end this process. It is asked in a child process, except
 * for a read under a client, where a child would cost more than everything else: that one is made here until it failed once.
 */
export function createKeychain(config: Pick<CredentialsConfig, 'keychainTimeoutMs'>): Keychain {
  const timeoutMs = config.keychainTimeoutMs
  let inProcess = timeoutMs <= inProcessMs
  return {
    async read(account) {
      repairBusAddress()
      if (!inProcess) return await askHelper({ operation: 'read', account }, timeoutMs)
      try {
        return await readHere(account, timeoutMs)
      } catch (error) {
        inProcess = false
        throw error
      }
    },
    async write(account, value) {
      await askHelper({ operation: 'write', account, value }, timeoutMs)
    },
    async remove(account) {
      await askHelper({ operation: 'remove', account }, timeoutMs)
    },
    async probe() {
      const account = `probe:${randomBytes(8).toString('hex')}`
      await askHelper({ operation: 'probe', account }, timeoutMs)
    },
  }
}

/** Whether the keychain takes, gives and forgets an item, or what is wrong with it. Never rejects for the keychain. */
export async function probeKeychain(
  config: CredentialsConfig,
): Promise<{ kind: 'works' } | { kind: CredentialFault; detail: string }> {
  try {
    await createKeychain(config).probe()
    return { kind: 'works' }
  } catch (error) {
    if (error instanceof CredentialError) return { kind: error.fault, detail: error.message }
    throw error
  }
}

function repairBusAddress(): void {
  const address = missingBusAddress(process.env, process.getuid?.())
  if (address !== undefined) process.env['DBUS_SESSION_BUS_ADDRESS'] = address
}

async function readHere(account: string, timeoutMs: number): Promise<string | null> {
  const reading = (async () => (await keychainItem(account)).getPassword())().catch((error: unknown) => {
    const { fault, detail } = explainKeychain(String(error))
    throw keychainError(fault, detail, error)
  })
  // It may still fail when nobody waits for it any more.
  reading.catch(() => undefined)
  let timer: NodeJS.Timeout | undefined
  const deadline = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(keychainTooSlow(timeoutMs)), timeoutMs)
  })
  try {
    return await Promise.race([reading, deadline])
  } finally {
    clearTimeout(timer)
  }
}

/** Loaded when it is needed: a start of a client reads by itself. */
async function askHelper(request: KeychainRequest, timeoutMs: number): Promise<string | null> {
  repairBusAddress()
  const { callHelper } = await import('./keychain-helper-call.ts')
  return await callHelper(request, timeoutMs)
}
