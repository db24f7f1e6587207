import { PassThrough, Writable } from 'node:stream'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { toWireMessage, type WireMessage } from '@drawbridge/shared/mcp/json-rpc.ts'
import { LineSplitter } from '@drawbridge/shared/mcp/line-splitter.ts'
import { Stdio } from './stdio.ts'
import { until } from '../../tests/support/until.ts'

const line = '{"jsonrpc":"2.0","id":1,"method":"a"}'
const message = toWireMessage({ jsonrpc: '2.0', id: 1, result: {} })

interface Heard {
  stdio: Stdio
  messages: WireMessage[]
  faults: string[]
  ends: number
}

function start(input: PassThrough, output: Writable): Heard {
  const heard: Heard = { stdio: new Stdio(input, output), messages: [], faults: [], ends: 0 }
  heard.stdio.start(
    async (wire) => void heard.messages.push(wire),
    { deliver: ({ text }) => void heard.faults.push(text) },
    () => (heard.ends += 1),
  )
  return heard
}

/** Resolves with whether a full stream accepts more soon. */
async function hasRoom(input: PassThrough): Promise<boolean> {
  for (let turn = 0; turn < 5 && input.writableNeedDrain; turn += 1)
    await new Promise((resolve) => setImmediate(resolve))
  return !input.writableNeedDrain
}

function splitter(maxBytes: number): {
  lines: string[]
  reports: () => number
  push(chunk: Buffer): void
  end(): void
} {
  const lines: string[] = []
  let reports = 0
  const made = new LineSplitter(maxBytes, {
    line: (bytes) => void lines.push(Buffer.from(bytes).toString()),
    tooLong: () => (reports += 1),
  })
  return { lines, reports: () => reports, push: (chunk) => made.push(chunk), end: () => made.end() }
}

describe('LineSplitter', () => {
  it('lines are the same however the bytes are cut', () => {
    fc.assert(
      fc.property(
        fc.array(fc.string({ unit: fc.constantFrom('a', '\n', '\r\n', 'ü', 'bcd') }), { maxLength: 6 }),
        fc.array(fc.nat({ max: 30 }), { maxLength: 6 }),
        (texts, cuts) => {
          const bytes = Buffer.from(texts.join(''))
          const found = splitter(1000)
          const places = [
            0,
            ...cuts.map((cut) => Math.min(cut, bytes.length)).sort((a, b) => a - b),
            bytes.length,
          ]
          places.slice(1).forEach((place, index) => found.push(bytes.subarray(places[index], place)))
          found.end()
          expect(found.lines).toEqual(bytes.toString().split(/\r?\n/))
        },
      ),
    )
  })

  it('a line that is too long is reported once, and the next one is read', () => {
    const found = splitter(5)
    for (const chunk of ['abc\nabc', 'def', 'ghijklm\nx', 'yz\n', '12345\n123456\n'])
      found.push(Buffer.from(chunk))
    expect(found.lines).toEqual(['abc', 'xyz', '12345'])
    expect(found.reports()).toBe(2)
  })

  it('a long line takes linear time', () => {
    const found = splitter(64 * 1024 * 1024)
    const chunk = Buffer.alloc(512, 'x')
    const before = process.cpuUsage()
    for (let index = 0; index < 20_000; index += 1) found.push(chunk)
    found.push(Buffer.from('\n'))
    expect(found.lines[0]).toHaveLength(10_240_000)
    expect(process.cpuUsage(before).user / 1000).toBeLessThan(1500)
  })
})

describe('createStdio', () => {
  it('stdio reads lines, skips empty ones, and passes invalid messages on', async () => {
    const input = new PassThrough()
    const heard = start(input, new PassThrough())
    input.write(`\n${line}\r\n  \n{"jsonrpc":`)
    input.write(`"2.0","method":"b"}\nnonsense\n`)
    input.end('{"jsonrpc":"2.0","method":"last"}')
    await until(() => heard.ends > 0)
    expect(heard.messages.map(({ envelope }) => envelope)).toEqual([
      { kind: 'request', id: 1, method: 'a' },
      { kind: 'notification', method: 'b' },
      { kind: 'invalid', id: null, reason: 'not valid JSON in UTF-8' },
      { kind: 'notification', method: 'last' },
    ])
    expect(heard.ends).toBe(1)
  })

  it.each([`\ufeff${line}\r\n`, `\ufeff\r\n${line}\n`, `${line}\n\ufeff\n`])(
    'stdio reads one message from %j: programs on Windows write a byte order mark',
    async (text) => {
      const input = new PassThrough()
      const heard = start(input, new PassThrough())
      for (const byte of Buffer.from(text)) input.write(Buffer.of(byte))
      input.end()
      await until(() => heard.ends > 0)
      expect(heard.messages.map((read) => read.text)).toEqual([line])
    },
  )

  it.each(['\r\n', '\r\r\n', ' \r\n', '\t\n', '\ufeff\r\r\n', ' \r', '\r\r'])(
    'stdio skips the blank line %j before a message, and behind the last',
    async (blank) => {
      const input = new PassThrough()
      const heard = start(input, new PassThrough())
      if (blank.endsWith('\n')) input.write(blank)
      input.write(`${line}\r\n`)
      input.end(blank)
      await until(() => heard.ends > 0)
      expect(heard.messages.map((read) => read.text)).toEqual([line])
    },
  )

  it('paused input delivers no messages', async () => {
    const input = new PassThrough()
    const heard = start(input, new PassThrough())
    heard.stdio.pause()
    input.write(`${line}\n`)
    await new Promise((resolve) => setImmediate(resolve))
    expect(heard.messages).toEqual([])
    expect(heard.stdio.isKeeping).toBe(true)
    heard.stdio.resume()
    await until(() => heard.messages.length === 1)
    expect(heard.stdio.isKeeping).toBe(false)
    input.write(`${line}\n`)
    await until(() => heard.messages.length === 2)
  })

  it('paused input notices its end, and delivers the rest when resumed', async () => {
    const input = new PassThrough()
    const heard = start(input, new PassThrough())
    heard.stdio.pause()
    input.write(`${line}\n`)
    input.end(line)
    await until(() => heard.ends === 1)
    expect(heard.messages).toEqual([])
    heard.stdio.resume()
    await until(() => heard.messages.length === 2)
    expect(heard.ends).toBe(1)
  })

  it('resumed input delivers kept messages until it is paused again', async () => {
    const input = new PassThrough()
    const numbers: unknown[] = []
    const stdio = new Stdio(input, new PassThrough())
    const take = async ({ envelope }: WireMessage): Promise<void> => {
      numbers.push('id' in envelope ? envelope.id : undefined)
      stdio.pause()
    }
    stdio.start(take, { deliver: () => {} }, () => {})
    for (let id = 0; id < 5; id += 1) {
      input.write(`${JSON.stringify({ jsonrpc: '2.0', id, method: 'a' })}\n`)
      await new Promise((resolve) => setImmediate(resolve))
    }
    for (let count = 1; count < 5; count += 1) {
      expect(numbers).toHaveLength(count)
      stdio.resume()
      await until(() => numbers.length > count)
    }
    expect(numbers).toEqual([0, 1, 2, 3, 4])
  })

  it('a client that sends to paused input is held back', async () => {
    const input = new PassThrough({ highWaterMark: 1000 })
    const heard = start(input, new PassThrough())
    heard.stdio.pause()
    const piece = Buffer.alloc(64 * 1024, ' ')
    let sent = 0
    while (input.write(piece) || (await hasRoom(input))) sent += piece.length
    expect(sent).toBeGreaterThan(10_000)
    expect(sent).toBeLessThan(5 * 1024 * 1024)
    heard.stdio.resume()
    await until(() => input.readableLength === 0)
    input.write(`\n${line}\n`)
    await until(() => heard.messages.at(-1)?.envelope.kind === 'request')
  })

  it('a line of more than 64 MB is reported, and reading goes on', async () => {
    const input = new PassThrough()
    const heard = start(input, new PassThrough())
    const chunk = Buffer.alloc(8 * 1024 * 1024, ' ')
    for (let index = 0; index < 9; index += 1) if (!input.write(chunk)) await once(input, 'drain')
    input.write(`\n${line}\n`)
    await until(() => heard.messages.length === 1)
    expect(heard.faults.map((text) => JSON.parse(text) as unknown)).toEqual([
      {
        jsonrpc: '2.0',
        id: null,
        error: { code: -32_600, message: 'A line on stdin is longer than 64 MB.' },
      },
    ])
  })

  it('each message is written as one line', async () => {
    const output = new PassThrough()
    let written = ''
    output.on('data', (chunk) => (written += String(chunk)))
    const { stdio } = start(new PassThrough(), output)
    await Promise.all([stdio.write(message), stdio.write(message)])
    await until(() => written.length > message.text.length + 1)
    expect(written).toBe(`${message.text}\n`.repeat(2))
  })

  it('messages of one turn of the event loop are one write, and bytes stand for the text', async () => {
    const writes: string[] = []
    const output = new Writable({
      writev(chunks, done) {
        writes.push(chunks.map(({ chunk }) => String(chunk)).join(''))
        done()
      },
    })
    const { stdio } = start(new PassThrough(), output)
    void stdio.write(message)
    void stdio.write({ ...message, text: 'not written', bytes: Buffer.from('{"ü":1}') })
    await until(() => writes.length > 0)
    expect(writes).toEqual([`${message.text}\n{"ü":1}\n`])
    void stdio.write(message)
    await until(() => writes.length > 1)
    void stdio.write(message)
    await stdio.close()
    expect(writes.join('')).toBe(`${message.text}\n{"ü":1}\n${message.text}\n${message.text}\n`)
  })

  it('writers wait while the client does not read', async () => {
    const output = new PassThrough({ highWaterMark: 1000 })
    const { stdio } = start(new PassThrough(), output)
    const large: WireMessage = { ...message, text: 'x'.repeat(300_000) }
    let isThereRoom = false
    void stdio.write(large).then(() => (isThereRoom = true))
    await until(() => output.writableNeedDrain)
    await new Promise((resolve) => setTimeout(resolve, 20))
    expect(isThereRoom).toBe(false)
    output.resume()
    await until(() => isThereRoom)
  })

  it('stdio ends once when its reader has gone, and never rejects', async () => {
    const input = new PassThrough()
    const output = new Writable({
      write: (_chunk, _encoding, done) => done(Object.assign(new Error('EPIPE'), { code: 'EPIPE' })),
    })
    const heard = start(input, output)
    for (let index = 0; index < 4; index += 1) await heard.stdio.write(message)
    await until(() => heard.ends === 1)
    await heard.stdio.write(message)
    input.end()
    await heard.stdio.close()
    expect(heard.ends).toBe(1)
  })

  it('pending messages are written before stdio closes', async () => {
    const output = new PassThrough()
    const { stdio } = start(new PassThrough(), output)
    void stdio.write(message)
    await stdio.close()
    output.end()
    expect(await output.toArray().then((chunks) => chunks.join(''))).toBe(`${message.text}\n`)
  })

  it('stdio works on the pipes of a process, even when the other side goes away', async () => {
    const script = `
      const { Stdio } = await import(${JSON.stringify(new URL('./stdio.ts', import.meta.url).href)})
      const { protocolStreams } = await import(${JSON.stringify(new URL('../cli/terminal/output.ts', import.meta.url).href)})
      const { input, output } = protocolStreams()
      const stdio = new Stdio(input, output)
      stdio.start((wire) => stdio.write(wire), { deliver() {} }, () => process.exit(7))
      setInterval(() => void stdio.write({ text: '{}', envelope: { kind: 'batch' } }), 5)
    `
    const child = spawn(process.execPath, ['--input-type=module', '-e', script], {
      stdio: ['pipe', 'pipe', 'inherit'],
    })
    const large = `{"jsonrpc":"2.0","method":"${'x'.repeat(10_000_000)}"}\n`
    child.stdin.on('error', () => {})
    child.stdin.write(large)
    let received = 0
    child.stdout.on('data', (chunk: Buffer) => (received += chunk.length))
    await until(() => received >= large.length, 'the echo')
    child.stdout.destroy()
    const [code] = (await once(child, 'exit')) as [number]
    expect(code).toBe(7)
  })
})
