import { request as forward } from 'node:http'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import type { AttemptFacts } from '../../server/core/attempts/attempt-list.ts'
import { runCommand as runBridge } from '../support/bridge/cli/command-run.ts'
import type { Received } from '../support/remote/received.ts'
import { type Remote, startRemote } from '../support/remote/remote.ts'
import { freePort } from '../support/server/free-port.ts'
import { until } from '../support/until.ts'
import { type BridgeHome, createBridgeHome, startBridge } from './bridge-process.ts'
import { runCommand } from './command-process.ts'
import { createPerson, type Person } from './person.ts'
import { patienceMs } from './phone.ts'
import { type ServerProcess, startServer } from './server-process.ts'

interface Trace {
  result: string
  steps: { step: string; status: number | null; ok: boolean; request_id: string | null; detail?: string }[]
  advice: string | null
}

let proxy: Remote
let server: ServerProcess
let person: Person
let signedIn: BridgeHome
let signedOut: BridgeHome
/** What the proxy does to a request; true when it has answered. */
let fault: ((request: Received) => boolean) | undefined
let hidden: string | undefined

/** Passes a request on, with its Host; takes the header `hidden` from the answer. */
function pass({ method, path, headers, text, response }: Received): void {
  const onward = forward(new URL(path, server.origin), { method, headers }, (answer) => {
    if (hidden !== undefined) delete answer.headers[hidden]
    response.writeHead(answer.statusCode ?? 502, answer.headers)
    answer.pipe(response)
  })
  onward.on('error', () => response.destroy())
  response.on('close', () => onward.destroy())
  onward.end(text)
}

beforeAll(async () => {
  proxy = await startRemote({
    handle(request) {
      if (fault?.(request) !== true) pass(request)
      return true
    },
  })
  const baseUrl = proxy.origin.replace('127.0.0.1', 'localhost')
  server = await startServer({ BASE_URL: baseUrl })
  person = await createPerson(server)
  signedIn = createBridgeHome()
  signedOut = createBridgeHome()
  const bridge = startBridge(server.mcpUrl, signedIn)
  await bridge.open()
  await fetch(await person.allow(await bridge.link()))
  await until(async () => (await bridge.tools()).includes('whoami'), 'the tools after the sign-in')
  await bridge.close()
}, patienceMs)
afterAll(async () => {
  await server?.close()
  await proxy?.close()
  signedIn?.remove()
  signedOut?.remove()
})
afterEach(() => {
  fault = undefined
  hidden = undefined
})

async function trace(
  home: BridgeHome,
  url = server.mcpUrl,
): Promise<Trace & { walked: string; said: string }> {
  const { stdout, stderr, json } = await runBridge(['doctor', url, '--trace', '--json'], { home: home.path })
  const facts = json() as unknown as Trace
  const walked = facts.steps.map(({ step, ok, status }) => `${ok ? '' : '!'}${step} ${status}`).join(', ')
  return { ...facts, walked, said: stdout + stderr }
}

const discovery = 'challenge 401, resource_metadata 200, server_metadata 200'

describe('doctor --trace', { timeout: patienceMs }, () => {
  it('doctor --trace names the requests that the server has in its attempts and its log, by their ids', async () => {
    const { walked, result, steps, said } = await trace(signedIn)
    expect(walked).toBe(`${discovery}, first_call 200, list 200`)
    expect(result).toBe('connected')
    expect(server.secrets.findIn(said)).toEqual([])
    expect(said).not.toContain(person.email)
    const [, , , firstCall, list] = steps.map(({ request_id: id }) => id)
    const isLogged = (id: string | null | undefined): boolean =>
      server.events('mcp_request').some((line) => line['request_id'] === id)
    await until(() => isLogged(firstCall) && isLogged(list), 'both calls in the log')
    const ofDiscovery = steps.slice(0, 3)
    let attempts: AttemptFacts[] = []
    await until(async () => {
      const id = ofDiscovery.at(-1)?.request_id ?? ''
      const run = await runCommand(server, ['attempts', '--json', '--request', id])
      attempts = JSON.parse(run.stdout) as AttemptFacts[]
      return attempts.length > 0
    }, 'the attempt in the store')
    const seen = attempts[0]?.steps ?? []
    for (const { step, status, ok, request_id } of ofDiscovery)
      expect(seen).toContainEqual(expect.objectContaining({ step, status, ok, request_id }))
  })

  it('doctor --trace behind a proxy that removes the challenge names that step', async () => {
    hidden = 'www-authenticate'
    const { walked, result, steps, advice } = await trace(signedOut)
    expect([walked, result]).toEqual([`!${discovery}`, 'failed'])
    expect(steps[0]?.detail).toMatch(/Expected 401 with WWW-Authenticate: Bearer, .*; got 401/)
    expect(advice).toContain('WWW-Authenticate')
  })

  it('doctor --trace behind a proxy that changes the token names the first call, with the id of the refusal', async () => {
    fault = ({ headers }) => {
      if (headers.authorization !== undefined) headers.authorization = headers.authorization.slice(0, -1)
      return false
    }
    const { walked, result, steps, advice } = await trace(signedIn)
    expect([walked, result]).toEqual([`${discovery}, !first_call 401`, 'failed'])
    expect(steps.at(-1)?.detail).toMatch(/got 401.* does not accept the login/)
    expect(advice).toBe(`drawbridge login ${server.mcpUrl} --force`)
    const id = steps.at(-1)?.request_id
    const refused = (): boolean => server.events('caller_refused').some((line) => line['request_id'] === id)
    await until(refused, 'the refusal in the log')
  })

  it('doctor --trace of a host that does not answer names the challenge', async () => {
    const { walked, result, steps } = await trace(signedOut, `http://127.0.0.1:${await freePort()}/mcp`)
    expect([walked, result]).toEqual(['!challenge null', 'failed'])
    expect(steps[0]?.detail).toMatch(/got no response from http:.*ECONNREFUSED/)
  })
})
