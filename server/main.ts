import { inspect } from 'node:util'
import { run } from './cli/command-line.ts'

// Whoever reads our output may stop early, as head does; that is no reason to fail.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error
})

// Node would print the line at fault whole, and those of the bundle are long.
process.on('uncaughtException', (error) => {
  process.stderr.write(`${inspect(error)}\n`, () => process.exit(1))
})

process.exitCode = await run(process.argv.slice(2), process.env)

// A tools module may have begun something at its top level that would keep a start that failed alive. What was written
// to a pipe may still be on its way.
if (process.exitCode !== 0) {
  process.stdout.write('', () => process.stderr.write('', () => process.exit()))
}
