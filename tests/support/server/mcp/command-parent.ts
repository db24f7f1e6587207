/**
 * A program with command endpoints, to be killed: opens one for each of its arguments but the first, which has a tool to call and
 * the arguments of `scripted-server.mjs`, and reports when all have answered. The first argument is passed on to all of them.
 */
import { openCommand, upstreamSample } from './command-fixture.ts'

const [mark = '', ...processes] = process.argv.slice(2)
await Promise.all(
  processes.map(async (words) => {
    const [tool = 'echo', ...args] = words.split(' ')
    await openCommand(upstreamSample([...args, '--mark', mark]))
      .client()
      .call(tool, { value: 1 })
  }),
)
process.stdout.write('ready\n')
setInterval(() => {}, 1000)
