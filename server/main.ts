import { run } from './command-line.ts'

// Whoever reads our output may stop early, as head does; that is no reason to fail.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error
})

process.exitCode = await run(process.argv.slice(2), process.env)
