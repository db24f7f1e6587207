import { readFileSync } from 'node:fs'
import { afterAll, describe, expect, it } from 'vitest'
import { fullAccess } from '../../core/access/access-rules.ts'
import type { CommandUpstream } from '../../core/gateway/upstream.ts'
import { anonymousCaller, ServiceCallerError, type SignedInCaller } from '../../core/tokens/caller.ts'
import {
  initialize,
  notification,
  readMessages,
  request,
  toolCall,
} from '../../../tests/support/server/mcp/mcp-message.ts'
import {
  callerOf,
  type CommandClient,
  type CommandFixture,
  createCommands,
  responseOf,
  smallServer,
} from '../../../tests/support/server/mcp/command-fixture.ts'
import { callsSample } from '../../../tests/support/server/mcp/tool-fixture.ts'
import { underLoad } from '../../../tests/support/under-load.ts'
import { childEnvironment } from './process/child-environment.ts'

const { open, end } = createCommands()
afterAll(async () => expect(await end()).toEqual([]))

interface About {
  pid: number
  env: Record<string, string>
  argv: string[]
  clientCapabilities: unknown
}
async function about(client: Pick<CommandClient, 'call'>): Promise<About> {
  const answer = await client.call('about')
  if (!answer.result) throw new Error(JSON.stringify(answer))
  return answer.result['structuredContent'] as About
}
const hang = toolCall('hang', {}, 'hang')

// Much of it waits, so the tests do it at the same time.
describe.concurrent('a process', () => {
  it('a process is started once for each person, with the first call', async ({ expect }) => {
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

  it('a process gets only the declared variables of the environment, and no fact about a person in its arguments', async ({
    expect,
  }) => {
    const env = {
      WHO: ['user ', { user: 'id' }],
      MAIL: [{ user: 'email' }],
      NAME: [{ user: 'name' }],
      TOKEN: [{ user: 'provider_token' }],
      WORKSPACE: [{ user: 'workspace' }],
      NONE: ['a', { user: 'workspace' }],
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
        `PATH=${childEnvironment({ env: {}, user: undefined }, process.env).values['PATH']}`,
        'LANG=C.UTF-8',
        'WHO=user ada',
        'MAIL=a@b',
        'NAME=AB',
        'TOKEN=provider-token',
        'WORKSPACE=',
        'NONE=a',
        'PLAIN=a',
      ].sort(),
    )
    expect(readFileSync(`/proc/${pid}/cmdline`, 'utf8')).not.toMatch(/\bada\b|a@b|provider-token/)
  })

  it('a process is shared by all people when the file says so', async ({ expect }) => {
    const fixture = open(['--era', 'legacy'], { process: 'shared' })
    const [ada, bob] = [fixture.client(), fixture.client(callerOf('bob'))]
    const pids = [await about(ada), await about(bob)].map(({ pid }) => pid)
    expect(new Set(pids).size).toBe(1)
    expect(fixture.reported('upstream_started')).toMatchObject([{ sub: undefined }])
    const { headers } = await ada.open({ elicitation: {} })
    expect(fixture.processes()).toHaveLength(1)
    expect(JSON.stringify(await bob.call('ask'))).toContain('serves no session that can be asked')
    // To each other the sessions are unknown.
    expect((await bob.post(hang, headers)).status).toBe(404)
  })

  it('a process of a session gets exactly the capabilities that the client has declared, and ends with the session', async ({
    expect,
  }) => {
    const fixture = open(['--era', 'legacy'])
    const client = fixture.client()
    const declared = { roots: { listChanged: true }, experimental: { x: {} } }
    const first = await client.open(declared)
    const second = await client.open({ sampling: {} })
    const abouts = await Promise.all([about(first), about(second), about(client)])
    expect(abouts.map((each) => each.clientCapabilities)).toEqual([declared, { sampling: {} }, {}])
    expect(fixture.processes()).toHaveLength(3)
    await Promise.all([first.end(), second.end()])
    await expect.poll(fixture.processes).toHaveLength(1)
    await expect
      .poll(() => fixture.reported('upstream_ended').map(({ reason }) => reason))
      .toEqual(['session_over', 'session_over'])
  })
})

describe.concurrent('the limits of processes', () => {
  it('the limits of processes end a process that has been idle for 30 seconds, and its session goes on with another', async ({
    expect,
  }) => {
    const fixture = open([], { maxPerUser: 2, startTimeoutSeconds: 3 })
    const client = fixture.client()
    const first = await client.open({ roots: {} })
    const stream = await first.listen()
    const second = await client.open({ roots: {} })
    const before = await about(first)
    const kept = await about(second)
    fixture.runtime.advance(29)
    await about(second)
    const refused = await client.post(initialize({ roots: {} }))
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, '5'])
    expect(fixture.reported('upstream_full')).toHaveLength(1)
    fixture.runtime.advance(1)
    const third = await client.open({ roots: {} })
    expect(fixture.processes()).toHaveLength(2)
    await expect.poll(() => fixture.reported('upstream_ended')).toMatchObject([{ reason: 'evicted' }])
    expect((await about(second)).pid).toBe(kept.pid)
    expect((await third.end()).status).toBe(200)
    const after = await about(first)
    expect(after.pid).not.toBe(before.pid)
    expect(after.clientCapabilities).toEqual({ roots: {} })
    await first.call('add_tool')
    expect((await stream.next())?.message.method).toBe('notifications/tools/list_changed')
    await stream.cancel()
    const ends = await Promise.all([first, second].map((session) => session.end()))
    expect(ends.map(({ status }) => status)).toEqual([200, 200])
    await expect.poll(fixture.processes).toEqual([])
  })

  it('the limits of processes end the process that has been idle for the longest', async ({ expect }) => {
    const fixture = open([], { maxPerUser: 2 })
    const client = fixture.client()
    const first = await client.open({ roots: {} })
    const second = await client.open({ roots: {} })
    await about(second)
    fixture.runtime.advance(10)
    const kept = await about(first)
    fixture.runtime.advance(120)
    await client.open({ roots: {} })
    await expect.poll(() => fixture.reported('upstream_ended')).toMatchObject([{ reason: 'evicted' }])
    expect((await about(first)).pid).toBe(kept.pid)
  })

  it('the limits of processes let clients that arrive together wait for the starts of the others', async ({
    expect,
  }) => {
    const fixture = open([], { ...smallServer, maxPerUser: 8, maxProcesses: 8 })
    const client = fixture.client()
    const sessions = await Promise.all([...Array(8).keys()].map(() => client.open({ elicitation: {} })))
    const pids = await Promise.all(sessions.map(async (session) => (await about(session)).pid))
    expect(new Set(pids).size).toBe(8)
    expect(fixture.reported('upstream_full')).toEqual([])
  })

  it.each<[limit: string, limits: Partial<CommandUpstream>]>([
    ['max_per_user', { maxPerUser: 2 }],
    ['max_processes', { maxProcesses: 2 }],
  ])(
    'the limits of processes start no more than %s for clients that arrive together',
    async (_limit, limits) => {
      const fixture = open([], { ...smallServer, startTimeoutSeconds: 1, ...limits })
      const opened = [1, 2, 3].map(() => fixture.client().post(initialize({ roots: {} })))
      const statuses = (await Promise.all(opened)).map(({ status }) => status)
      expect(statuses.toSorted((one, other) => one - other)).toEqual([200, 200, 503])
      expect(fixture.reported('upstream_started')).toHaveLength(2)
    },
  )

  it('the limits of processes refuse a client if no process becomes free within start_timeout', async ({
    expect,
  }) => {
    const fixture = open([], { maxProcesses: 1, startTimeoutSeconds: 1 })
    const busy = fixture.client()
    const call = await (await busy.open({ roots: {} })).post(hang)
    fixture.runtime.advance(1000)
    const refused = await fixture.client(callerOf('bob')).post({ ...hang, id: 'refused' })
    expect(refused.status).toBe(503)
    expect(await refused.json()).toMatchObject({
      id: 'refused',
      error: { code: -32_603, message: expect.stringMatching(/try again\.$/) },
    })
    expect(fixture.reported('tool_called')).toMatchObject([{ outcome: 'failed' }])
    await call.body?.cancel()
  })

  it('the limits of processes apply to all people together, too', async ({ expect }) => {
    const fixture = open(['--ignore', 'eof'], { maxProcesses: 2 })
    const people = ['a', 'b', 'c'].map((name) => fixture.client(callerOf(name)))
    let most = 0
    const watching = setInterval(() => (most = Math.max(most, fixture.processes().length)), 50)
    for (const client of people) {
      await about(client)
      fixture.runtime.advance(120)
    }
    clearInterval(watching)
    expect(most).toBeLessThanOrEqual(2)
    await expect
      .poll(() => fixture.reported('upstream_ended').filter(({ reason }) => reason === 'evicted'))
      .toHaveLength(1)
  }, 60_000)

  const startAndEnd = async (client: CommandClient): Promise<number> => {
    const response = await client.post(initialize({ roots: {} }))
    const id = response.headers.get('mcp-session-id')
    if (id !== null) await client.send('DELETE', { 'mcp-session-id': id })
    return response.status
  }

  it('the limits of processes apply to how often one person starts processes, and leave a process that was to be replaced', async ({
    expect,
  }) => {
    const env = { TOKEN: [{ user: 'provider_token' }] } as const
    const fixture = open([], { ...smallServer, maxPerUser: 100, maxProcesses: 100, env })
    const clientWith = (token: string): CommandClient =>
      fixture.client(callerOf('ada', { providerToken: () => token }))
    const client = clientWith('one')
    const session = await client.open()
    await session.call('die')
    while ((await startAndEnd(client)) === 200);
    expect(fixture.reported('upstream_started')).toHaveLength(30)
    expect((await session.post(toolCall('about'))).status).toBe(503)
    expect(await about(fixture.client(callerOf('bob')))).toMatchObject({ pid: expect.any(Number) })
    fixture.runtime.advance(2)
    const { pid } = await about(session)
    expect((await clientWith('two').post(toolCall('about'), session.headers)).status).toBe(503)
    expect((await about(session)).pid).toBe(pid)
    expect(fixture.reported('upstream_started')).toHaveLength(32)
  }, 60_000)
})

it.skipIf(process.getuid?.() !== 0 || process.platform !== 'linux')(
  'processes that run at the same time run as different users of the operating system, if there are several',
  async () => {
    const fixture = open([], { ...smallServer, user: { firstUid: 20_000, lastUid: 20_007, gid: 20_000 } })
    const uidOf = async (name: string): Promise<string | undefined> => {
      const { pid } = await about(fixture.client(callerOf(name)))
      return /^Uid:\t(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]
    }
    expect([await uidOf('ada'), await uidOf('bob')]).toEqual(['20000', '20001'])
  },
)

it.concurrent('an idle process ends although a stream is open, but not during a call', async ({ expect }) => {
  const fixture = open([], { idleSeconds: 1 })
  const client = fixture.client()
  const session = await client.open()
  const stream = await session.listen()
  const slow = client.call('echo', { value: 'slow', ms: 300 })
  const busy = await session.post(hang)
  await slow
  await new Promise((resolve) => setTimeout(resolve, 1500))
  expect(fixture.processes()).toHaveLength(1)
  await session.post(notification('notifications/cancelled', { requestId: 'hang' }))
  await expect.poll(fixture.processes).toHaveLength(0)
  await expect
    .poll(() => fixture.reported('upstream_ended'))
    .toMatchObject([{ reason: 'idle' }, { reason: 'idle' }])
  await busy.body?.cancel()
  // Its session goes on with another.
  await session.call('add_tool')
  expect((await stream.next())?.message.method).toBe('notifications/tools/list_changed')
  await stream.cancel()
})

it.concurrent.for(['legacy', 'modern'])(
  'a process of %s whose client has used an id twice still becomes idle',
  async (era, { expect }) => {
    const fixture = open(['--era', era], { idleSeconds: 1 })
    const session = await fixture.client().open()
    const both = [await session.post(hang), await session.post(hang)]
    await expect.poll(async () => JSON.stringify(await session.call('cancelled'))).toContain('\\"open\\":2')
    await session.post(notification('notifications/cancelled', { requestId: 'hang' }))
    for (const each of both) await each.body?.cancel()
    await expect.poll(fixture.processes, { timeout: 10_000 }).toEqual([])
  },
)

describe.concurrent("the provider's token", () => {
  const env = { TOKEN: [{ user: 'provider_token' }] } as const
  const withToken = (token: string, more: Partial<SignedInCaller> = {}): SignedInCaller =>
    callerOf('ada', { providerToken: () => token, ...more })

  it('a service, which has none, is refused with a text that says so, and starts no process', async ({
    expect,
  }) => {
    const fixture = open([], { env })
    const service = withToken('', {
      credential: 'service',
      providerToken() {
        throw new ServiceCallerError()
      },
    })
    const response = await fixture.client(service).post(toolCall('about'))
    expect(await response.text()).toMatch(/service/)
    expect(fixture.reported('upstream_started')).toEqual([])
    expect((await about(fixture.client(withToken('one')))).env['TOKEN']).toBe('one')
  })

  it('a new token of the provider ends an idle process with the next call', async ({ expect }) => {
    const fixture = open([], { env })
    const [before, after] = [fixture.client(withToken('one')), fixture.client(withToken('two'))]
    expect((await about(before)).env['TOKEN']).toBe('one')
    expect((await about(after)).env['TOKEN']).toBe('two')
    await expect.poll(fixture.processes).toHaveLength(1)
    await expect.poll(() => fixture.reported('upstream_ended')).toMatchObject([{ reason: 'replaced' }])
  })

  it('a token of the provider that changes while a process starts is served by another one', async ({
    expect,
  }) => {
    const fixture = open([], { ...smallServer, env })
    const former = about(fixture.client(withToken('one')))
    expect((await about(fixture.client(withToken('two')))).env['TOKEN']).toBe('two')
    await former
  })

  it('a new token of the provider leaves open calls to the process that has the former one', async ({
    expect,
  }) => {
    const fixture = open([], { env })
    const [before, after] = [fixture.client(withToken('one')), fixture.client(withToken('two'))]
    const { headers, post } = await before.open({ elicitation: {} })
    const stream = readMessages(await post(toolCall('ask')))
    const question = (await stream.next())?.message
    const slow = before.call('echo', { value: 'slow', ms: 1000 })
    await expect.poll(() => fixture.processes().length).toBe(2)
    expect((await about(after)).env['TOKEN']).toBe('two')
    const inSession = await responseOf(await after.post(toolCall('about', {}, 2), headers))
    expect(inSession).toMatchObject({ result: { structuredContent: { env: { TOKEN: 'two' } } } })
    await after.post({ jsonrpc: '2.0', id: question?.id, result: { action: 'decline' } }, headers)
    expect(JSON.stringify((await stream.next())?.message)).toContain('decline')
    expect(await slow).toMatchObject({ result: {} })
    await expect.poll(fixture.processes).toHaveLength(2)
  })

  it('a new token of later calls keeps its process when the process of the former token dies', async ({
    expect,
  }) => {
    const fixture = open([], { env })
    const [before, after] = [fixture.client(withToken('one')), fixture.client(withToken('two'))]
    const former = await about(before)
    const last = before.call('hang')
    await expect.poll(async () => JSON.stringify(await before.call('cancelled'))).toContain('\\"open\\":2')
    const { pid } = await about(after)
    process.kill(former.pid, 'SIGKILL')
    expect(await last).toMatchObject({ error: { code: -32_603 } })
    expect((await about(after)).pid).toBe(pid)
  })

  it('a token of the provider gives each grant of a person a process, which share one otherwise', async ({
    expect,
  }) => {
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

  it.for<[what: string, providerToken: () => string]>([
    [
      'its session does not open',
      () => {
        throw new Error('The session is gone.')
      },
    ],
    ['the web app gave none', () => ''],
  ])(
    'a call fails if the process needs a token of the provider and %s',
    async ([, providerToken], { expect }) => {
      const fixture = open([], { env })
      const response = await fixture.client(callerOf('ada', { providerToken })).post(hang)
      expect(response.status).toBe(502)
      expect(await response.json()).toMatchObject({
        id: 'hang',
        error: { message: expect.stringMatching(/sign in again\.$/) },
      })
      expect(fixture.processes()).toEqual([])
    },
  )

  it('a token of the provider that a call lacked keeps no later process from ending when it is idle', async ({
    expect,
  }) => {
    const fixture = open([], { env, idleSeconds: 0.1 })
    const providerToken = (): string => {
      throw new Error('The session is gone.')
    }
    expect((await fixture.client(callerOf('ada', { providerToken })).post(hang)).status).toBe(502)
    await about(fixture.client(withToken('one')))
    await expect.poll(() => fixture.reported('upstream_ended')).toMatchObject([{ reason: 'idle' }])
  })

  it('a token of the provider is masked in the error output of a process, and in output that is skipped', async ({
    expect,
  }) => {
    const fixture = open([], { env })
    const client = fixture.client(withToken('abc.def'))
    await client.call('write', { value: 'token abc.def!\n' })
    await client.call('write', { to: 'stdout', value: 'token abc.def!\n' })
    for (const event of ['upstream_stderr', 'upstream_output_skipped'])
      await expect.poll(() => fixture.reported(event)).toMatchObject([{ line: 'token ***!' }])
  })
})

describe.concurrent('a process that dies', () => {
  it('a process that dies fails every open call at once, and the next call starts another', async ({
    expect,
  }) => {
    const fixture = open()
    const client = fixture.client()
    const hanging = [client.post(request('tools/call', { name: 'hang', _meta: { progressToken: 1 } }, 2))]
    const waiting = client.call('hang', {}, 3)
    await expect.poll(async () => JSON.stringify(await client.call('cancelled'))).toContain('\\"open\\":3')
    const begun = performance.now()
    const died = client.call('die', {}, 4)
    const answers = [
      ...(await Promise.all(hanging.map(async (each) => responseOf(await each)))),
      await waiting,
      await died,
    ]
    expect(performance.now() - begun).toBeLessThan(underLoad(500))
    expect(answers.map(({ id }) => id)).toEqual([2, 3, 4])
    for (const { error } of answers) expect(error?.message).toMatch(/ended during the call.*try again\.$/)
    expect(await client.call('echo')).toMatchObject({ result: {} })
    await expect
      .poll(() => fixture.reported('upstream_ended'))
      .toMatchObject([{ reason: 'exited', code: 3, signal: null }])
  })

  it('a process that dies during a session fails the calls of that session alone, and its next call starts another', async ({
    expect,
  }) => {
    const client = open().client()
    const [session, other] = [await client.open(), await client.open()]
    const [hanging, spared] = [await session.post(hang), other.call('echo', { value: 'spared', ms: 500 })]
    const without = client.call('echo', { value: 'without', ms: 500 })
    expect((await session.call('die', {}, 4)).error?.message).toMatch(/ended during the call/)
    expect((await responseOf(hanging)).error?.message).toMatch(/ended during the call/)
    for (const each of [spared, without, session.call('echo')])
      expect(await each).toMatchObject({ result: {} })
  })

  it('a process that dies is followed by one with the same log level', async ({ expect }) => {
    const session = await open(['--era', 'legacy']).client().open()
    await session.request('logging/setLevel', { level: 'error' })
    await session.call('die')
    expect(await about(session)).toMatchObject({ logLevel: 'error' })
  })

  it('a process that dies still delivers the answers that it has written', async ({ expect }) => {
    expect(await open().client().call('answer_and_die')).toMatchObject({
      result: { content: [{ text: 'last words' }] },
    })
  })

  it.for<[what: string, args: string[], more: Partial<CommandUpstream>, status: number, step: string]>([
    ['dies at its start', ['--die', 'start'], {}, 502, 'error output'],
    ['dies at initialize', ['--era', 'legacy', '--die', 'initialize'], {}, 502, 'error output'],
    ['is no program', [], { command: 'no-such-program' }, 502, 'Correct the command'],
    ['is too slow', ['--silent', 'all'], { firstStartTimeoutSeconds: 1 }, 504, 'raise start_timeout'],
  ])(
    'a process that does not start, because it %s, is an error with the next step',
    async ([, args, more, status, step], { expect }) => {
      const fixture = open(args, more)
      const response = await fixture.client().post(hang)
      const error = { code: -32_603, message: expect.stringMatching(/tell the operator\.$/) }
      expect([response.status, await response.json()]).toMatchObject([status, { id: 'hang', error }])
      const reported = [{ next_step: expect.stringContaining(step) }]
      expect(fixture.reported('upstream_not_started')).toMatchObject(reported)
      await expect.poll(fixture.processes).toEqual([])
    },
  )

  it('a process that dies at server/discover is started again with initialize, as the next ones are at once', async ({
    expect,
  }) => {
    const fixture = open(['--era', 'legacy', '--die', 'discover'])
    await about(fixture.client())
    await about(fixture.client(callerOf('bob')))
    await expect.poll(() => fixture.reported('upstream_ended')).toHaveLength(1)
    expect(fixture.reported('upstream_not_started')).toEqual([])
  })

  it('a process that dies three times within a minute is not started again for the rest of it, and its last error output is reported', async ({
    expect,
  }) => {
    const fixture = open()
    const client = fixture.client()
    for (let death = 0; death < 3; death += 1) {
      await client.call('write', { value: 'why it dies\n' })
      await client.call('die')
      fixture.runtime.advance(10)
    }
    const refused = await client.post(toolCall('about'))
    expect(refused.status).toBe(503)
    expect(refused.headers.get('retry-after')).toBe('30')
    expect(await refused.text()).not.toContain('why')
    expect(fixture.reported('upstream_broken')).toMatchObject([{ sub: 'ada', stderr: 'why it dies\n' }])
    expect(fixture.reported('upstream_started')).toHaveLength(3)
    // Others have nothing to do with it.
    expect(await fixture.client(callerOf('bob')).call('echo', { value: 1 })).toMatchObject({ result: {} })
    fixture.runtime.advance(30)
    expect(await client.call('echo', { value: 1 })).toMatchObject({ result: {} })
  })

  it('a process that dies is refused to the person whose calls end it, and started again for the others', async ({
    expect,
  }) => {
    const fixture = open([], { process: 'shared' })
    const [ada, bob] = [fixture.client(), fixture.client(callerOf('bob'))]
    for (let death = 0; death < 3; death += 1) {
      await ada.call('die')
      expect(await bob.call('echo', { value: 1 })).toMatchObject({ result: {} })
    }
    const refused = await ada.post(toolCall('about'))
    expect(refused.status).toBe(503)
    expect(refused.headers.get('retry-after')).toBe('60')
    expect(await bob.call('echo', { value: 1 })).toMatchObject({ result: {} })
    expect(await fixture.client(anonymousCaller(fullAccess)).call('echo', { value: 1 })).toMatchObject({
      result: {},
    })
    fixture.runtime.advance(60)
    expect(await ada.call('echo', { value: 1 })).toMatchObject({ result: {} })
  })

  it('a process that dies at each start is reported with the last of its error output', async ({
    expect,
  }) => {
    const fixture = open([], { command: '/bin/sh', args: ['-c', 'echo "no database" >&2; exit 1'] })
    for (let death = 0; death < 3; death += 1) await fixture.client().post(hang)
    expect(fixture.reported('upstream_broken')).toMatchObject([{ sub: 'ada', stderr: 'no database\n' }])
  })
})

it.concurrent('a process that is silent on server/discover gets initialize', async ({ expect }) => {
  const fixture = open(['--era', 'legacy', '--silent', 'discover'], { firstStartTimeoutSeconds: 2 })
  expect(await fixture.client().call('echo', { value: 1 })).toMatchObject({ result: {} })
})

describe.concurrent('the start on trial', () => {
  it('the start on trial learns how the process presents itself, and ends it', async ({ expect }) => {
    const fixture = open()
    expect(await fixture.endpoint.tryStart()).toMatchObject({ name: expect.any(String) })
    await expect.poll(fixture.processes).toEqual([])
    expect(fixture.reported('upstream_not_started')).toEqual([])
  })

  it('the start on trial reports why a process does not start', async ({ expect }) => {
    const fixture = open([], { command: '/bin/sh', args: ['-c', 'echo "no database" >&2; exit 1'] })
    expect(await fixture.endpoint.tryStart()).toBeUndefined()
    expect(fixture.reported('upstream_not_started')).toMatchObject([
      { sub: undefined, reason: 'The process exited with code 1 before it served.' },
    ])
  })

  it('the start on trial reports nothing when the server ends meanwhile', async ({ expect }) => {
    const fixture = open(['--silent', 'all'])
    const tried = fixture.endpoint.tryStart()
    await expect.poll(fixture.processes).toHaveLength(1)
    await fixture.close()
    expect(await tried).toBeUndefined()
    expect([fixture.reported('upstream_not_started'), fixture.processes()]).toEqual([[], []])
  })
})

describe.concurrent('a list of tools that this server reads for a caller', () => {
  const scopes = [['@writes', 'notes:write']] as const
  const policy = { allow: ['*'], deny: [], publicTools: new Set<string>(), scopes }
  const learn = async ({ endpoint }: CommandFixture, caller: SignedInCaller): Promise<void> => {
    const incoming = { caller, body: toolCall('about'), calls: callsSample(caller) }
    await endpoint.learn?.(new Request('http://localhost/mcp'), incoming)
  }

  it('a list of tools is read in a process of the session that the person has, if they may have just one', async ({
    expect,
  }) => {
    const fixture = open(['--reads', 'about'], { policy, maxPerUser: 1, startTimeoutSeconds: 1 })
    await fixture.client().open()
    await learn(fixture, callerOf('ada'))
    expect(['about', 'echo'].map((name) => fixture.endpoint.scopeOf(name))).toEqual([
      undefined,
      'notes:write',
    ])
    expect(fixture.processes()).toHaveLength(1)
  })

  it.each<[whose: string, caller: SignedInCaller]>([
    ['another person', callerOf('bob')],
    ['the same person in another workspace', callerOf('ada', { workspace: { id: 'legal', name: 'Legal' } })],
  ])('a list of tools is read in no process of %s', async (_whose, caller) => {
    const fixture = open(['--reads', 'about'], { policy })
    await fixture.client(caller).open()
    await about(fixture.client(caller))
    await learn(fixture, callerOf('ada'))
    expect(fixture.reported('upstream_started')).toHaveLength(3)
  })

  it('a tool counts as a write where the process does not start, or lists nothing', async ({ expect }) => {
    for (const args of [
      ['--die', 'start'],
      ['--lists', 'nothing'],
    ]) {
      const fixture = open([...args, '--reads', 'about'], { policy })
      await learn(fixture, callerOf('ada'))
      expect(fixture.endpoint.scopeOf('about')).toBe('notes:write')
    }
  })
})

describe.concurrent('close', () => {
  it('close ends every process, and answers open calls', async ({ expect }) => {
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

  it('close ends a process that is still starting', async ({ expect }) => {
    const fixture = open(['--silent', 'all'])
    const response = fixture.client().post(hang)
    await expect.poll(fixture.processes).toHaveLength(1)
    await fixture.close()
    expect(fixture.processes()).toEqual([])
    expect((await response).status).toBeGreaterThanOrEqual(502)
  })
})
