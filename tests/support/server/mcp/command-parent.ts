/**
 * A program with a command endpoint, to be killed: opens it for the arguments of `scripted-server.mjs`, calls a tool,
 * and reports it.
 */
import { openCommand, upstreamSample } from './command-fixture.ts'

const [tool = 'echo', ...args] = process.argv.slice(2)
const { client } = openCommand(upstreamSample(args))
await client().call(tool, { value: 1 })
process.stdout.write('ready\n')
setInterval(() => {}, 1000)
