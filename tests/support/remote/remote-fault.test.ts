import { spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { afterEach, describe, expect, it } from 'vitest'
import { startRemote } from './remote.ts'
import type { Remote } from './remote.ts'

let remote: Remote | undefined
let child: ChildProcess | undefined
afterEach(async () => {
  await remote?.close()
  child?.kill()
})

function initialize(url: string, signal?: AbortSignal): Promise<Response> {
  const params = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'c', version: '1' } }
  return fetch(url, {
    method: 'POST',
    headers: { Accept: 'application/json, text/event-stream' },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'initialize', params }),
    signal: signal ?? null,
  })
}

describe('staged faults', () => {
  it.each([
    { fault: 'html', status: 200, type: 'text/html' },
    { fault: 'json', status: 200, type: 'application/json' },
    { fault: 500, status: 500, type: 'text/plain; charset=utf-8' },
    { fault: 429, status: 429, type: 'text/plain; charset=utf-8' },
  ] as const)('answers $fault, once', async ({ fault, status, type }) => {
    remote = await startRemote({ retryAfter: '7' })
    remote.failNext(fault)
    const struck = await initialize(remote.url)
    expect([struck.status, struck.headers.get('content-type')]).toEqual([status, type])
    expect(struck.headers.get('retry-after')).toBe(status === 429 ? '7' : null)
    expect((await initialize(remote.url)).headers.get('content-type')).toBe('application/json')
  })

  it.each(['reset', 'cut'] as const)('ends the connection: %s', async (fault) => {
    remote = await startRemote()
    remote.failNext(fault)
    await expect(initialize(remote.url).then((answer) => answer.text())).rejects.toThrow()
    expect((await initialize(remote.url)).status).toBe(200)
  })

  it('hangs for a method of choice', async () => {
    remote = await startRemote()
    remote.failNext('hang', 1, 'tools/list')
    expect((await initialize(remote.url)).status).toBe(200)
    remote.failNext('hang', 1, 'initialize')
    await expect(initialize(remote.url, AbortSignal.timeout(300))).rejects.toThrow()
  })

  it('delays every response', async () => {
    remote = await startRemote({ delayMs: 120 })
    const since = performance.now()
    await initialize(remote.url)
    expect(performance.now() - since).toBeGreaterThanOrEqual(115)
  })

  it('goes away and comes back on the same port', async () => {
    remote = await startRemote()
    const { url } = remote
    expect((await initialize(url)).status).toBe(200)
    await remote.stop()
    await expect(initialize(url)).rejects.toThrow()
    await remote.start()
    expect((await initialize(url)).status).toBe(200)
    expect(remote.counters.sessionsOpened).toBe(2)
    remote.resetCounters()
    expect(remote.counters).toMatchObject({ sessionsOpened: 0, sessionsOpen: 2, requests: {} })
  })
})

describe('in a process of its own', () => {
  it('is controlled over HTTP and ends with its stdin', async () => {
    const script = fileURLToPath(new URL('./remote-process.ts', import.meta.url))
    child = spawn(process.execPath, [script, '{"sessions":false}'], { stdio: ['pipe', 'pipe', 'inherit'] })
    const [line] = (await once(child.stdout as NodeJS.ReadableStream, 'data')) as [Buffer]
    const { url, control } = JSON.parse(line.toString()) as Record<'url' | 'control', string>
    const command = async (body: unknown): Promise<Record<string, Record<string, unknown>>> => {
      const answer = await fetch(control, { method: 'POST', body: JSON.stringify(body) })
      return (await answer.json()) as Record<string, Record<string, unknown>>
    }
    expect((await initialize(url)).status).toBe(200)
    const state = await command({ set: { auth: true }, do: ['issueTokens', { scope: 'mcp x' }] })
    expect(state).toMatchObject({ result: { scope: 'mcp x' }, counters: { requests: { 'POST /mcp': 1 } } })
    expect((await initialize(url)).status).toBe(401)
    await command({ do: ['failNext', 500, 1] })
    expect(await command({ do: 'explode' })).toMatchObject({
      error: expect.stringContaining('explode') as unknown,
    })
    child.stdin?.end()
    expect(await once(child, 'exit')).toEqual([0, null])
  })
})
