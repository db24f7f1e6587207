import { afterEach, describe, expect, it } from 'vitest'
import { type LineClient, openConnection, startLineClient } from './line-client.ts'

let client: LineClient
afterEach(() => client.close())

/** A client of a process that runs `script`, in which `say` writes and `on` gets every message. */
function start(script: string): LineClient {
  const preparation = `
    const say = (message) => process.stdout.write(JSON.stringify(message) + '\\n')
    const on = (take) => require('node:readline').createInterface({ input: process.stdin })
      .on('line', (line) => take(JSON.parse(line)))
    `
  client = startLineClient([process.execPath, '-e', preparation + script], { PATH: '' })
  return client
}

describe('a line client', () => {
  it('takes answers in any order, cut anywhere, with the id at either end', async () => {
    start(`
      const ids = []
      on(({ id }) => {
        if (ids.push(id) < 2) return
        const first = JSON.stringify({ result: { text: 'x'.repeat(500_000) }, jsonrpc: '2.0', id: ids[0] }) + '\\n'
        say({ jsonrpc: '2.0', method: 'notifications/message' })
        say({ jsonrpc: '2.0', id: ids[1], result: {} })
        process.stdout.write(first.slice(0, 5), () => setTimeout(() => process.stdout.write(first.slice(5)), 50))
      })`)
    const answers = await Promise.all([client.request('one'), client.request('two')])
    expect(answers.map(({ bytes }) => bytes)).toEqual([500_045, 36])
  })

  it.each<[answer: object, says: string]>([
    [{ error: { code: -32_000, message: 'not signed in' } }, 'not signed in'],
    [{ result: { content: [], isError: true } }, 'isError'],
  ])('takes %j for no answer', async (answer, says) => {
    start(`on(({ id }) => say({ jsonrpc: '2.0', id, ...${JSON.stringify(answer)} }))`)
    await expect(client.request('tools/call')).rejects.toThrow(says)
  })

  it('does not wait for a process that has ended', async () => {
    start('on(() => process.exit(7))')
    await expect(client.request('one')).rejects.toThrow('It ended with 7.')
    await expect(client.request('two')).rejects.toThrow('It ended with 7.')
  })

  it('has a connection only with the tools of the server', async () => {
    const tools = (name: string): string =>
      `on(({ id }) => id && say({ jsonrpc: '2.0', id, result: { tools: [{ name: '${name}' }] } }))`
    await openConnection(start(tools('echo')))
    await client.close()
    await expect(openConnection(start(tools('sign_in')))).rejects.toThrow('not the tools of the server')
  })

  it('ends what does not end with its stdin', async () => {
    start(`
      process.on('SIGTERM', () => {})
      setInterval(() => {}, 1000)
      on(({ id }) => id && say({ jsonrpc: '2.0', id, result: {} }))`)
    await client.request('one')
    await client.close()
    await expect(client.request('two')).rejects.toThrow('It ended with SIGKILL.')
  })

  it('sees what the process costs', async () => {
    start(`
      const kept = Buffer.alloc(100e6, 1)
      for (const end = Date.now() + 200; Date.now() < end;);
      on(({ id }) => say({ jsonrpc: '2.0', id, result: { kept: kept.length } }))`)
    await client.request('one')
    expect(client.cpuMs()).toBeGreaterThan(0)
    const memory = client.memoryBytes()
    expect(memory).toBeGreaterThan(100e6)
    expect(client.peakMemoryBytes()).toBeGreaterThanOrEqual(memory)
  })
})
