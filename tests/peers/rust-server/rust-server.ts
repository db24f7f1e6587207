import { execFile } from 'node:child_process'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { skipWithout } from '../../support/find-program.ts'
import { type ServingProcess, startServingProcess } from '../serving-process.ts'

const folder = fileURLToPath(new URL('.', import.meta.url))
const buildTimeoutMs = 8 * 60_000

/**
 * Compiles the server. Returns false and prints one line where Rust is missing or its crates cannot be fetched;
 * throws instead when CI=true. Takes a minute or two without an earlier build. Its crates are compiled once for all
 * clones, like Go's modules: Cargo 1.91 and newer keep them in the cache of this user.
 */
export async function buildRustServer(): Promise<boolean> {
  try {
    const cache = process.env['XDG_CACHE_HOME'] ?? join(homedir(), '.cache')
    const env = {
      ...process.env,
      CARGO_TARGET_DIR: 'dist',
      CARGO_BUILD_BUILD_DIR: join(cache, 'drawbridge-rust-server'),
      CARGO_INCREMENTAL: '0',
    }
    await promisify(execFile)('cargo', ['build', '--quiet', '--locked'], {
      cwd: folder,
      env,
      timeout: buildTimeoutMs,
    })
    return true
  } catch (error) {
    const [reason] = String(error).split('\n').slice(-2)
    return skipWithout(`Rust 1.85 or newer (cargo) is missing, or it could not build it (${reason})`, error)
  }
}

/** Starts the server built by {@link buildRustServer}. */
export function startRustServer({ port }: { port: number }): Promise<ServingProcess> {
  return startServingProcess({ command: `${folder}dist/debug/program`, args: [String(port)], port })
}
