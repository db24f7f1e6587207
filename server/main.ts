import { inspect } from 'node:util'
import { run } from './cli/command-line.ts'

// A reader of our output, such as head, may stop early: that is not a failure.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error
})

// Node would print the whole source line, and lines of the bundle are long.
process.on('uncaughtException', (error) => {
  process.stderr.write(`${inspect(error)}\n`, () => process.exit(1))
})

process.exitCode = await run(process.argv.slice(2), process.env)

// Exit even if a tools module, or a call of one, has left something behind, after the output has been written to a pipe.
process.stdout.write('', () => process.stderr.write('', () => process.exit()))
