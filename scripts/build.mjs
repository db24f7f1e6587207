// Builds server and bridge, and prints one line. Plain JavaScript: an old Node must get as far as the launcher's own message.
import { fileURLToPath } from 'node:url'
import { rolldown } from 'rolldown'
import { loadConfig } from 'rolldown/config'

// Packages are packed from their own folders.
process.chdir(fileURLToPath(new URL('..', import.meta.url)))
const start = performance.now()
try {
  const configs = await loadConfig('rolldown.config.ts')
  for (const { output, ...input } of [configs].flat()) {
    // On a busy machine it would write about the time that its own parts take.
    const build = await rolldown({ ...input, checks: { bundlerTimings: false } })
    await build.write(output)
    await build.close()
  }
  // To stderr: stdout belongs to the program that starts next.
  process.stderr.write(`Built in ${((performance.now() - start) / 1000).toFixed(1)} s.\n`)
} catch (error) {
  const reasons = [error.message, error.cause?.message].filter(Boolean).join('\n')
  process.stderr.write(`The build failed. Correct this, and run it again:\n${reasons}\n`)
  process.exitCode = 1
}
