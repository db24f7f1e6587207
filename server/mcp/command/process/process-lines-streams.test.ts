import { PassThrough, Writable } from 'node:stream'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { ProcessConnection } from './process-connection.ts'
import { ProcessLines } from './process-lines.ts'

let stdin: PassThrough
let stdout: PassThrough
let strays: string[]
let faults: string[]
let lines: ProcessLines
let connection: ProcessConnection
let heard: string[]

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  stdin = new PassThrough({ highWaterMark: 64 })
  stdout = new PassThrough()
  strays = []
  faults = []
  heard = []
  connection = new ProcessConnection((message) => lines.send(message), {
    onNotification: ({ method }) => void heard.push(method),
    onRequest() {},
  })
  lines = new ProcessLines(
    { stdin, stdout },
    {
      connection,
      onStray: (line) => void strays.push(line),
      onFault: (reason) => void faults.push(reason),
    },
  )
})
afterEach(() => vi.useRealTimers())

/** Resolves when the streams have passed on what they hold. */
const turn = (): Promise<void> => new Promise((resolve) => void setImmediate(resolve))
async function say(text: string): Promise<void> {
  stdout.write(text)
  await turn()
}
/** The outcome of a call, once it has one. */
function call(): { outcome: unknown } {
  const state: { outcome: unknown } = { outcome: 'open' }
  connection.request('tools/call', {}).then(
    (result) => (state.outcome = result),
    (error: Error) => (state.outcome = error.message),
  )
  return state
}
const unreadable = expect.stringContaining('cannot be read') as unknown
const good = '{"jsonrpc":"2.0","id":1,"result":{"of":1}}'
/** Not JSON, as a program in Python logs what it answers. */
const logged = "{'jsonrpc': '2.0', 'id': 1, 'result': {'of': 1}}"

describe('an answer that is not JSON', () => {
  it('an answer that is not JSON waits 250 ms for the answer itself, as some programs log their answers', async () => {
    const only = call()
    await say(`${logged}\n`)
    await vi.advanceTimersByTimeAsync(249)
    await say(`${good}\n`)
    await vi.advanceTimersByTimeAsync(10)
    expect([only.outcome, strays]).toEqual([{ of: 1 }, [logged]])
  })

  it('an answer that is not JSON fails its call after 250 ms', async () => {
    const only = call()
    await say(`${logged}\n`)
    await vi.advanceTimersByTimeAsync(249)
    expect(only.outcome).toBe('open')
    await vi.advanceTimersByTimeAsync(1)
    expect(only.outcome).toEqual(unreadable)
  })
})

it('a notification or a request of the process ends no call', async () => {
  const only = call()
  await say(
    '{"jsonrpc":"2.0","method":"notifications/x"}\n{"jsonrpc":"2.0","id":"a","method":"roots/list"}\n',
  )
  expect(only.outcome).toBe('open')
})

it('an error without an id counts as one answer', async () => {
  const [first, second] = [call(), call()]
  await say('{"jsonrpc":"2.0","id":null,"error":{"code":-5,"message":"No."}}\n')
  expect([first.outcome, second.outcome]).toEqual(['open', 'open'])
  await say(`${good}\n`)
  expect([first.outcome, second.outcome]).toEqual([{ of: 1 }, unreadable])
})

describe('an answer that belongs to no open request', () => {
  it('an answer without an open request fails the only open one if it has an unknown id', async () => {
    const only = call()
    await say('{"jsonrpc":"2.0","id":9,"result":{}}\n')
    expect(only.outcome).toEqual(unreadable)
  })

  it('an answer without an open request is dropped if its request has been answered', async () => {
    const [first, second] = [call(), call()]
    await say(`${good}\n${good}\n`)
    expect([first.outcome, second.outcome]).toEqual([{ of: 1 }, 'open'])
  })

  it('an answer without an open request fails every open request that its line names', async () => {
    const [first, second, third] = [call(), call(), call()]
    await say(`${good}\n`)
    await say('{"jsonrpc":"2.0","id":1,"result":{}}{"jsonrpc":"2.0","id":2,"result":{}}\n')
    await vi.advanceTimersByTimeAsync(250)
    expect([first.outcome, second.outcome, third.outcome]).toEqual([{ of: 1 }, unreadable, 'open'])
  })
})

it('the last line of a process needs no line end', async () => {
  const only = call()
  stdout.end(good)
  await turn()
  expect(only.outcome).toEqual({ of: 1 })
})

it('a batch with something else in it is read, and logged', async () => {
  const only = call()
  await say(`[7,${good}]\n`)
  expect([only.outcome, strays]).toEqual([{ of: 1 }, [`[7,${good}]`]])
})

it('blank lines are skipped, and other rubbish is logged', async () => {
  await say('\n  \nWelcome!\n{"jsonrpc":"2.0","method":"notifications/x"}\n')
  expect([strays, heard]).toEqual([['Welcome!'], ['notifications/x']])
})

it('a line of more than 16 MiB fails its call, and is logged without its text', async () => {
  const only = call()
  await say(`{"jsonrpc":"2.0","id":1,"result":{"of":"${'x'.repeat(16 * 1024 * 1024)}"}}\n`)
  expect(only.outcome).toMatch(/too long/)
  expect(strays).toEqual(['A message of the process was too long, and was skipped.'])
})

it('more than 64 MiB of messages that the process does not read are a fault', () => {
  const params = { of: 'x'.repeat(32 * 1024 * 1024) }
  lines.send({ jsonrpc: '2.0', method: 'notifications/x', params })
  expect(faults).toEqual([])
  lines.send({ jsonrpc: '2.0', method: 'notifications/x', params })
  expect(faults).toEqual(['The process does not read its input.'])
})

it('messages that the process has read do not count as unread', async () => {
  stdin.resume()
  const params = { of: 'x'.repeat(32 * 1024 * 1024) }
  for (let count = 0; count < 3; count += 1) {
    lines.send({ jsonrpc: '2.0', method: 'notifications/x', params })
    await turn()
  }
  expect(faults).toEqual([])
})

it('input that is closed is a fault after half a second, output after 50 ms', async () => {
  stdin.emit('error', new Error('EPIPE'))
  vi.advanceTimersByTime(499)
  expect(faults).toEqual([])
  vi.advanceTimersByTime(1)
  expect(faults).toEqual(['The process closed its input.'])
  stdout.end()
  await turn()
  vi.advanceTimersByTime(49)
  expect(faults).toHaveLength(1)
  vi.advanceTimersByTime(1)
  expect(faults.at(-1)).toBe('The process closed its output.')
})

it('nothing is read or written after the end', async () => {
  const only = call()
  await turn()
  const written = (stdin.read() as Buffer).toString()
  expect(written).toBe('{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{}}\n')
  lines.close()
  await say(`${good}\nWelcome!\n`)
  lines.send({ jsonrpc: '2.0', method: 'notifications/x' })
  expect([only.outcome, strays, stdin.read()]).toEqual(['open', [], null])
})

describe('messages to the process', () => {
  const written: string[][] = []
  const input = new Writable({
    decodeStrings: false,
    writev(chunks, done) {
      written.push(chunks.map(({ chunk }) => String(JSON.parse(chunk as string).id)))
      done()
    },
    write(chunk, _encoding, done) {
      written.push([String(JSON.parse(chunk as string).id)])
      done()
    },
  })
  const send = (...ids: number[]): void => {
    for (const id of ids) batched.send({ jsonrpc: '2.0', id, method: 'ping' })
  }
  let batched: ProcessLines

  beforeEach(() => {
    written.length = 0
    const ports = { connection, onStray() {}, onFault() {} }
    batched = new ProcessLines({ stdin: input, stdout: new PassThrough() }, ports)
  })

  it('the first message of a turn of the event loop is written at once, and the others together', async () => {
    send(1, 2, 3)
    expect(written).toEqual([['1']])
    await turn()
    expect(written).toEqual([['1'], ['2', '3']])
    send(4)
    expect(written.at(-1)).toEqual(['4'])
    await turn()
    expect(written).toHaveLength(3)
  })

  it('messages sent right before the input ends are written', async () => {
    send(1, 2, 3)
    input.end()
    await turn()
    expect(written.flat()).toEqual(['1', '2', '3'])
  })
})
