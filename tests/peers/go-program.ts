import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { skipWithout } from '../support/find-program.ts'

const buildTimeoutMs = 8 * 60_000

/** Returns the path of the program that {@link buildGoProgram} builds from a folder. */
export const goProgram = (folder: string): string => join(folder, 'dist', 'program')

/**
 * Compiles the Go module in `folder`. Returns false and prints one line where that is impossible, because Go is
 * missing or too old, or its modules cannot be fetched; throws instead when CI=true. Takes a minute or two without
 * Go's cache.
 */
export async function buildGoProgram(folder: string): Promise<boolean> {
  try {
    // Without optimizations, debug information and C, a build with an empty cache takes two thirds of the time.
    const fast = ['-gcflags=all=-N -l -dwarf=false', '-ldflags=-s -w']
    const build = ['build', '-buildvcs=false', ...fast, '-o', goProgram(folder), '.']
    const environment = { ...process.env, GOTOOLCHAIN: 'local', CGO_ENABLED: '0' }
    await promisify(execFile)('go', build, { cwd: folder, env: environment, timeout: buildTimeoutMs })
    return true
  } catch (error) {
    const [reason] = String(error).split('\n').slice(-2)
    return skipWithout(`Go 1.26 or newer is missing, or it could not build ${folder} (${reason})`, error)
  }
}
