import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { isJsonObject } from '@drawbridge/shared/json-object.ts'
import { readText, sendJson } from './exchange-parts.ts'
import { startRemote } from './remote.ts'
import type { RemoteOptions } from './remote.ts'

// `node tests/support/remote/remote-process.ts '{"era":"both"}'`: a remote in a process of its own. The argument is RemoteOptions.
// Prints one line of JSON when it is ready: { origin, url, sseUrl, issuer, control }. Ends when stdin does.
//
// GET `control` answers { settings, counters }. POST takes { set?, do? }: `set` changes settings, `do` names a method of
// Remote, alone or in a list with its arguments (`["failNext", "hang", 2]`); the answer has its `result` besides.

const remote = await startRemote(JSON.parse(process.argv[2] ?? '{}') as RemoteOptions)

const control = createServer((request, response) => {
  void (async () => {
    const command: unknown = JSON.parse((await readText(request)) || '{}')
    try {
      const result = await run(isJsonObject(command) ? command : {})
      sendJson(response, 200, {
        settings: remote.settings,
        counters: remote.counters,
        result: result ?? null,
      })
    } catch (error) {
      sendJson(response, 400, { error: String(error) })
    }
  })()
})

async function run(command: Record<string, unknown>): Promise<unknown> {
  if (isJsonObject(command['set'])) remote.set(command['set'])
  const [name, ...args] = [command['do']].flat()
  if (name === undefined) return undefined
  const member: unknown = remote[name as keyof typeof remote]
  if (typeof member !== 'function') throw new TypeError(`a remote cannot ${JSON.stringify(name)}`)
  return (await member(...args)) as unknown
}

control.listen(0, '127.0.0.1', () => {
  const { origin, url, sseUrl, issuer } = remote
  const at = `http://127.0.0.1:${(control.address() as AddressInfo).port}/control`
  process.stdout.write(`${JSON.stringify({ origin, url, sseUrl, issuer, control: at })}\n`)
})

process.stdin.resume().on('end', () => process.exit(0))
process.on('SIGTERM', () => process.exit(0))
