import { afterAll, describe, expect, it } from 'vitest'
import { createCommands, upstreamSample } from '../../../../tests/support/server/mcp/command-fixture.ts'

const { open, end } = createCommands()
afterAll(async () => expect(await end()).toEqual([]))

// Stopping waits, so the tests do it at the same time.
describe.concurrent('stopping', () => {
  it('stopping a process ends the input, after 2 s sends SIGTERM, and after 3 s more SIGKILL', async ({
    expect,
  }) => {
    const ignored = [[], ['--ignore', 'eof'], ['--ignore', 'eof', '--ignore', 'term']]
    const stopped = ignored.map(async (args): Promise<Record<string, unknown>> => {
      const fixture = open(args)
      await fixture.client().call('echo', { value: 1 })
      const begun = performance.now()
      await fixture.close()
      const seconds = (performance.now() - begun) / 1000
      await expect.poll(() => fixture.reported('upstream_ended')).toHaveLength(1)
      return Object.assign(fixture.reported('upstream_ended')[0] ?? {}, { seconds })
    })
    const [heeded, terminated, killed] = await Promise.all(stopped)
    expect(heeded).toMatchObject({ reason: 'closed', code: 0, signal: null })
    expect(heeded?.seconds).toBeLessThan(1.9)
    expect(terminated?.signal).toBe('SIGTERM')
    expect(terminated?.seconds).toBeGreaterThan(1.9)
    expect(killed?.signal).toBe('SIGKILL')
    expect(killed?.seconds).toBeGreaterThan(4.9)
  })

  it('stopping a process ends its children, also when it dies by itself', async ({ expect }) => {
    const fixture = open()
    const client = fixture.client()
    await client.call('grandchild')
    // What it starts in turn has its command line for a moment.
    await expect.poll(fixture.processes).toHaveLength(2)
    await client.call('die')
    await expect.poll(fixture.processes, { timeout: 20_000 }).toEqual([])
  })

  it('stopping a process ends the child of a shell', async ({ expect }) => {
    const { command, args } = upstreamSample()
    const line = [command, ...args].map((each) => `'${each}'`).join(' ')
    const fixture = open([], { command: '/bin/sh', args: ['-c', `${line} "$@"; true`, 'sh'] })
    expect(await fixture.client().call('echo', { value: 1 })).toMatchObject({ result: {} })
    expect(fixture.processes()).toHaveLength(2)
    await fixture.close()
    expect(fixture.reported('upstream_ended')).toMatchObject([{ code: 0, signal: null }])
  })
})

describe.concurrent('output', () => {
  it('output that is not JSON-RPC is logged, at most 20 lines a second, and skipped', async ({ expect }) => {
    const fixture = open(['--rubbish', 'yes'])
    const client = fixture.client()
    expect(await client.call('echo', { value: 1 })).toMatchObject({ result: {} })
    expect(fixture.reported('upstream_output_skipped').map(({ line }) => line)).toEqual([
      'Welcome!',
      '{"jsonrpc":"2.0"}',
      '[]',
    ])
    await client.call('write', { to: 'stdout', value: `${'x'.repeat(300)}\n`, times: 100 })
    expect(await client.call('echo', { value: 1 })).toMatchObject({ result: {} })
    const skipped = fixture.reported('upstream_output_skipped')
    // The lines may arrive in two seconds, after the first three.
    expect(skipped.length).toBeGreaterThanOrEqual(20)
    expect(skipped.length).toBeLessThanOrEqual(43)
    expect(skipped.at(-1)?.['line']).toBe('x'.repeat(200))
  })

  it.each(['before', 'behind'])(
    'output with an answer of more than 16 MB, its id %s the result, fails that call alone',
    async (place) => {
      const fixture = open()
      const client = fixture.client()
      const others = [
        client.call('echo', { value: 'a', ms: 200 }),
        client.call('echo', { value: 'b', ms: 400 }, 2),
      ]
      const failed = await client.call('long_line', { place })
      expect(failed.error?.message).toMatch(/too long. Ask for less/)
      for (const other of others) expect(await other).toMatchObject({ result: {} })
      expect(await client.call('echo', { value: 'c' })).toMatchObject({ result: {} })
      expect(fixture.reported('upstream_ended')).toEqual([])
      expect(fixture.reported('upstream_output_skipped')).toMatchObject([
        { line: expect.stringContaining('too long') },
      ])
    },
  )

  it('output that is closed ends the process', async ({ expect }) => {
    const fixture = open(['--ignore', 'eof'])
    expect((await fixture.client().call('close_output')).error?.message).toMatch(/ended during the call/)
    await expect.poll(() => fixture.reported('upstream_ended')).toMatchObject([{ reason: 'exited' }])
  })
})

it.concurrent('error output goes to the log alone, cut and no more than 20 lines a second', async ({
  expect,
}) => {
  const fixture = open()
  const client = fixture.client()
  const answer = await client.call('write', { value: `line # ${'y'.repeat(5000)}\n`, times: 500 })
  expect(JSON.stringify(answer)).not.toContain('yyy')
  await expect.poll(() => fixture.reported('upstream_stderr').length).toBeGreaterThanOrEqual(20)
  const lines = fixture.reported('upstream_stderr')
  expect(lines.length).toBeLessThan(200)
  expect(lines[0]?.['line']).toBe(`line 0 ${'y'.repeat(2048 - 7)}`)
  // In a second of its own, what comes later is logged again.
  const later = async (): Promise<unknown> => {
    await client.call('write', { value: 'later\n' })
    const logged = fixture.reported('upstream_stderr')
    return logged.some(({ line }) => line === 'later') && logged.some(({ skipped }) => Number(skipped) > 0)
  }
  await expect.poll(later, { interval: 300 }).toBe(true)
})

describe.concurrent('input', () => {
  it('input is not written while the process does not read it, and cancelled calls take no answer', async ({
    expect,
  }) => {
    const fixture = open()
    const client = fixture.client()
    await client.call('stop_reading')
    await new Promise((resolve) => setTimeout(resolve, 300))
    const leaving = new AbortController()
    const value = 'z'.repeat(1024 * 1024)
    const calls = [...Array(8).keys()].map((id) =>
      client.post(
        { jsonrpc: '2.0', id, method: 'tools/call', params: { name: 'echo', arguments: { value } } },
        {},
        leaving.signal,
      ),
    )
    await new Promise((resolve) => setTimeout(resolve, 300))
    leaving.abort()
    expect((await Promise.all(calls)).map(({ status }) => status)).toEqual(Array(8).fill(499))
    await fixture.close()
  })

  it('input that is closed ends a process that lives on, with its calls, and the next one is served', async ({
    expect,
  }) => {
    const fixture = open(['--ignore', 'eof'])
    const client = fixture.client()
    await client.call('close_input')
    await new Promise((resolve) => setTimeout(resolve, 300))
    expect((await client.call('echo', { value: 1 })).error?.message).toMatch(/ended during the call/)
    expect(fixture.reported('upstream_ended')).toMatchObject([
      { error: { message: 'The process closed its input.' } },
    ])
    expect(await client.call('echo', { value: 1 })).toMatchObject({ result: {} })
  })

  it('input that waits for too long ends the process', async ({ expect }) => {
    const fixture = open()
    const client = fixture.client()
    await client.call('stop_reading')
    await new Promise((resolve) => setTimeout(resolve, 300))
    const value = 'z'.repeat(5 * 1024 * 1024)
    const answers = await Promise.all([...Array(14).keys()].map((id) => client.call('echo', { value }, id)))
    expect(new Set(answers.map(({ error }) => error?.message)).size).toBe(1)
    expect(answers[0]?.error?.message).toMatch(/ended during the call/)
    await expect.poll(fixture.processes).toEqual([])
    expect(fixture.reported('upstream_ended')).toMatchObject([
      { error: { message: 'The process does not read its input.' } },
    ])
  })

  it('input and output carry large messages', async ({ expect }) => {
    const value = 'ü'.repeat(1024 * 1024)
    const client = open().client()
    const answers = await Promise.all(
      [1, 2, 3].map((id) => client.call('echo', { value: `${id}${value}` }, id)),
    )
    for (const { id, result = {} } of answers)
      expect((result['structuredContent'] as { value: string }).value === `${id}${value}`).toBe(true)
  })
})
