/**
 * Installs the web frameworks of the tests at their pinned versions. Where that is impossible, it prints one line and the tests
 * skip them; with CI=true it fails.
 */
import { spawnSync } from 'node:child_process'
import { copyFileSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

process.chdir(fileURLToPath(new URL('.', import.meta.url)))

const lock = 'package-lock.json'
const installed = 'node_modules/installed.json'

function read(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return undefined
  }
}

if (read(lock) !== read(installed)) {
  process.stderr.write('Installing the web frameworks of the tests ...\n')
  const flags = ['ci', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error']
  const { status, stderr } = spawnSync('npm', flags, {
    encoding: 'utf8',
    shell: process.platform === 'win32',
  })
  if (status === 0) copyFileSync(lock, installed)
  else {
    const reason = stderr.trim().split('\n').at(-1)
    process.stderr.write(`Tests with web frameworks are skipped, since they cannot be installed: ${reason}\n`)
    if (process.env['CI'] === 'true') process.exitCode = 1
  }
}
