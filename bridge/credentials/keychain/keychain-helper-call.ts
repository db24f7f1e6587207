import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { explainKeychain, keychainError, keychainTooSlow } from './keychain-fault.ts'
import { type KeychainRequest, parseKeychainAnswer } from './keychain-request.ts'

/**
 * Has the helper do that in a process of its own, which is ended after `timeoutMs`. The value that was read, else null. Rejects
 * with {@link CredentialError} of a `keychain_` fault.
 */
export async function callHelper(request: KeychainRequest, timeoutMs: number): Promise<string | null> {
  const { output, signal, late, failure } = await runHelper(JSON.stringify(request), timeoutMs)
  const answer = parseKeychainAnswer(output)
  if (answer?.kind === 'done') return answer.value
  if (answer?.kind === 'failed') {
    const { fault, detail } = explainKeychain(answer.message)
    throw keychainError(fault, detail)
  }
  if (late) throw keychainTooSlow(timeoutMs)
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
