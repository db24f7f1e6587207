import { readFileSync } from 'node:fs'
import { setImmediate } from 'node:timers/promises'
import { afterEach, describe, expect, it } from 'vitest'
import { fullAccess } from '../../core/access/access-rules.ts'
import { anonymousCaller, type SignedInCaller } from '../../core/tokens/caller.ts'
import { createFakeRuntime } from '../../../tests/support/server/fake-runtime.ts'
import { readMessages } from '../../../tests/support/server/mcp/mcp-message.ts'
import {
  callerOf,
  type CommandClient,
  createCommands,
  responseOf,
  smallServer,
} from '../../../tests/support/server/mcp/command-fixture.ts'
import { underLoad } from '../../../tests/support/under-load.ts'
import { userPath } from './process/child-environment.ts'

const runtime = createFakeRuntime(1_750_000_000)
const { open, end } = createCommands({ runtime })
afterEach(async () => expect(await end()).toEqual([]))

interface About {
  pid: number
  env: Record<string, string>
  argv: string[]
  clientCapabilities: unknown
}
async function about(client: CommandClient, headers: Record<string, string> = {}): Promise<About> {
  const call = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'about' } }
  const answer = await responseOf(await client.post(call, headers))
  if (!answer.result) throw new Error(JSON.stringify(answer))
  return answer.result['structuredContent'] as About
}
const callOf = (name: string): object => ({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name } })
const initializing = (capabilities: object): object => ({
  protocolVersion: '2025-11-25',
  capabilities,
  clientInfo: { name: 'test', version: '1' },
})
const hang = { jsonrpc: '2.0', id: 'hang', method: 'tools/call', params: { name: 'hang' } }

describe('a process', () => {
  it('is started once, with the first use, for each person', async () => {
    const fixture = open()
    expect(fixture.endpoint.processCount()).toBe(0)
    const [ada, bob] = [fixture.client(), fixture.client(callerOf('bob'))]
    const found = await Promise.all([...Array(10).keys()].map((index) => about(index % 2 ? ada : bob)))
    expect(new Set(found.map(({ pid }) => pid)).size).toBe(2)
    expect(found[0]?.clientCapabilities ?? {}).toEqual({})
    expect(fixture.processes()).toHaveLength(2)
    expect(fixture.endpoint.processCount()).toBe(2)
    const { pid, sub, revision } = fixture.reported('upstream_started')[0] ?? {}
    expect(found.map((each) => each.pid)).toContain(pid)
    expect({ revision, sub }).toEqual({ revision: '2026-07-28', sub: expect.stringMatching(/^(?:ada|bob)$/) })
  })

  it('gets nothing of the environment but what is declared, and nothing of a person in its arguments', async () => {
    const env = {
      WHO: ['user ', { user: 'id' }],
      MAIL: [{ user: 'email' }],
      NAME: [{ user: 'name' }],
      TOKEN: [{ user: 'provider_token' }],
      PLAIN: ['a'],
    } as const
    const fixture = open([], { env, cwd: '/' })
    await about(
      fixture.client(
        callerOf('ada', { user: { id: 'i', sub: 'ada', email: 'a@b', name: 'A\0B', emailVerified: true } }),
      ),
    )
    const [pid] = fixture.processes()
    const environment = readFileSync(`/proc/${pid}/environ`, 'utf8').split('\0').filter(Boolean)
    expect(environment.sort()).toEqual(
      [
        `PATH=${userPath(process.env['PATH'] ?? '')}`,
        'LANG=C.UTF-8',
        'WHO=user ada',
        'MAIL=a@b',
        'NAME=AB',
        'TOKEN=provider-token',
        'PLAIN=a',
      ].sort(),
    )
    expect(readFileSync(`/proc/${pid}/cmdline`, 'utf8')).not.toMatch(/\bada\b|a@b|provider-token/)
  })

  it('is one for everybody when it is declared so', async () => {
    const fixture = open(['--era', 'legacy'], { process: 'shared' })
    const [ada, bob] = [fixture.client(), fixture.client(callerOf('bob'))]
    const pids = [await about(ada), await about(bob)].map(({ pid }) => pid)
    expect(new Set(pids).size).toBe(1)
    expect(fixture.reported('upstream_started')).toMatchObject([{ sub: undefined }])
    const { headers } = await ada.open({ elicitation: {} })
    expect(fixture.processes()).toHaveLength(1)
    const refused = JSON.stringify(await bob.call('ask'))
    expect(refused).toContain('-32601')
    expect(refused).toContain('serves everybody')
    // To each other the sessions are unknown.
    expect((await bob.post(hang, headers)).status).toBe(404)
  })

  it('of its own gets exactly what its client has declared, and ends with the session', async () => {
    const fixture = open(['--era', 'legacy'])
    const client = fixture.client()
    const declared = { roots: { listChanged: true }, experimental: { x: {} } }
    const first = await client.open(declared)
    const second = await client.open({ sampling: {} })
    const abouts = await Promise.all([
      about(client, first.headers),
      about(client, second.headers),
      about(client),
    ])
    expect(abouts.map((each) => each.clientCapabilities)).toEqual([declared, { sampling: {} }, {}])
    expect(fixture.processes()).toHaveLength(3)
    await client.send('DELETE', first.headers)
    await client.send('DELETE', second.headers)
    await expect.poll(fixture.processes).toHaveLength(1)
    await expect
      .poll(() => fixture.reported('upstream_ended').map(({ reason }) => reason))
      .toEqual(['session_over', 'session_over'])
  })
})

describe('the limits', () => {
  it('end the process that has been idle for the longest, once it has been for two minutes; its session comes back', async () => {
    const fixture = open([], { maxPerUser: 2, startTimeoutSeconds: 2 })
    const client = fixture.client()
    const first = await client.open({ roots: {} })
    const stream = readMessages(await client.send('GET', first.headers))
    const second = await client.open({ roots: {} })
    const before = await about(client, first.headers)
    const opening = { jsonrpc: '2.0', id: 0, method: 'initialize', params: initializing({ roots: {} }) }
    const refused = await client.post(opening)
    expect(refused.status).toBe(503)
    expect(refused.headers.get('retry-after')).toBe('5')
    expect(fixture.reported('upstream_full')).toHaveLength(1)
    runtime.advance(60)
    await about(client, second.headers)
    runtime.advance(60)
    const third = await client.open({ roots: {} })
    expect(fixture.processes()).toHaveLength(2)
    await expect.poll(() => fixture.reported('upstream_ended')).toMatchObject([{ reason: 'evicted' }])
    runtime.advance(120)
    const after = await about(client, first.headers)
    expect(after.pid).not.toBe(before.pid)
    expect(after.clientCapabilities).toEqual({ roots: {} })
    await client.post(callOf('add_tool'), first.headers)
    expect((await stream.next())?.message.method).toBe('notifications/tools/list_changed')
    await stream.cancel()
    const statuses = await Promise.all(
      [first, second, third].map(async ({ headers }) => (await client.send('DELETE', headers)).status),
    )
    expect(statuses).toEqual([200, 200, 200])
    await expect.poll(fixture.processes).toEqual([])
  })

  it('end the process of a client that has stopped listening after five seconds, of one that never did after 30, of one that listens after 120', async () => {
    const fixture = open([], { maxPerUser: 3, startTimeoutSeconds: 1 })
    const client = fixture.client()
    const opening = { jsonrpc: '2.0', id: 0, method: 'initialize', params: initializing({ roots: {} }) }
    const sessions = [await client.open({ roots: {} }), await client.open({ roots: {} })]
    const left = await client.open({ roots: {} })
    const [quiet, listening] = await Promise.all(sessions.map(({ headers }) => about(client, headers)))
    const stream = readMessages(await client.send('GET', sessions[1]?.headers))
    await readMessages(await client.send('GET', left.headers)).cancel()
    const back = readMessages(await client.send('GET', left.headers))
    runtime.advance(5)
    expect((await client.post(opening)).status).toBe(503)
    await back.cancel()
    runtime.advance(4)
    expect((await client.post(opening)).status).toBe(503)
    runtime.advance(1)
    await client.open({ roots: {} })
    await expect.poll(() => fixture.reported('upstream_ended')).toMatchObject([{ reason: 'evicted' }])
    const found = await Promise.all(sessions.map(({ headers }) => about(client, headers)))
    expect(found.map(({ pid }) => pid)).toEqual([quiet?.pid, listening?.pid])
    runtime.advance(29)
    expect((await client.post(opening)).status).toBe(503)
    runtime.advance(1)
    const last = await client.open({ roots: {} })
    await about(client, last.headers)
    await expect.poll(() => fixture.reported('upstream_ended')).toHaveLength(2)
    expect((await about(client, sessions[1]?.headers)).pid).toBe(listening?.pid)
    runtime.advance(120)
    expect((await about(client, left.headers)).clientCapabilities).toEqual({ roots: {} })
    await stream.cancel()
  })

  it('end the process of a client that never came back after initialize, after five seconds', async () => {
    const fixture = open([], { maxPerUser: 1, startTimeoutSeconds: 1 })
    const client = fixture.client()
    const opening = { jsonrpc: '2.0', id: 0, method: 'initialize', params: initializing({ roots: {} }) }
    expect((await client.post(opening)).status).toBe(200)
    // The process is let go of after the response.
    await setImmediate()
    runtime.advance(4)
    expect((await client.post(opening)).status).toBe(503)
    runtime.advance(1)
    const { headers } = await client.open({ roots: {} })
    runtime.advance(119)
    expect((await client.post(opening)).status).toBe(503)
    expect((await client.send('DELETE', headers)).status).toBe(200)
  })

  it('have clients that come together wait for the start of the others', async () => {
    const fixture = open([], { ...smallServer, maxPerUser: 8, maxProcesses: 8 })
    const client = fixture.client()
    const sessions = await Promise.all([...Array(8).keys()].map(() => client.open({ elicitation: {} })))
    const pids = await Promise.all(sessions.map(async ({ headers }) => (await about(client, headers)).pid))
    expect(new Set(pids).size).toBe(8)
    expect(fixture.reported('upstream_full')).toEqual([])
  })

  it('refuse a client when nothing has become free within the time of a start', async () => {
    const fixture = open([], { maxProcesses: 1, startTimeoutSeconds: 1 })
    const busy = fixture.client()
    const { headers } = await busy.open({ roots: {} })
    const call = await busy.post(hang, headers)
    runtime.advance(1000)
    const refused = await fixture.client(callerOf('bob')).post({ ...hang, id: 'refused' })
    expect(refused.status).toBe(503)
    expect(await refused.json()).toMatchObject({
      id: 'refused',
      error: { code: -32_603, message: expect.stringMatching(/try again\.$/) },
    })
    expect(fixture.reported('tool_called')).toMatchObject([{ outcome: 'failed' }])
    await call.body?.cancel()
  })

  it('hold for people together too', async () => {
    const fixture = open(['--ignore', 'eof'], { maxProcesses: 2 })
    const people = ['a', 'b', 'c', 'd'].map((name) => fixture.client(callerOf(name)))
    let most = 0
    const watching = setInterval(() => (most = Math.max(most, fixture.processes().length)), 50)
    for (const client of people) {
      await about(client)
      runtime.advance(120)
    }
    clearInterval(watching)
    expect(most).toBeLessThanOrEqual(2)
    await expect
      .poll(() => fixture.reported('upstream_ended').filter(({ reason }) => reason === 'evicted'))
      .toHaveLength(2)
  }, 60_000)

  const startAndEnd = async (client: CommandClient): Promise<number> => {
    const opening = { jsonrpc: '2.0', id: 0, method: 'initialize', params: initializing({ roots: {} }) }
    const response = await client.post(opening)
    const id = response.headers.get('mcp-session-id')
    if (id !== null) await client.send('DELETE', { 'mcp-session-id': id })
    return response.status
  }

  it('hold for how often one person has processes started, and leave a process that was to be replaced', async () => {
    const env = { TOKEN: [{ user: 'provider_token' }] } as const
    const fixture = open([], { ...smallServer, maxPerUser: 100, maxProcesses: 100, env })
    const clientWith = (token: string): CommandClient =>
      fixture.client(callerOf('ada', { providerToken: () => token }))
    const client = clientWith('one')
    const { headers } = await client.open()
    await client.call('die')
    while ((await startAndEnd(client)) === 200);
    expect(fixture.reported('upstream_started')).toHaveLength(30)
    expect((await client.post(callOf('about'), headers)).status).toBe(503)
    expect(await about(fixture.client(callerOf('bob')))).toMatchObject({ pid: expect.any(Number) })
    runtime.advance(2)
    const { pid } = await about(client, headers)
    expect((await clientWith('two').post(callOf('about'), headers)).status).toBe(503)
    expect((await about(client, headers)).pid).toBe(pid)
    expect(fixture.reported('upstream_started')).toHaveLength(32)
  }, 60_000)
})

it.skipIf(process.getuid?.() !== 0 || process.platform !== 'linux')(
  'processes of one time run as different users of the operating system, where there are several',
  async () => {
    const fixture = open([], { ...smallServer, user: { firstUid: 20_000, lastUid: 20_007, gid: 20_000 } })
    const uidOf = async (name: string): Promise<string | undefined> => {
      const { pid } = await about(fixture.client(callerOf(name)))
      return /^Uid:\t(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]
    }
    expect([await uidOf('ada'), await uidOf('bob')]).toEqual(['20000', '20001'])
  },
)

describe('an idle process', () => {
  it('ends, whether or not a stream is open, and not while a call is', async () => {
    const fixture = open([], { idleSeconds: 1 })
    const client = fixture.client()
    const { headers } = await client.open()
    const stream = readMessages(await client.send('GET', headers))
    const slow = client.call('echo', { value: 'slow', ms: 1500 })
    const busy = await client.post(hang, headers)
    await slow
    await new Promise((resolve) => setTimeout(resolve, 1500))
    expect(fixture.processes()).toHaveLength(1)
    await client.post(
      { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 'hang' } },
      headers,
    )
    await expect.poll(fixture.processes).toHaveLength(0)
    await expect.poll(() => fixture.reported('upstream_ended')).toMatchObject([{ reason: 'idle' }])
    await busy.body?.cancel()
    // Its session goes on with another.
    await client.post(callOf('add_tool'), headers)
    expect((await stream.next())?.message.method).toBe('notifications/tools/list_changed')
    await stream.cancel()
    expect(await client.call('echo', { value: 1 })).toMatchObject({ result: {} })
  })
})

it('a process whose client has used an id twice still becomes idle', async () => {
  const fixture = open([], { idleSeconds: 1 })
  const client = fixture.client()
  const { headers } = await client.open()
  const both = [await client.post(hang, headers), await client.post(hang, headers)]
  const cancelled = { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 'hang' } }
  await client.post(cancelled, headers)
  for (const each of both) await each.body?.cancel()
  await expect.poll(fixture.processes, { timeout: 10_000 }).toEqual([])
})

describe("the provider's token", () => {
  const env = { TOKEN: [{ user: 'provider_token' }] } as const
  const withToken = (token: string, more: Partial<SignedInCaller> = {}): SignedInCaller =>
    callerOf('ada', { providerToken: () => token, ...more })

  it('ends an idle process with the next call when it has changed', async () => {
    const fixture = open([], { env })
    const [before, after] = [fixture.client(withToken('one')), fixture.client(withToken('two'))]
    const { headers } = await before.open()
    expect((await about(before)).env['TOKEN']).toBe('one')
    expect((await about(after, headers)).env['TOKEN']).toBe('two')
    expect((await about(after)).env['TOKEN']).toBe('two')
    await expect.poll(fixture.processes).toHaveLength(1)
    await expect.poll(() => fixture.reported('upstream_ended')).toMatchObject([{ reason: 'replaced' }])
  })

  it('that has changed while a process starts is not served by that process', async () => {
    const fixture = open([], { ...smallServer, env })
    const former = about(fixture.client(withToken('one')))
    expect((await about(fixture.client(withToken('two')))).env['TOKEN']).toBe('two')
    await former
  })

  it('leaves the calls that are open to the process with the former one', async () => {
    const fixture = open([], { env })
    const [before, after] = [fixture.client(withToken('one')), fixture.client(withToken('two'))]
    const { headers } = await before.open({ elicitation: {} })
    const asking = { ...hang, params: { name: 'ask', arguments: {} } }
    const stream = readMessages(await before.post(asking, headers))
    const question = (await stream.next())?.message
    const slow = before.call('echo', { value: 'slow', ms: 1000 })
    await expect.poll(() => fixture.processes().length).toBe(2)
    expect((await about(after)).env['TOKEN']).toBe('two')
    expect((await about(after, headers)).env['TOKEN']).toBe('two')
    await after.post({ jsonrpc: '2.0', id: question?.id, result: { action: 'decline' } }, headers)
    expect(JSON.stringify((await stream.next())?.message)).toContain('decline')
    expect(await slow).toMatchObject({ result: {} })
    await expect.poll(fixture.processes).toHaveLength(2)
  })

  it('keeps the grants of a person apart, which share a process otherwise', async () => {
    for (const [given, processes] of [
      [env, 2],
      [{}, 1],
    ] as const) {
      const fixture = open([], { ...smallServer, env: given })
      const clients = ['one', 'two'].map((name) => fixture.client(withToken(name, { grantId: name })))
      const pids = async (): Promise<number[]> => {
        const found = []
        for (const client of clients) found.push((await about(client)).pid)
        return found
      }
      const before = await pids()
      expect(new Set(before).size).toBe(processes)
      expect(await pids()).toEqual(before)
    }
  })

  it('refuses the call when there is none', async () => {
    const fixture = open([], { env })
    const providerToken = (): string => {
      throw new Error('The session is gone.')
    }
    const response = await fixture.client(callerOf('ada', { providerToken })).post(hang)
    expect(response.status).toBe(502)
    expect(await response.json()).toMatchObject({
      id: 'hang',
      error: { message: expect.stringMatching(/sign in again\.$/) },
    })
    expect(fixture.processes()).toEqual([])
  })

  it('is masked in what a process writes to its error output', async () => {
    const fixture = open([], { env })
    await fixture.client(withToken('abc.def')).call('write', { value: 'token abc.def!\n' })
    await expect.poll(() => fixture.reported('upstream_stderr')).toMatchObject([{ line: 'token ***!' }])
  })
})

describe('a process that dies', () => {
  it('ends every open call with an error at once, and the next call starts another', async () => {
    const fixture = open()
    const client = fixture.client()
    const { headers } = await client.open()
    const hanging = await Promise.all([
      client.post(hang, headers),
      client.post({ ...hang, id: 2, params: { name: 'hang', _meta: { progressToken: 1 } } }),
    ])
    const waiting = client.call('hang', {}, 3)
    await expect.poll(async () => JSON.stringify(await client.call('cancelled'))).toContain('\\"open\\":4')
    const begun = performance.now()
    const died = client.call('die', {}, 4)
    const answers = [
      ...(await Promise.all(hanging.map((each) => responseOf(each)))),
      await waiting,
      await died,
    ]
    expect(performance.now() - begun).toBeLessThan(underLoad(500))
    expect(answers.map(({ id }) => id)).toEqual(['hang', 2, 3, 4])
    for (const { error } of answers) expect(error?.message).toMatch(/ended during the call.*try again\.$/)
    expect(await responseOf(await client.post(callOf('echo'), headers))).toMatchObject({ result: {} })
    expect(await client.call('echo', { value: 1 })).toMatchObject({ result: {} })
    await expect
      .poll(() => fixture.reported('upstream_ended'))
      .toMatchObject([{ reason: 'exited', code: 3, signal: null }])
  })

  it('is followed by one that logs from the same level on', async () => {
    const client = open(['--era', 'legacy']).client()
    const { headers } = await client.open()
    const setLevel = { jsonrpc: '2.0', id: 1, method: 'logging/setLevel', params: { level: 'error' } }
    await responseOf(await client.post(setLevel, headers))
    await client.call('die')
    expect(await about(client, headers)).toMatchObject({ logLevel: 'error' })
  })

  it('still gives the answers that it has written', async () => {
    expect(await open().client().call('answer_and_die')).toMatchObject({
      result: { content: [{ text: 'last words' }] },
    })
  })

  it.each(['start', 'initialize'])('at %s is an error that names the next step', async (phase) => {
    const fixture = open(['--era', 'legacy', '--die', phase])
    const response = await fixture.client().post(hang)
    expect(response.status).toBe(502)
    expect(await response.json()).toMatchObject({
      id: 'hang',
      error: { code: -32_603, message: expect.stringMatching(/tell the operator\.$/) },
    })
    expect(fixture.reported('upstream_not_started')).toMatchObject([
      { next_step: expect.stringContaining('error output') },
    ])
  })

  it('that is no program says so, and a slow one names its time limit', async () => {
    const missing = open([], { command: 'no-such-program' })
    const slow = open(['--silent', 'all'], { firstStartTimeoutSeconds: 1 })
    for (const [fixture, status, step] of [
      [missing, 502, 'Correct the command'],
      [slow, 504, 'raise start_timeout'],
    ] as const) {
      const response = await fixture.client().post(hang)
      expect([response.status, await response.json()]).toMatchObject([status, { id: 'hang' }])
      expect(fixture.reported('upstream_not_started')).toMatchObject([
        { next_step: expect.stringContaining(step) },
      ])
      await expect.poll(fixture.processes).toEqual([])
    }
  })

  it('at server/discover gets initialize alone, as the next ones do', async () => {
    const fixture = open(['--era', 'legacy', '--die', 'discover'])
    await about(fixture.client())
    await about(fixture.client(callerOf('bob')))
    await expect.poll(() => fixture.reported('upstream_ended')).toHaveLength(1)
    expect(fixture.reported('upstream_not_started')).toEqual([])
  })

  it('right after it was initialized fails the call', async () => {
    const answer = await open(['--era', 'legacy', '--die', 'initialized']).client().call('echo', { value: 1 })
    expect(answer.error?.message).toMatch(/\.$/)
  })

  it('three times within a minute is not started again for the rest of it', async () => {
    const fixture = open()
    const client = fixture.client()
    await client.call('write', { value: 'why it dies\n' })
    for (let death = 0; death < 3; death += 1) {
      await client.call('die')
      runtime.advance(10)
    }
    const refused = await client.post(callOf('about'))
    expect(refused.status).toBe(503)
    expect(refused.headers.get('retry-after')).toBe('30')
    expect(await refused.text()).not.toContain('why')
    expect(fixture.reported('upstream_broken')).toHaveLength(1)
    expect(fixture.reported('upstream_started')).toHaveLength(3)
    // Others have nothing to do with it.
    expect(await fixture.client(callerOf('bob')).call('echo', { value: 1 })).toMatchObject({ result: {} })
    runtime.advance(30)
    expect(await client.call('echo', { value: 1 })).toMatchObject({ result: {} })
  })

  it('is refused to the one whose calls end it, and started again for the others', async () => {
    const fixture = open([], { process: 'shared' })
    const [ada, bob] = [fixture.client(), fixture.client(callerOf('bob'))]
    for (let death = 0; death < 3; death += 1) {
      await ada.call('die')
      expect(await bob.call('echo', { value: 1 })).toMatchObject({ result: {} })
    }
    const refused = await ada.post(callOf('about'))
    expect(refused.status).toBe(503)
    expect(refused.headers.get('retry-after')).toBe('60')
    expect(await bob.call('echo', { value: 1 })).toMatchObject({ result: {} })
    expect(await fixture.client(anonymousCaller(fullAccess)).call('echo', { value: 1 })).toMatchObject({
      result: {},
    })
    runtime.advance(60)
    expect(await ada.call('echo', { value: 1 })).toMatchObject({ result: {} })
  })

  it('tells the operator why with the last of its error output', async () => {
    const fixture = open([], { command: '/bin/sh', args: ['-c', 'echo "no database" >&2; exit 1'] })
    for (let death = 0; death < 3; death += 1) await fixture.client().post(hang)
    expect(fixture.reported('upstream_broken')).toMatchObject([{ sub: 'ada', stderr: 'no database\n' }])
  })
})

describe('a process that does not start', () => {
  it('is served by initialize when it is silent on server/discover', async () => {
    const fixture = open(['--era', 'legacy', '--silent', 'discover'], { firstStartTimeoutSeconds: 2 })
    expect(await fixture.client().call('echo', { value: 1 })).toMatchObject({ result: {} })
  })
})

describe('close', () => {
  it('ends every process, and answers what is open', async () => {
    const fixture = open()
    const client = fixture.client()
    const call = client.call('hang')
    await expect.poll(fixture.processes).toHaveLength(1)
    await expect.poll(async () => JSON.stringify(await client.call('cancelled'))).toContain('\\"open\\":2')
    await fixture.close()
    expect((await call).error?.message).toMatch(/try again\.$/)
    expect(fixture.processes()).toEqual([])
    expect((await client.post(hang)).status).toBe(503)
  })

  it('ends one that is still starting', async () => {
    const fixture = open(['--silent', 'all'])
    const response = fixture.client().post(hang)
    await expect.poll(fixture.processes).toHaveLength(1)
    await fixture.close()
    expect(fixture.processes()).toEqual([])
    expect((await response).status).toBeGreaterThanOrEqual(502)
  })
})
