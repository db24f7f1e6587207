import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { startRemote } from './remote.ts'
import type { Remote, RemoteOptions } from './remote.ts'

let remote: Remote | undefined
let clients: Client[]
beforeEach(() => {
  clients = []
})
afterEach(async () => {
  await Promise.all(clients.map((client) => client.close()))
  await remote?.close()
})

async function connect(
  options: RemoteOptions,
  mode: 'auto' | 'legacy' | { pin: string },
): Promise<{ remote: Remote; client: Client }> {
  remote = await startRemote(options)
  const client = new Client(
    { name: 'client', version: '1.0.0' },
    { versionNegotiation: { mode }, capabilities: { elicitation: { form: {} }, sampling: {}, roots: {} } },
  )
  client.setRequestHandler('elicitation/create', () => ({ action: 'accept', content: { name: 'Ada' } }))
  await client.connect(new StreamableHTTPClientTransport(new URL(remote.url)))
  clients.push(client)
  return { remote, client }
}

async function call(client: Client, name: string, args: Record<string, unknown> = {}): Promise<string> {
  const { content } = await client.callTool({ name, arguments: args })
  return content.map((block) => (block.type === 'text' ? block.text : '')).join('')
}

describe('the client of SDK v2', () => {
  it.each([
    { era: 'modern', mode: 'auto', spoken: 'modern' },
    { era: 'both', mode: 'auto', spoken: 'modern' },
    { era: 'both', mode: 'legacy', spoken: 'legacy' },
    { era: 'legacy', mode: 'auto', spoken: 'legacy' },
  ] as const)('negotiates $mode with $era: $spoken', async ({ era, mode, spoken }) => {
    const { client, remote } = await connect({ era }, mode)
    expect(client.getProtocolEra()).toBe(spoken)
    expect((await client.listTools()).tools.map(({ name }) => name)).toContain('echo')
    expect(await call(client, 'echo', { text: 'hé' })).toBe('hé')
    expect(JSON.parse(await call(client, 'elicit'))).toEqual({ action: 'accept', content: { name: 'Ada' } })
    expect(remote.counters.calls).toMatchObject({ echo: 1, elicit: 1 })
    expect(remote.counters.sessionsOpened).toBe(spoken === 'legacy' ? 1 : 0)
  })

  it('cannot use a legacy revision with a modern server', async () => {
    await expect(connect({ era: 'modern' }, 'legacy')).rejects.toThrow()
  })

  it('sends arguments in headers, and drops a tool that wants a wrong one', async () => {
    const { client } = await connect({ era: 'modern', offendingTool: true }, 'auto')
    const names = (await client.listTools()).tools.map(({ name }) => name)
    expect(names).toContain('region')
    expect(names).not.toContain('offending')
    expect(JSON.parse(await call(client, 'region', { region: 'zürich', urgent: true }))).toEqual({
      region: 'zürich',
      urgent: true,
    })
  })

  it('gets progress, as SSE', async () => {
    const { client } = await connect({ era: 'modern', reply: 'sse' }, 'auto')
    const seen: number[] = []
    await client.callTool(
      { name: 'progress', arguments: { n: 3 } },
      { onprogress: ({ progress }) => void seen.push(progress) },
    )
    expect(seen).toEqual([1, 2, 3])
  })

  it('listens', async () => {
    const { client, remote } = await connect({ era: 'modern' }, 'auto')
    const seen: string[] = []
    client.setNotificationHandler('notifications/tools/list_changed', () => void seen.push('tools'))
    const subscription = await client.listen({ toolsListChanged: true })
    expect(remote.counters.streamsOpen).toBe(1)
    await call(client, 'change')
    await vi.waitFor(() => expect(seen).toEqual(['tools']))
    await subscription.close()
    await vi.waitFor(() => expect(remote.counters.streamsOpen).toBe(0))
  })

  it('cancels by hanging up', async () => {
    const { client, remote } = await connect({ era: 'modern' }, 'auto')
    const cancel = new AbortController()
    const slow = client.callTool({ name: 'slow', arguments: { ms: 60_000 } }, { signal: cancel.signal })
    await vi.waitFor(() => expect(remote.counters.calls['slow']).toBe(1))
    cancel.abort()
    await expect(slow).rejects.toThrow()
    await vi.waitFor(() => expect(remote.counters.cancelled).toHaveLength(1))
  })
})
