// Builds server and bridge if anything changed, and prints one line. Plain JavaScript: an old Node must get as far as
// the launcher's own message.
import { mkdirSync, readdirSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { fileURLToPath } from 'node:url'

// Packages are packed from their own folders.
process.chdir(fileURLToPath(new URL('..', import.meta.url)))

/** Has the time of the build's start, so that files saved during a build are newer. */
const mark = 'server/dist/.built'

/** Returns when a file below `path` was last changed, or one was added or removed, in milliseconds. */
function changedAt(path) {
  const stat = statSync(path)
  if (!stat.isDirectory()) return stat.mtimeMs
  const names = readdirSync(path).filter((name) => name !== 'dist' && name !== 'node_modules')
  return Math.max(stat.mtimeMs, ...names.map((name) => changedAt(`${path}/${name}`)))
}

/** The last ones are written by `npm ci` and `npm install`. */
const inputs = ['server', 'bridge', 'shared', 'scripts', 'deploy', 'package.json', 'package-lock.json']
inputs.push('rolldown.config.ts', 'tsconfig.base.json', 'node_modules/.package-lock.json')
const outputs = ['server/dist/main.mjs', 'server/dist/library.mjs', 'bridge/dist/main.mjs']
outputs.push('bridge/dist/keychain-helper.mjs')

function isUpToDate() {
  try {
    outputs.forEach((output) => statSync(output))
    return Math.max(...inputs.map(changedAt)) < statSync(mark).mtimeMs
  } catch {
    return false // Something is not there.
  }
}

async function build() {
  // Before taking the time: a new folder changes its parent.
  for (const output of outputs) mkdirSync(dirname(output), { recursive: true })
  const start = new Date()
  rmSync(mark, { force: true })
  // To stderr: stdout belongs to the program that starts next.
  const slow = setTimeout(() => process.stderr.write('Building ...\n'), 1000).unref()
  const { rolldown } = await import('rolldown')
  const { loadConfig } = await import('rolldown/config')
  const configs = await loadConfig('rolldown.config.ts')
  for (const { output, ...input } of [configs].flat()) {
    // On a busy machine it would report the timings of its own parts.
    const bundle = await rolldown({ ...input, checks: { bundlerTimings: false } })
    await bundle.write(output)
    await bundle.close()
  }
  clearTimeout(slow)
  writeFileSync(mark, '')
  utimesSync(mark, start, start)
  process.stderr.write(`Built in ${((Date.now() - start.getTime()) / 1000).toFixed(1)} s.\n`)
}

try {
  if (!isUpToDate()) await build()
} catch (error) {
  const reasons = [error.message, error.cause?.message].filter(Boolean).join('\n')
  process.stderr.write(`The build failed. Correct this, and run it again:\n${reasons}\n`)
  process.exitCode = 1
}
