/**
 * Installs the Python clients and servers of the tests at their pinned versions, each requirements file in a separate
 * environment. Keeps existing ones. Where that is impossible, it prints one line and the tests skip them; with
 * CI=true it fails.
 */
import { spawnSync } from 'node:child_process'
import { copyFileSync, readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

process.chdir(fileURLToPath(new URL('.', import.meta.url)))

function read(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return undefined
  }
}

function run(program: string, ...parameters: string[]): void {
  const { status, stderr, error } = spawnSync(program, parameters, { encoding: 'utf8' })
  if (status !== 0) throw new Error(error?.message ?? stderr.trim().split('\n').at(-1))
}

function install(requirements: string, environment: string): void {
  process.stderr.write(`Installing the Python packages of ${requirements} ...\n`)
  run('python3', '-m', 'venv', '--clear', environment)
  const pip = ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', '--no-deps', '--no-compile']
  run(`${environment}/bin/python`, ...pip, '-r', requirements)
  copyFileSync(requirements, `${environment}/installed.txt`)
}

try {
  for (const requirements of readdirSync('.').filter((name) => name.startsWith('requirements-'))) {
    const environment = `.environments/${requirements.slice(0, -'.txt'.length)}`
    if (read(requirements) !== read(`${environment}/installed.txt`)) install(requirements, environment)
  }
} catch (error) {
  const reason = error instanceof Error ? error.message : String(error)
  process.stderr.write(`Tests with Python are skipped, since its packages cannot be installed: ${reason}\n`)
  if (process.env['CI'] === 'true') process.exitCode = 1
}
