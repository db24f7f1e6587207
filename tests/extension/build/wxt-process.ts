import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { compileCache } from '../../support/compile-cache.ts'

/** The root of the repository. */
export const root: string = fileURLToPath(new URL('../../..', import.meta.url))

/**
 * Runs the build tool in a separate process, as the scripts do, with `outDir` instead of `dist/extension`, which
 * other tests read. Passes on only the environment that every program needs: the test runner's would change the
 * build.
 */
export async function runWxt(
  outDir: string,
  arguments_: readonly string[],
  environment: Readonly<Record<string, string>> = {},
): Promise<void> {
  const { PATH = '', HOME = '' } = process.env
  await promisify(execFile)(process.execPath, [join(root, 'node_modules/wxt/bin/wxt.mjs'), ...arguments_], {
    cwd: join(root, 'extension'),
    env: { PATH, HOME, EXTENSION_OUT_DIR: outDir, ...compileCache, ...environment },
  })
}
