import { existsSync, lstatSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { within } from '@drawbridge/shared/async.ts'
import { parseJsonObject } from '@drawbridge/shared/json-object.ts'
import { CredentialError, type CredentialsConfig } from '../credential-store.ts'
import { explainKeychain, keychainError, tooSlow } from './keychain-error.ts'
import { type KeychainOperation, performOnKeychain } from './keychain-operation.ts'

/** Resolves with the item; null if it is missing or not accessible. Rejects with a `keychain_` fault. */
export type Keychain = (request: KeychainOperation) => Promise<string | null>

/** Native code cannot be interrupted in this process: a longer time limit uses the helper. */
const inProcessMs = 2500

/**
 * Creates access to a keychain that can neither hang nor end this process: by a child process, except for a read under a
 * client, where a child would cost more than everything else. That one runs here until it has failed once.
 */
export function createKeychain({
  keychainTimeoutMs: timeoutMs,
}: Pick<CredentialsConfig, 'keychainTimeoutMs'>): Keychain {
  let inProcess = timeoutMs <= inProcessMs
  return async (request) => {
    const address = missingBusAddress(process.env, process.getuid?.())
    if (address !== undefined) process.env['DBUS_SESSION_BUS_ADDRESS'] = address
    if (!inProcess || request.operation !== 'read') {
      return readAnswer(await runHelper(JSON.stringify(request), timeoutMs), timeoutMs)
    }
    try {
      const value = await within(timeoutMs, performOnKeychain(request))
      if (value === undefined) throw tooSlow(timeoutMs)
      return value
    } catch (error) {
      inProcess = false
      throw error instanceof CredentialError ? error : explainKeychain(String(error), error)
    }
  }
}

/** Checks that the keychain stores, returns and removes an item; returns its fault if it does not. */
export async function probeKeychain(config: CredentialsConfig): Promise<'works' | CredentialError> {
  try {
    await createKeychain(config)({ operation: 'probe' })
    return 'works'
  } catch (error) {
    if (error instanceof CredentialError) return error
    throw error
  }
}

/**
 * Returns the address of this user's session bus when the environment lacks it: clients start their servers without it, and
 * no keychain library then finds the running Secret Service. Set it before loading native code.
 *
 * @internal
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

/** The exit of a helper. `failure`: its message, or the operating system's. */
interface HelperEnd {
  output: string
  failure: string
  signal: NodeJS.Signals | null
  isLate: boolean
}

/** Runs the helper, and kills it after `timeoutMs`. */
async function runHelper(input: string, timeoutMs: number): Promise<HelperEnd> {
  // Loaded on demand: the start of a client reads in this process.
  const { spawn } = await import('node:child_process')
  return await new Promise((resolve) => {
    const end: HelperEnd = { output: '', failure: '', signal: null, isLate: false }
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
      const isLate = signal === 'SIGKILL' && performance.now() - startedAt >= timeoutMs
      resolve({ ...end, signal, isLate })
    })
    // The helper may exit before it reads anything.
    helper.stdin.on('error', () => undefined)
    helper.stdin.end(input)
  })
}

/** Next to the bundle, or next to this file where the bridge runs from source. */
function helperPath(): string {
  const bundled = fileURLToPath(new URL('./keychain-helper.mjs', import.meta.url))
  return existsSync(bundled) ? bundled : fileURLToPath(new URL('./keychain-helper.ts', import.meta.url))
}

function readAnswer({ output, failure, signal, isLate }: HelperEnd, timeoutMs: number): string | null {
  const { kind, value, message } = parseJsonObject(output) ?? {}
  if (kind === 'done' && (value === null || typeof value === 'string')) return value
  if (kind === 'failed' && typeof message === 'string') throw explainKeychain(message)
  if (isLate) throw tooSlow(timeoutMs)
  if (signal !== null) throw keychainError('keychain_failed', `it crashed (${signal})`)
  throw explainKeychain(failure)
}
