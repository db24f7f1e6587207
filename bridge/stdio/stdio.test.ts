import { PassThrough, Writable } from 'node:stream'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import * as fc from 'fast-check'
import { describe, expect, it, onTestFinished } from 'vitest'
import { toWireMessage } from '../transport/envelope.ts'
import { createLineSplitter } from './line-splitter.ts'
import { createStdio } from './stdio.ts'
import type { Stdio } from './stdio.ts'
import { until } from '../../tests/support/bridge/proxy/condition.ts'
import type { WireMessage } from '../transport/wire-message.ts'

const line = '{"jsonrpc":"2.0","id":1,"method":"a"}'
const message = toWireMessage({ jsonrpc: '2.0', id: 1, result: {} })

interface Heard {
  stdio: Stdio
  messages: WireMessage[]
  faults: string[]
  ends: number
}

function start(input: PassThrough, output: Writable): Heard {
  const heard: Heard = { stdio: undefined as unknown as Stdio, messages: [], faults: [], ends: 0 }
  heard.stdio = createStdio(input, output, {
    message: (wire) => void heard.messages.push(wire),
    end: () => (heard.ends += 1),
    fault: (reason) => void heard.faults.push(reason),
  })
  return heard
}

/** Whether a stream that took no more takes more soon. */
async function hasRoom(input: PassThrough): Promise<boolean> {
  for (let turn = 0; turn < 5 && input.writableNeedDrain; turn += 1)
    await new Promise((resolve) => setImmediate(resolve))
  return !input.writableNeedDrain
}

describe('createLineSplitter', () => {
  it('finds the same lines however the bytes are cut', () => {
    fc.assert(
      fc.property(
        fc.array(fc.string({ unit: fc.constantFrom('a', '\n', '\r\n', 'ü', 'bcd') }), { maxLength: 6 }),
        fc.array(fc.nat({ max: 30 }), { maxLength: 6 }),
        (texts, cuts) => {
          const bytes = Buffer.from(texts.join(''))
          const found: string[] = []
          const splitter = createLineSplitter(1000)
          const places = [
            0,
            ...cuts.map((cut) => Math.min(cut, bytes.length)).sort((a, b) => a - b),
            bytes.length,
          ]
          places.slice(1).forEach((place, index) =>
            splitter.push(
              bytes.subarray(places[index], place),
              (part) => found.push(part.toString()),
              () => {},
            ),
          )
          found.push(splitter.rest().toString())
          expect(found).toEqual(bytes.toString().split(/\r?\n/))
        },
      ),
    )
  })

  it('reports a line that is too long once, and goes on behind it', () => {
    const splitter = createLineSplitter(5)
    const found: string[] = []
    let reports = 0
    for (const chunk of ['abc\nabc', 'def', 'ghijklm\nx', 'yz\n', '12345\n123456\n'])
      splitter.push(
        Buffer.from(chunk),
        (part) => found.push(part.toString()),
        () => (reports += 1),
      )
    expect(found).toEqual(['abc', 'xyz', '12345'])
    expect(reports).toBe(2)
  })

  it('needs no more time for each byte of a long line', () => {
    const splitter = createLineSplitter(64 * 1024 * 1024)
    const chunk = Buffer.alloc(512, 'x')
    let length = 0
    const before = process.cpuUsage()
    for (let index = 0; index < 20_000; index += 1)
      splitter.push(
        chunk,
        () => {},
        () => {},
      )
    splitter.push(
      Buffer.from('\n'),
      (part) => (length = part.length),
      () => {},
    )
    expect(length).toBe(10_240_000)
    expect(process.cpuUsage(before).user / 1000).toBeLessThan(1500)
  })
})

describe('createStdio', () => {
  it('reads lines, skips empty ones, and hands on what is no message', async () => {
    const input = new PassThrough()
    const heard = start(input, new PassThrough())
    input.write(`\n${line}\r\n  \n{"jsonrpc":`)
    input.write(`"2.0","method":"b"}\nnonsense\n`)
    input.end('{"jsonrpc":"2.0","method":"last"}')
    await until(() => heard.ends > 0)
    expect(heard.messages.map(({ envelope }) => envelope)).toEqual([
      { kind: 'request', id: 1, method: 'a' },
      { kind: 'notification', method: 'b' },
      { kind: 'invalid', id: undefined, reason: 'not valid JSON in UTF-8' },
      { kind: 'notification', method: 'last' },
    ])
    expect(heard.ends).toBe(1)
  })

  it('gives no more while it is paused', async () => {
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

  it('notices the end of its input while it is paused, and gives the rest when it is resumed', async () => {
    const input = new PassThrough()
    const heard = start(input, new PassThrough())
    heard.stdio.pause()
    input.write(`${line}\n`)
    input.end(line)
    await until(() => heard.ends === 1)
    expect(heard.messages).toEqual([])
    heard.stdio.resume()
    expect(heard.messages).toHaveLength(2)
    expect(heard.ends).toBe(1)
  })

  it('gives what was kept piece by piece, as long as nobody pauses it again', async () => {
    const input = new PassThrough()
    const numbers: unknown[] = []
    const stdio = createStdio(input, new PassThrough(), {
      message({ envelope }) {
        numbers.push('id' in envelope ? envelope.id : undefined)
        stdio.pause()
      },
      end: () => {},
      fault: () => {},
    })
    for (let id = 0; id < 5; id += 1) {
      input.write(`${JSON.stringify({ jsonrpc: '2.0', id, method: 'a' })}\n`)
      await new Promise((resolve) => setImmediate(resolve))
    }
    for (let count = 1; count < 5; count += 1) {
      expect(numbers).toHaveLength(count)
      stdio.resume()
    }
    expect(numbers).toEqual([0, 1, 2, 3, 4])
  })

  it.each([
    ['large pieces', 64 * 1024, 5],
    ['single bytes', 1, 1],
  ])('holds back who sends on in %s while it is paused', async (_, length, mostMegabytes) => {
    const input = new PassThrough({ highWaterMark: 1000 })
    const heard = start(input, new PassThrough())
    heard.stdio.pause()
    const piece = Buffer.alloc(length, ' ')
    let sent = 0
    while (input.write(piece) || (await hasRoom(input))) sent += length
    expect(sent).toBeGreaterThan(10_000)
    expect(sent).toBeLessThan(mostMegabytes * 1024 * 1024)
    heard.stdio.resume()
    await until(() => input.readableLength === 0)
    input.write(`\n${line}\n`)
    await until(() => heard.messages.at(-1)?.envelope.kind === 'request')
  })

  it('reports a line of more than 64 MB and lives on', async () => {
    const input = new PassThrough()
    const heard = start(input, new PassThrough())
    const chunk = Buffer.alloc(8 * 1024 * 1024, ' ')
    for (let index = 0; index < 9; index += 1) if (!input.write(chunk)) await once(input, 'drain')
    input.write(`\n${line}\n`)
    await until(() => heard.messages.length === 1)
    expect(heard.faults).toEqual(['A line on stdin is longer than 64 MB.'])
  })

  it('writes each message as a line, many of one turn in one piece', async () => {
    const pieces: string[] = []
    const output = new Writable({
      write(chunk: Buffer, _encoding, done) {
        pieces.push(chunk.toString())
        done()
      },
    })
    const { stdio } = start(new PassThrough(), output)
    await Promise.all([stdio.write(message), stdio.write(message), stdio.write(message)])
    await until(() => pieces.length > 0)
    expect(pieces).toEqual([`${message.bytes.toString()}\n`.repeat(3)])
  })

  it('holds its callers back while nobody reads', async () => {
    const output = new PassThrough({ highWaterMark: 1000 })
    const { stdio } = start(new PassThrough(), output)
    const large: WireMessage = { ...message, bytes: Buffer.alloc(300_000, 'x') }
    let isThereRoom = false
    void stdio.write(large).then(() => (isThereRoom = true))
    await until(() => output.writableNeedDrain)
    await new Promise((resolve) => setTimeout(resolve, 20))
    expect(isThereRoom).toBe(false)
    output.resume()
    await until(() => isThereRoom)
  })

  it.each([
    ['new ones', true],
    ['Node 20', false],
  ])('gives the memory of a large message back when it is written, like %s', async (_kind, isNew) => {
    if (!isNew) hideTransfer()
    const output = new PassThrough()
    const { stdio } = start(new PassThrough(), output)
    const large = Buffer.allocUnsafeSlow(2_000_000).fill('1')
    const shared = Buffer.allocUnsafeSlow(4_000_001).fill('2')
    const { envelope } = message
    void stdio.write({ bytes: large, envelope })
    void stdio.write({ bytes: shared.subarray(0, 2_000_000), envelope })
    void stdio.write({ bytes: shared.subarray(2_000_001), envelope })
    const lines = [large, shared.subarray(0, 2_000_000), shared.subarray(2_000_001)].map(String)
    let read = ''
    output.on('data', (chunk) => (read += String(chunk)))
    await until(() => read.length === 6_000_003)
    expect(read.trimEnd().split('\n')).toEqual(lines)
    await until(() => large.length === 0)
    expect(shared).toHaveLength(4_000_001)
  })

  it('ends once when its reader has gone, and never rejects', async () => {
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

  it('writes what is left before it is closed', async () => {
    const output = new PassThrough()
    const { stdio } = start(new PassThrough(), output)
    void stdio.write(message)
    await stdio.close()
    expect((output.read() as Buffer).toString()).toBe(`${message.bytes.toString()}\n`)
  })

  it('is closed soon although nobody reads', async () => {
    const output = new Writable({ write: () => {} })
    const { stdio } = start(new PassThrough(), output)
    void stdio.write(message)
    const started = performance.now()
    await stdio.close()
    expect(performance.now() - started).toBeLessThan(2000)
  })

  it('works on the pipes of a process, also when the other side goes away', async () => {
    const script = `
      const { createStdio } = await import(${JSON.stringify(new URL('./stdio.ts', import.meta.url).href)})
      const { protocolStreams } = await import(${JSON.stringify(new URL('../cli/terminal/output.ts', import.meta.url).href)})
      const { input, output } = protocolStreams()
      const stdio = createStdio(input, output, {
        message: (wire) => void stdio.write(wire),
        end: () => process.exit(7),
        fault: () => {},
      })
      setInterval(() => void stdio.write({ bytes: Buffer.from('{}'), envelope: { kind: 'batch' } }), 5)
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

/** Node 20 does not have it. */
function hideTransfer(): void {
  const { prototype } = ArrayBuffer
  const known = Object.getOwnPropertyDescriptor(prototype, 'transfer') as PropertyDescriptor
  Object.defineProperty(prototype, 'transfer', { ...known, value: undefined })
  onTestFinished(() => void Object.defineProperty(prototype, 'transfer', known))
}
