import { afterEach, describe, expect, it } from 'vitest'
import { message2026, readMessages, request } from '../../../tests/support/server/mcp/mcp-message.ts'
import {
  callerOf,
  type CommandClient,
  type CommandSession,
  createCommands,
} from '../../../tests/support/server/mcp/command-fixture.ts'

const callsOfEach = 3
const parallel = 20

const { open, end } = createCommands()
afterEach(async () => expect(await end()).toEqual([]))

/** Makes one call, and says what came back for it: the values in progress and result, and the id of the response. */
type Caller = (value: string, worker: number) => Promise<string[]>

async function heard(response: Response): Promise<string[]> {
  const messages = await readMessages(response).rest()
  return messages.map(({ message }) => {
    if (message.method !== undefined)
      return [message.method, message.params?.['progressToken'], message.params?.['message']].join(' ')
    return `${String(message.id)} ${JSON.stringify(message.result?.['content'])}`
  })
}

/** The same token in every call there is. */
const progressToken = 1
const expected = (id: unknown, value: string): string[] => [
  `notifications/progress ${progressToken} ${value}`,
  `notifications/progress ${progressToken} ${value}`,
  `${String(id)} ${JSON.stringify([{ type: 'text', text: value }])}`,
]

const paramsOf = (value: string): Record<string, unknown> => ({
  name: 'echo',
  arguments: { value, ms: 2 },
  _meta: { progressToken },
})

function callersOf(client: CommandClient, sessions: readonly CommandSession[], era: string): Caller[] {
  const earlier = [client, ...sessions].map(
    ({ post }): Caller =>
      // Within a session an id is used once at a time.
      async (value, worker) =>
        heard(await post(request('tools/call', paramsOf(value), worker))),
  )
  if (era === 'legacy') return earlier
  const of2026: Caller = async (value, worker) => {
    const { message, headers } = message2026('tools/call', paramsOf(value))
    return heard(await client.post({ ...(message as object), id: worker }, headers))
  }
  return [...earlier, of2026]
}

describe.each([
  ['legacy', 'user'],
  ['modern', 'user'],
  ['legacy', 'shared'],
  ['modern', 'shared'],
] as const)('a command of the %s era, "process": "%s"', (era, process) => {
  it('concurrent calls with equal ids and progress tokens are never mixed, and leave nothing open', async () => {
    const fixture = open(['--era', era], { process, maxPerUser: 4 })
    const people = ['ada', 'bob'].map((name) => ({ name, client: fixture.client(callerOf(name)) }))
    const mixed: unknown[] = []
    const counts: string[] = []
    let count = 0
    await Promise.all(
      people.map(async ({ name, client }) => {
        const sessions = await Promise.all([client.open(), client.open(), client.open({ roots: {} })])
        const callers = callersOf(client, sessions, era)
        await Promise.all(
          [...Array(parallel).keys()].map(async (worker) => {
            for (let index = 0; index < callsOfEach; index += 1) {
              const kind = (worker + index) % callers.length
              const value = `${name} ${worker} ${index}`
              const found = await callers[kind]?.(value, worker)
              count += 1
              if (JSON.stringify(found) !== JSON.stringify(expected(worker, value)))
                mixed.push([kind, value, found])
            }
          }),
        )
        for (const each of [client, ...sessions]) counts.push(JSON.stringify(await each.call('cancelled')))
      }),
    )
    expect(mixed).toEqual([])
    expect(count).toBe(2 * parallel * callsOfEach)
    expect(counts.filter((each) => !each.includes('{\\"cancelled\\":0,'))).toEqual([])
    if (process === 'user') expect(counts.filter((each) => !each.includes('\\"open\\":1}'))).toEqual([])
    expect(fixture.processes()).toHaveLength(process === 'user' ? 8 : 1)
  }, 120_000)
})

it('40 sessions, 16 of which are abandoned, leave no process behind', async () => {
  const fixture = open([], { idleSeconds: 1, maxProcesses: 20, maxPerUser: 4 })
  const people = [...Array(5).keys()].map((index) => fixture.client(callerOf(`person ${index}`)))
  const once = async (client: CommandClient, index: number): Promise<void> => {
    const session = await client.open(index % 11 === 0 ? { roots: {} } : {})
    const stream = await session.listen()
    const answer = session.post(request('tools/call', paramsOf('x')))
    if (index % 5 < 2) {
      // What is sent to a client that has vanished goes into the buffers of its connection.
      void answer.then((response) => response.text())
      return
    }
    expect(await heard(await answer)).toEqual(expected(1, 'x'))
    await stream.cancel()
    expect((await session.end()).status).toBe(200)
  }
  for (let round = 0; round < 8; round += 1)
    await Promise.all(people.map((client, index) => once(client, round * 5 + index)))
  expect(fixture.processes().length).toBeLessThanOrEqual(20)
  await expect.poll(fixture.processes).toEqual([])
  await expect.poll(() => fixture.endpoint.processCount()).toBe(0)
}, 120_000)
