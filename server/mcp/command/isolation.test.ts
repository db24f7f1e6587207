import { afterEach, describe, expect, it } from 'vitest'
import { message2026, readMessages } from '../../../tests/support/server/mcp/mcp-message.ts'
import {
  callerOf,
  type CommandClient,
  createCommands,
} from '../../../tests/support/server/mcp/command-fixture.ts'

const callsOfEach = 4
const parallel = 50

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

async function callersOf(client: CommandClient): Promise<Caller[]> {
  const [one, two, own] = await Promise.all([client.open(), client.open(), client.open({ roots: {} })])
  const legacy =
    (headers: Record<string, string>): Caller =>
    // Within a session an id is used once at a time.
    async (value, worker) =>
      heard(
        await client.post(
          { jsonrpc: '2.0', id: worker, method: 'tools/call', params: paramsOf(value) },
          headers,
        ),
      )
  return [
    legacy({}),
    legacy(one.headers),
    legacy(two.headers),
    legacy(own.headers),
    async (value, worker) => {
      const { message, headers } = message2026('tools/call', paramsOf(value))
      return heard(await client.post({ ...(message as object), id: worker }, headers))
    },
  ]
}

describe.each([
  ['legacy', 'user'],
  ['modern', 'user'],
  ['legacy', 'shared'],
  ['modern', 'shared'],
] as const)('%s, process: %s', (era, process) => {
  it('never mixes calls with equal ids and progress tokens, and leaves nothing open', async () => {
    const fixture = open(['--era', era], { process })
    const people = ['ada', 'bob'].map((name) => ({ name, client: fixture.client(callerOf(name)) }))
    const mixed: unknown[] = []
    let count = 0
    await Promise.all(
      people.map(async ({ name, client }) => {
        const callers = await callersOf(client)
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
      }),
    )
    expect(mixed).toEqual([])
    expect(count).toBe(2 * parallel * callsOfEach)
    const left = await fixture.client().call('cancelled')
    expect(JSON.stringify(left)).toContain('{\\"cancelled\\":0,\\"open\\":1}')
  }, 120_000)
})

describe('100 sessions, of which 40 are never heard of again', () => {
  it('leave no processes', async () => {
    const fixture = open([], { idleSeconds: 1, maxProcesses: 20, maxPerUser: 4 })
    const people = [...Array(5).keys()].map((index) => fixture.client(callerOf(`person ${index}`)))
    const once = async (index: number): Promise<void> => {
      const client = people[index % people.length]
      const { headers } = (await client?.open(index % 11 === 0 ? { roots: {} } : {})) ?? { headers: {} }
      const stream = await client?.send('GET', headers)
      const call = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: paramsOf('x') }
      const answer = client?.post(call, headers)
      if (index % 5 < 2) {
        // What is sent to a client that has vanished goes into the buffers of its connection.
        void answer?.then((response) => response.text())
        return
      }
      expect(await heard((await answer) as Response)).toEqual(expected(1, 'x'))
      await stream?.body?.cancel()
      expect((await client?.send('DELETE', headers))?.status).toBe(200)
    }
    for (let index = 0; index < 100; index += 5)
      await Promise.all([0, 1, 2, 3, 4].map((more) => once(index + more)))
    expect(fixture.processes().length).toBeLessThanOrEqual(20)
    await expect.poll(fixture.processes).toEqual([])
    await expect.poll(() => fixture.endpoint.processCount()).toBe(0)
  }, 120_000)
})
