import { spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { missingBusAddress } from './bus-address.ts'
import { CredentialError, type CredentialFault } from './credential-store.ts'
import type { CredentialsConfig } from './credentials-config.ts'
import { explainKeychain, keychainError } from './keychain-fault.ts'
import { keychainItem } from './keychain-item.ts'
import { type KeychainRequest, parseKeychainAnswer } from './keychain-request.ts'

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
    timer = setTimeout(() => reject(tooSlow(timeoutMs)), timeoutMs)
  })
  try {
    return await Promise.race([reading, deadline])
  } finally {
    clearTimeout(timer)
  }
}

async function askHelper(request: KeychainRequest, timeoutMs: number): Promise<string | null> {
  repairBusAddress()
  const { output, signal, late, failure } = await runHelper(JSON.stringify(request), timeoutMs)
  const answer = parseKeychainAnswer(output)
  if (answer?.kind === 'done') return answer.value
  if (answer?.kind === 'failed') {
    const { fault, detail } = explainKeychain(answer.message)
    throw keychainError(fault, detail)
  }
  if (late) throw tooSlow(timeoutMs)
  if (signal !== null) throw keychainError('keychain_failed', `it crashed (${signal})`)
  const { fault, detail } = explainKeychain(failure)
  throw keychainError(fault, detail)
}

/** How a helper ended. `failure` is what it or the operating system said of it. */
interface HelperEnd {
  output: string
  failure: string
  signal: NodeJS.Signals | null
  late: boolean
}

async function runHelper(request: string, timeoutMs: number): Promise<HelperEnd> {
  return await new Promise((resolve) => {
    const end: HelperEnd = { output: '', failure: '', signal: null, late: false }
    const startedAt = performance.now()
    const helper = spawn(process.execPath, [helperPath()], {
      stdio: ['pipe', 'pipe', 'pipe'],
      timeout: timeoutMs,
      killSignal: 'SIGKILL',
      windowsHide: true,
    })
    helper.stdout.setEncoding('utf8').on('data', (chunk: string) => (end.output += chunk))
    helper.stderr.setEncoding('utf8').on('data', (chunk: string) => {
      end.failure = (end.failure + chunk).slice(-4000)
    })
    helper.on('error', (error) => resolve({ ...end, failure: error.message }))
    helper.on('close', (_code, signal) => {
      const late = signal === 'SIGKILL' && performance.now() - startedAt >= timeoutMs
      resolve({ ...end, signal, late })
    })
    // It may be gone before it has read anything.
    helper.stdin.on('error', () => undefined)
    helper.stdin.end(request)
  })
}

/** Beside the bundle, or beside this file where the bridge runs from source. */
function helperPath(): string {
  const bundled = fileURLToPath(new URL('./keychain-helper.mjs', import.meta.url))
  return existsSync(bundled) ? bundled : fileURLToPath(new URL('./keychain-helper.ts', import.meta.url))
}

function tooSlow(timeoutMs: number): CredentialError {
  const waited = `${String(timeoutMs / 1000)} s`
  return keychainError(
    'keychain_locked',
    `it is locked or waits for an answer on the screen (no answer in ${waited})`,
  )
}
