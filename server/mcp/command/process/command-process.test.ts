import { afterEach, describe, expect, it } from 'vitest'
import {
  type CommandFixture,
  createCommands,
  upstreamSample,
} from '../../../../tests/support/server/mcp/command-fixture.ts'

const { open, end } = createCommands()
afterEach(async () => expect(await end()).toEqual([]))

/** How long stopping takes, in seconds. */
async function secondsToStop(fixture: CommandFixture): Promise<number> {
  const begun = performance.now()
  await fixture.close()
  return (performance.now() - begun) / 1000
}

describe('stopping', () => {
  it('takes no more than the end of its input for a process that heeds it', async () => {
    const fixture = open()
    await fixture.client().call('echo', { value: 1 })
    await fixture.close()
    await expect
      .poll(() => fixture.reported('upstream_ended'))
      .toMatchObject([{ reason: 'closed', code: 0, signal: null }])
  })

  it('sends SIGTERM after 2 s', async () => {
    const fixture = open(['--ignore', 'eof'])
    await fixture.client().call('echo', { value: 1 })
    expect(await secondsToStop(fixture)).toBeGreaterThan(1.9)
    await expect.poll(() => fixture.reported('upstream_ended')).toMatchObject([{ signal: 'SIGTERM' }])
  })

  it('sends SIGKILL after 3 s more', async () => {
    const fixture = open(['--ignore', 'eof', '--ignore', 'term'])
    await fixture.client().call('echo', { value: 1 })
    expect(await secondsToStop(fixture)).toBeGreaterThan(4.9)
    await expect.poll(() => fixture.reported('upstream_ended')).toMatchObject([{ signal: 'SIGKILL' }])
  })

  it('ends what the process has started, also when that dies by itself', async () => {
    const fixture = open()
    const client = fixture.client()
    await client.call('grandchild')
    // What it starts in turn has its command line for a moment.
    await expect.poll(fixture.processes).toHaveLength(2)
    await client.call('die')
    await expect.poll(fixture.processes, { timeout: 20_000 }).toEqual([])
  })

  it('ends the child of a shell', async () => {
    const { command, args } = upstreamSample()
    const line = [command, ...args].map((each) => `'${each}'`).join(' ')
    const fixture = open([], { command: '/bin/sh', args: ['-c', `${line} "$@"; true`, 'sh'] })
    expect(await fixture.client().call('echo', { value: 1 })).toMatchObject({ result: {} })
    expect(fixture.processes()).toHaveLength(2)
    await fixture.close()
    expect(fixture.reported('upstream_ended')).toMatchObject([{ code: 0, signal: null }])
  })
})

describe('output', () => {
  it('that is not JSON-RPC is logged, up to a bound, and skipped', async () => {
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
    expect(skipped).toHaveLength(20)
    expect(skipped.at(-1)?.['line']).toBe('x'.repeat(200))
  })

  it.each(['before', 'behind'])(
    'with an answer of more than 16 MB, its id %s the result, fails that call alone',
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

  it('that is closed ends the process', async () => {
    const fixture = open(['--ignore', 'eof'])
    expect((await fixture.client().call('close_output')).error?.message).toMatch(/ended during the call/)
    await expect.poll(() => fixture.reported('upstream_ended')).toMatchObject([{ reason: 'exited' }])
  })
})

it('error output goes to the log alone, cut and no more than 20 lines a second', async () => {
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

describe('input', () => {
  it('is not written while the process does not read it, and cancelled calls take no answer', async () => {
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

  it('that waits for too long ends the process', async () => {
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

  it('carries large messages both ways', async () => {
    const value = 'ü'.repeat(1024 * 1024)
    const client = open().client()
    const answers = await Promise.all(
      [1, 2, 3].map((id) => client.call('echo', { value: `${id}${value}` }, id)),
    )
    for (const { id, result = {} } of answers)
      expect((result['structuredContent'] as { value: string }).value === `${id}${value}`).toBe(true)
  })
})
